//! Which names a query makes itself, and where they hold.
//!
//! `WITH` gives a query a name for the query around it and for what is inside of that, and nowhere else. Outside of it the
//! same name is a table. Where the databases differ, a name that might be a table counts as one.

use sqlparser::ast::Query;

use super::Language;

/// The queries around the place that is looked at, the outermost first.
pub(super) struct Scopes {
    language: Language,
    around: Vec<Scope>,
}

/// One query and the names of its `WITH`.
struct Scope {
    /// In small letters.
    names: Vec<String>,
    is_recursive: bool,
    /// How many of the named queries were entered.
    entered: usize,
    /// The named query that is being looked at.
    within: Option<usize>,
}

impl Scopes {
    pub(super) fn new(language: Language) -> Self {
        Self { language, around: Vec::new() }
    }

    /// A query begins. The first queries inside of one are those that its `WITH` names, in order.
    pub(super) fn enter(&mut self, query: &Query) {
        if let Some(outer) = self.around.last_mut()
            && outer.entered < outer.names.len()
        {
            outer.within = Some(outer.entered);
            outer.entered += 1;
        }
        let names = query.with.iter().flat_map(|with| &with.cte_tables);
        let names = names.map(|table| table.alias.name.value.to_lowercase()).collect();
        let is_recursive = query.with.as_ref().is_some_and(|with| with.recursive);
        self.around.push(Scope { names, is_recursive, entered: 0, within: None });
    }

    /// It ends.
    pub(super) fn leave(&mut self) {
        self.around.pop();
        if let Some(outer) = self.around.last_mut() {
            outer.within = None;
        }
    }

    /// Whether a name stands for a query here. One with a place in front of it never does.
    pub(super) fn makes(&self, name: &[String]) -> bool {
        let [name] = name else { return false };
        self.around.iter().any(|scope| scope.visible(self.language).contains(name))
    }
}

impl Scope {
    /// The names that hold at the place that is looked at.
    fn visible(&self, language: Language) -> &[String] {
        match self.within {
            // In SQLite all names of a `WITH` hold in all of its queries.
            Some(at) if language == Language::BigQuery && !self.is_recursive => &self.names[..at],
            _ => &self.names,
        }
    }
}
