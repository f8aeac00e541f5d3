//! Walks the tree of a query: what it reads, what it names, and whether it does more than read.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart, Query, Select,
    SelectFlavor, SelectItem, SetExpr, Statement, TableAlias, TableFactor, Visitor,
};
use superstep::ToolError;

use super::scope::Scopes;
use super::{Language, internal, is_internal};
use crate::tools::failure::refused;
use crate::tools::query::functions;

/// What a query is made of. All names are in small letters.
pub(super) struct Walk {
    language: Language,
    statements: usize,
    scopes: Scopes,
    /// The next name is that of a function that gives rows.
    is_function: bool,
    /// The names of the tables that are read, by their parts.
    pub(super) tables: Vec<Vec<String>>,
    pub(super) aliases: BTreeSet<String>,
    /// Every name in the query.
    pub(super) names: BTreeSet<String>,
    /// Names that stand where a value is expected, and may be a row as a whole.
    pub(super) rows: BTreeSet<String>,
    pub(super) has_wildcard: bool,
}

/// How long something can be that is looked for in a text.
const LONGEST_NEEDLE: usize = 200;

type Step = ControlFlow<Box<ToolError>>;

fn stop(problem: ToolError) -> Step {
    ControlFlow::Break(Box::new(problem))
}

impl Walk {
    pub(super) fn new(language: Language) -> Self {
        let (aliases, names, rows) = Default::default();
        let (scopes, tables) = (Scopes::new(language), Vec::new());
        Self { language, statements: 0, scopes, is_function: false, tables, aliases, names, rows, has_wildcard: false }
    }

    fn function(&mut self, function: &Function) -> Step {
        let parts = parts_of(&function.name);
        let is_known = match self.language {
            Language::Sqlite => parts.len() == 1 && functions::is_harmless(&parts[0]),
            Language::BigQuery => functions::bigquery::is_harmless(&parts),
        };
        if !is_known {
            return stop(refused(format_args!("the function `{}` is not run here", function.name)));
        }
        if let FunctionArguments::List(list) = &function.args {
            self.has_wildcard |= list.args.iter().any(takes_columns);
        }
        match given(function, parts.last().and_then(|name| functions::needle(name))) {
            Some(needle) => self.needle(needle),
            None => Step::Continue(()),
        }
    }

    /// Looking for one long text in another takes as long as both together, in one step of SQLite that nothing can end. So
    /// what is looked for is written out, and short.
    fn needle(&self, needle: &Expr) -> Step {
        let is_short =
            |expression: &Expr| matches!(expression, Expr::Value(_)) && expression.to_string().len() <= LONGEST_NEEDLE;
        let is_sign = matches!(needle, Expr::Function(function)
            if parts_of(&function.name) == ["char"] && given(function, Some(0)).is_some_and(is_short));
        if self.language == Language::BigQuery || is_short(needle) || is_sign {
            return Step::Continue(());
        }
        stop(refused(format_args!("what is looked for in a text is written out, in at most {LONGEST_NEEDLE} letters")))
    }

    fn alias(&mut self, alias: Option<&TableAlias>) -> Step {
        let Some(alias) = alias else { return Step::Continue(()) };
        self.aliases.insert(alias.name.value.to_lowercase());
        // Names for the columns of a table hide what they were called.
        if alias.columns.is_empty() { Step::Continue(()) } else { stop(refused("columns cannot be renamed in FROM")) }
    }
}

impl Visitor for Walk {
    type Break = Box<ToolError>;

    fn pre_visit_statement(&mut self, _statement: &Statement) -> Step {
        self.statements += 1;
        // Only the query itself; what is inside of it would be a write.
        if self.statements > 1 {
            stop(refused("a query that changes something is not run here"))
        } else {
            Step::Continue(())
        }
    }

    fn pre_visit_query(&mut self, query: &Query) -> Step {
        self.scopes.enter(query);
        let is_plain = query.locks.is_empty()
            && query.for_clause.is_none()
            && query.settings.is_none()
            && query.format_clause.is_none()
            && query.pipe_operators.is_empty();
        if !is_plain || has_write(&query.body) {
            return stop(refused("only SELECT is run here; nothing is ever changed"));
        }
        // The kind of a column may be written as an expression, and which query that belongs to is not known.
        let columns = query.with.iter().flat_map(|with| &with.cte_tables).flat_map(|table| &table.alias.columns);
        if columns.into_iter().any(|column| column.data_type.is_some()) {
            return stop(refused("the columns of WITH have names only"));
        }
        Step::Continue(())
    }

