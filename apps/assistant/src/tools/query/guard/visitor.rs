//! Visitor of the syntax tree: collects tables and names, and rejects everything that does more than read.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart, Query, Select,
    SelectFlavor, SelectItem, SetExpr, Statement, TableAlias, TableFactor, Visitor,
};
use superstep::ToolError;

use super::scope::CteScopes;
use super::{SqlDialect, internal_table_error, is_internal};
use crate::tools::error::not_allowed;
use crate::tools::query::functions;

/// Elements of a query. All names are in lower case.
pub(super) struct QueryVisitor {
    dialect: SqlDialect,
    statements: usize,
    scopes: CteScopes,
    /// True if the next relation name is a table-valued function.
    is_function: bool,
    /// Tables that are read, as name parts.
    pub(super) tables: Vec<Vec<String>>,
    pub(super) aliases: BTreeSet<String>,
    /// Every name in the query.
    pub(super) names: BTreeSet<String>,
    /// Names in value position, which may refer to a whole row.
    pub(super) rows: BTreeSet<String>,
    pub(super) has_wildcard: bool,
}

/// Maximum length of a search pattern in characters, with its quotes.
const MAX_NEEDLE_LENGTH: usize = 200;

type VisitResult = ControlFlow<Box<ToolError>>;

fn stop(problem: ToolError) -> VisitResult {
    ControlFlow::Break(Box::new(problem))
}

impl QueryVisitor {
    pub(super) fn new(dialect: SqlDialect) -> Self {
        let (aliases, names, rows) = Default::default();
        let (scopes, tables) = (CteScopes::new(dialect), Vec::new());
        Self { dialect, statements: 0, scopes, is_function: false, tables, aliases, names, rows, has_wildcard: false }
    }

    fn visit_function(&mut self, function: &Function) -> VisitResult {
        let parts = parts_of(&function.name);
        let is_allowed = match self.dialect {
            SqlDialect::Sqlite => parts.len() == 1 && functions::is_pure_function(&parts[0]),
            SqlDialect::BigQuery => functions::bigquery::is_allowed_function(&parts),
        };
        if !is_allowed {
            return stop(not_allowed(format_args!("the function `{}` is not allowed", function.name)));
        }
        if let FunctionArguments::List(list) = &function.args {
            self.has_wildcard |= list.args.iter().any(is_column_wildcard);
        }
        match argument(function, parts.last().and_then(|name| functions::needle_index(name))) {
            Some(needle) => self.check_needle(needle),
            None => VisitResult::Continue(()),
        }
    }

    /// Requires a short literal as search text: searching one long text in another takes time proportional to the
    /// product of their lengths, within one step of SQLite that cannot be interrupted.
    fn check_needle(&self, needle: &Expr) -> VisitResult {
        let is_short = |expression: &Expr| {
            matches!(expression, Expr::Value(_)) && expression.to_string().chars().count() <= MAX_NEEDLE_LENGTH
        };
        let is_char_call = matches!(needle, Expr::Function(function)
            if parts_of(&function.name) == ["char"] && argument(function, Some(0)).is_some_and(is_short));
        if self.dialect == SqlDialect::BigQuery || is_short(needle) || is_char_call {
            return VisitResult::Continue(());
        }
        stop(not_allowed(format_args!("a search pattern must be a literal of at most {MAX_NEEDLE_LENGTH} characters")))
    }

    fn visit_alias(&mut self, alias: Option<&TableAlias>) -> VisitResult {
        let Some(alias) = alias else { return VisitResult::Continue(()) };
        self.aliases.insert(alias.name.value.to_lowercase());
        // Column aliases would hide the original column names.
        if alias.columns.is_empty() {
            VisitResult::Continue(())
        } else {
            stop(not_allowed("columns cannot be renamed in FROM"))
        }
    }
}

impl Visitor for QueryVisitor {
    type Break = Box<ToolError>;

    fn pre_visit_statement(&mut self, _statement: &Statement) -> VisitResult {
        self.statements += 1;
        // A nested statement would be a write.
        if self.statements > 1 {
            stop(not_allowed("queries that modify data are not allowed"))
        } else {
            VisitResult::Continue(())
        }
    }

