//! Scopes of common table expressions (CTEs).
//!
//! A `WITH` name is valid in its query and in the nested queries, and nowhere else. Outside, the same name is a
//! table. Where databases differ, a name that might be a table counts as a table.

use sqlparser::ast::Query;

use super::SqlDialect;

/// Queries around the visited node, outermost first.
pub(super) struct CteScopes {
    dialect: SqlDialect,
    parents: Vec<CteScope>,
}

/// One query with the names of its `WITH`.
struct CteScope {
    /// Names in lower case.
    names: Vec<String>,
    is_recursive: bool,
    /// Number of CTEs that were entered.
    entered: usize,
    /// Index of the CTE that is being visited.
    current: Option<usize>,
}

impl CteScopes {
    pub(super) fn new(dialect: SqlDialect) -> Self {
        Self { dialect, parents: Vec::new() }
    }

    /// Enters a query. The first nested queries are the CTEs of its `WITH`, in order.
    pub(super) fn enter(&mut self, query: &Query) {
        if let Some(outer) = self.parents.last_mut()
            && outer.entered < outer.names.len()
        {
            outer.current = Some(outer.entered);
            outer.entered += 1;
        }
        let names = query.with.iter().flat_map(|with| &with.cte_tables);
        let names = names.map(|table| table.alias.name.value.to_lowercase()).collect();
        let is_recursive = query.with.as_ref().is_some_and(|with| with.recursive);
        self.parents.push(CteScope { names, is_recursive, entered: 0, current: None });
    }

    /// Leaves a query.
    pub(super) fn leave(&mut self) {
        self.parents.pop();
        if let Some(outer) = self.parents.last_mut() {
            outer.current = None;
        }
    }

    /// Returns true if a name refers to a CTE here. A qualified name never does.
    pub(super) fn defines(&self, name: &[String]) -> bool {
        let [name] = name else { return false };
        self.parents.iter().any(|scope| scope.visible(self.dialect).contains(name))
    }
}

impl CteScope {
    /// Returns the names that are valid at the visited node.
    fn visible(&self, dialect: SqlDialect) -> &[String] {
        match self.current {
            // In SQLite, all names of a `WITH` are valid in all of its queries.
            Some(index) if dialect == SqlDialect::BigQuery && !self.is_recursive => &self.names[..index],
            _ => &self.names,
        }
    }
}