    fn post_visit_query(&mut self, _query: &Query) -> Step {
        self.scopes.leave();
        Step::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> Step {
        let wild = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        self.has_wildcard |= select.projection.iter().any(wild);
        // `FROM orders` alone gives all columns without a word about them.
        let is_plain = select.flavor == SelectFlavor::Standard;
        if !is_plain || select.into.is_some() || !select.lateral_views.is_empty() {
            return stop(refused("only SELECT is run here, and never INTO something"));
        }
        Step::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> Step {
        let (alias, is_refused) = match factor {
            TableFactor::Table { alias, args, name, .. } => {
                let parts = parts_of(name);
                let is_json = self.language == Language::Sqlite
                    && matches!(parts.as_slice(), [name] if functions::is_table(name));
                self.is_function = args.is_some() && is_json;
                (alias, args.is_some() && !is_json)
            }
            TableFactor::Derived { alias, .. } | TableFactor::NestedJoin { alias, .. } => (alias, false),
            TableFactor::UNNEST { alias, .. } => (alias, self.language == Language::Sqlite),
            _ => return stop(refused("only tables and queries can be read from")),
        };
        if is_refused {
            return stop(refused("a function cannot be read from like a table"));
        }
        self.alias(alias.as_ref())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> Step {
        if std::mem::take(&mut self.is_function) {
            return Step::Continue(());
        }
        let parts = parts_of(relation);
        if let Some(table) = parts.last().filter(|name| is_internal(name)) {
            return stop(internal(table));
        }
        if !self.scopes.makes(&parts) {
            self.tables.push(parts);
        }
        Step::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> Step {
        match expression {
            Expr::Function(function) => return self.function(function),
            Expr::Trim { trim_what, trim_characters, .. } => {
                let mut needles = trim_what.iter().map(|what| &**what).chain(trim_characters.iter().flatten());
                return needles.try_for_each(|needle| self.needle(needle));
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
        Step::Continue(())
    }

    fn pre_visit_ident(&mut self, name: &Ident) -> Step {
        // BigQuery reads escapes in quoted names: `e\x6dail` would be a name that nobody sees here.
        if self.language == Language::BigQuery && name.value.contains(['\\', '$', '@']) {
            return stop(refused(format_args!("`{}` cannot be a name", name.value.escape_debug())));
        }
        let whole = name.value.to_lowercase();
        self.names.extend(whole.split('.').map(str::to_owned));
        self.names.insert(whole);
        Step::Continue(())
    }
}

/// The argument at a place.
fn given(function: &Function, at: Option<usize>) -> Option<&Expr> {
    let FunctionArguments::List(list) = &function.args else { return None };
    match list.args.get(at?)? {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expression)) => Some(expression),
        _ => None,
    }
}

/// Whether an argument is all columns of something. `count(*)` takes none.
fn takes_columns(arg: &FunctionArg) -> bool {
    let (FunctionArg::Named { arg, .. } | FunctionArg::ExprNamed { arg, .. } | FunctionArg::Unnamed(arg)) = arg;
    matches!(arg, FunctionArgExpr::QualifiedWildcard(_) | FunctionArgExpr::WildcardWithOptions(_))
}

/// The parts of a name, in small letters. BigQuery has names with dots in one pair of quotes.
fn parts_of(name: &ObjectName) -> Vec<String> {
    let part = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(name) => name.value.to_lowercase(),
        ObjectNamePart::Function(function) => function.to_string().to_lowercase(),
    };
    name.0.iter().map(part).flat_map(|part| part.split('.').map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// Something in the place of a SELECT that is none.
fn has_write(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(_) | SetExpr::Values(_) | SetExpr::Query(_) => false,
        SetExpr::SetOperation { left, right, .. } => has_write(left) || has_write(right),
        _ => true,
    }
}