    fn pre_visit_query(&mut self, query: &Query) -> VisitResult {
        self.scopes.enter(query);
        let is_plain = query.locks.is_empty()
            && query.for_clause.is_none()
            && query.settings.is_none()
            && query.format_clause.is_none()
            && query.pipe_operators.is_empty();
        if !is_plain || has_write(&query.body) {
            return stop(not_allowed("only SELECT is allowed; queries cannot modify the data"));
        }
        // A column type may contain an expression, and the query that it belongs to is unknown.
        let columns = query.with.iter().flat_map(|with| &with.cte_tables).flat_map(|table| &table.alias.columns);
        if columns.into_iter().any(|column| column.data_type.is_some()) {
            return stop(not_allowed("columns of WITH can have names only"));
        }
        VisitResult::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> VisitResult {
        self.scopes.leave();
        VisitResult::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> VisitResult {
        let is_wildcard =
            |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        self.has_wildcard |= select.projection.iter().any(is_wildcard);
        // `FROM orders` without SELECT returns all columns without naming them.
        let is_plain = select.flavor == SelectFlavor::Standard;
        if !is_plain || select.into.is_some() || !select.lateral_views.is_empty() {
            return stop(not_allowed("only SELECT without INTO is allowed"));
        }
        VisitResult::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> VisitResult {
        let (alias, is_rejected) = match factor {
            TableFactor::Table { alias, args, name, .. } => {
                let parts = parts_of(name);
                let is_json = self.dialect == SqlDialect::Sqlite
                    && matches!(parts.as_slice(), [name] if functions::is_table_function(name));
                self.is_function = args.is_some() && is_json;
                (alias, args.is_some() && !is_json)
            }
            TableFactor::Derived { alias, .. } | TableFactor::NestedJoin { alias, .. } => (alias, false),
            TableFactor::UNNEST { alias, .. } => (alias, self.dialect == SqlDialect::Sqlite),
            _ => return stop(not_allowed("FROM can contain only tables and queries")),
        };
        if is_rejected {
            return stop(not_allowed("functions are not allowed as tables"));
        }
        self.visit_alias(alias.as_ref())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> VisitResult {
        if std::mem::take(&mut self.is_function) {
            return VisitResult::Continue(());
        }
        let parts = parts_of(relation);
        if let Some(table) = parts.last().filter(|name| is_internal(name)) {
            return stop(internal_table_error(table));
        }
        if !self.scopes.defines(&parts) {
            self.tables.push(parts);
        }
        VisitResult::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> VisitResult {
        match expression {
            Expr::Function(function) => return self.visit_function(function),
            Expr::Trim { trim_what, trim_characters, .. } => {
                let mut needles = trim_what.iter().map(|operand| &**operand).chain(trim_characters.iter().flatten());
                return needles.try_for_each(|needle| self.check_needle(needle));
            }
            Expr::Identifier(name) => {
                self.rows.insert(name.value.to_lowercase());
            }
            Expr::CompoundIdentifier(names) => {
                self.rows.extend(names.last().map(|name| name.value.to_lowercase()));
            }
            Expr::Wildcard(_) | Expr::QualifiedWildcard(..) => self.has_wildcard = true,
            _ => {}
        }
        VisitResult::Continue(())
    }

    fn pre_visit_ident(&mut self, name: &Ident) -> VisitResult {
        // BigQuery interprets escapes in quoted names: `e\x6dail` would hide a name from this check.
        if self.dialect == SqlDialect::BigQuery && name.value.contains(['\\', '$', '@']) {
            return stop(not_allowed(format_args!("`{}` is not a valid name", name.value.escape_debug())));
        }
        let full_name = name.value.to_lowercase();
        self.names.extend(full_name.split('.').map(str::to_owned));
        self.names.insert(full_name);
        VisitResult::Continue(())
    }
}

/// Returns the argument at an index.
fn argument(function: &Function, index: Option<usize>) -> Option<&Expr> {
    let FunctionArguments::List(list) = &function.args else { return None };
    match list.args.get(index?)? {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expression)) => Some(expression),
        _ => None,
    }
}

/// Returns true if the argument is a wildcard. `count(*)` reads no columns.
fn is_column_wildcard(arg: &FunctionArg) -> bool {
    let (FunctionArg::Named { arg, .. } | FunctionArg::ExprNamed { arg, .. } | FunctionArg::Unnamed(arg)) = arg;
    matches!(arg, FunctionArgExpr::QualifiedWildcard(_) | FunctionArgExpr::WildcardWithOptions(_))
}

/// Returns the parts of a name in lower case. BigQuery allows names with dots inside one pair of quotes.
fn parts_of(name: &ObjectName) -> Vec<String> {
    let part = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(name) => name.value.to_lowercase(),
        ObjectNamePart::Function(function) => function.to_string().to_lowercase(),
    };
    name.0.iter().map(part).flat_map(|part| part.split('.').map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Returns true if the body contains a write in place of a SELECT.
fn has_write(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(_) | SetExpr::Values(_) | SetExpr::Query(_) => false,
        SetExpr::SetOperation { left, right, .. } => has_write(left) || has_write(right),
        _ => true,
    }
}
