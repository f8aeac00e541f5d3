//! Lets queries pass that only read, and only what the caller may see: by the tree of a parser, before anything runs.
//!
//! This is the first of two walls. The second is the database itself (see `sqlite`), which knows exactly which column of
//! which table a query reads; this one explains itself better, and is the only one in front of BigQuery.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Query, Select, SelectItem, SetExpr, Statement, TableFactor, Visit, Visitor,
};
use sqlparser::dialect::{BigQueryDialect, Dialect, SQLiteDialect};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};
use superstep::ToolError;
use superstep::core::suggest::known_names;

use super::functions;
use crate::tools::caller::Access;
use crate::tools::failure::{forbidden, invalid, refused, unknown};

/// The longest query that is read.
const LONGEST: usize = 20_000;
/// The most words and signs of a query, commas and values not counted. A tree of operators gets as deep as it has
/// operators, and walking one that is too deep would end the process.
const MOST: usize = 600;

/// In which language queries are written, and so which wall stands behind this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// SQLite. Columns are checked by the database, exactly.
    Sqlite,
    /// BigQuery. Columns are checked here, by their names: what might read a hidden column is refused.
    BigQuery,
}

/// What is checked.
pub struct Guard<'a> {
    /// The language of the query.
    pub language: Language,
    /// The tables there are, where they are known.
    pub tables: Option<Vec<&'a str>>,
    /// What may stand in front of a table: the schema, or the project and its data sets.
    pub places: Vec<&'a str>,
    /// What the caller may see.
    pub access: &'a Access,
}

impl Guard<'_> {
    /// Checks a query; gives the tables it reads.
    ///
    /// # Errors
    /// `invalid` when it is no query, `refused` when it does more than read, `unknown_table` when it reads what is not
    /// there, `forbidden` when it reads what the caller may not see.
    pub fn check(&self, sql: &str) -> Result<Vec<String>, ToolError> {
        let (statement, words) = self.parse(sql)?;
        let mut walk = Walk::new(self.language);
        if let ControlFlow::Break(problem) = statement.visit(&mut walk) {
            return Err(*problem);
        }
        let mut tables = BTreeSet::new();
        for name in &walk.relations {
            tables.extend(self.table(name, &walk)?);
        }
        self.check_columns(&tables, &walk, &words)?;
        Ok(tables.into_iter().collect())
    }

    /// The statement, and the words that join tables by columns nobody names.
    fn parse(&self, sql: &str) -> Result<(Statement, Joining), ToolError> {
        let dialect: &dyn Dialect = match self.language {
            Language::Sqlite => &SQLiteDialect {},
            Language::BigQuery => &BigQueryDialect {},
        };
        if sql.len() > LONGEST || sql.contains('\0') {
            return Err(invalid(format_args!("a query has at most {LONGEST} bytes, and no zero byte")));
        }
        let tokens = Tokenizer::new(dialect, sql).tokenize().map_err(invalid)?;
        if tokens.iter().filter(|token| deepens(token)).count() > MOST {
            return Err(invalid(format_args!("the query is too long: it has more than {MOST} words and signs")));
        }
        let joining = Joining::of(&tokens);
        let statements = Parser::new(dialect).with_tokens(tokens).parse_statements().map_err(invalid)?;
        let mut statements = statements.into_iter();
        match (statements.next(), statements.next()) {
            (None, _) => Err(invalid("there is no query")),
            (Some(statement @ Statement::Query(_)), None) => Ok((statement, joining)),
            (Some(_), None) => Err(refused("only SELECT is run here; nothing is ever changed")),
            (Some(_), Some(_)) => Err(refused("only one statement is run at a time")),
        }
    }

    /// The table that a name stands for; nothing for one that the query makes itself.
    fn table(&self, name: &[String], walk: &Walk) -> Result<Option<String>, ToolError> {
        let Some((table, place)) = name.split_last() else { return Ok(None) };
        if self.access.denies_table(table) {
            return Err(forbidden(format_args!("you may not see the table `{table}`")));
        }
        if is_internal(table) {
            return Err(internal(table));
        }
        if walk.made.contains(table) {
            return Ok(None);
        }
        let is_allowed = |part: &String| self.places.iter().any(|place| place.eq_ignore_ascii_case(part));
        if !place.iter().all(is_allowed) {
            return Err(refused(format_args!("`{}.{table}` is not part of the data", place.join("."))));
        }
        if table.contains('*') && !(self.access.denied_tables.is_empty() && self.access.denied_columns.is_empty()) {
            return Err(forbidden("name each table: some are hidden from you"));
        }
        match &self.tables {
            Some(known) if !known.iter().any(|known| known.eq_ignore_ascii_case(table)) => {
                let visible: Vec<&str> = known.iter().copied().filter(|name| !self.access.denies_table(name)).collect();
                Err(unknown(format_args!("there is no table `{table}`; {}", known_names(table, &visible))))
            }
            _ => Ok(Some(table.clone())),
        }
    }

    /// Refuses what might read a hidden column. In front of BigQuery that is its name anywhere, all columns, or a row as a
    /// whole. SQLite says itself what it reads, but not which columns tables are joined by where the query does not
    /// compare them: a guess at a hidden value could be joined to it.
    fn check_columns(&self, tables: &BTreeSet<String>, walk: &Walk, joining: &Joining) -> Result<(), ToolError> {
        let whole_row = walk.rows.iter().any(|name| walk.aliases.contains(name) || tables.contains(name));
        for denied in &self.access.denied_columns {
            let (table, column) = denied.rsplit_once('.').unwrap_or(("*", denied));
            let is_there = table == "*" || tables.iter().any(|name| name.eq_ignore_ascii_case(table));
            let is_named = walk.names.contains(&column.to_lowercase());
            let is_read = match self.language {
                Language::Sqlite => joining.is_natural || (joining.has_using && is_named),
                Language::BigQuery => joining.is_natural || is_named || walk.has_wildcard || whole_row,
            };
            if is_there && is_read {
                return Err(forbidden(format_args!(
                    "you may not see `{denied}`; name the columns you need without it"
                )));
            }
        }
        Ok(())
    }
}

/// How tables are joined where the columns are not compared one by one.
struct Joining {
    is_natural: bool,
    has_using: bool,
}

impl Joining {
    fn of(tokens: &[Token]) -> Self {
        let has =
            |wanted: Keyword| tokens.iter().any(|token| matches!(token, Token::Word(word) if word.keyword == wanted));
        Self { is_natural: has(Keyword::NATURAL), has_using: has(Keyword::USING) }
    }
}

/// What a query is made of.
struct Walk {
    language: Language,
    statements: usize,
    relations: Vec<Vec<String>>,
    /// What the query itself gives a name, to be read like a table.
    made: BTreeSet<String>,
    aliases: BTreeSet<String>,
    /// Every name in the query.
    names: BTreeSet<String>,
    /// Names that stand alone where a value is expected.
    rows: BTreeSet<String>,
    has_wildcard: bool,
}

type Step = ControlFlow<Box<ToolError>>;

fn stop(problem: ToolError) -> Step {
    ControlFlow::Break(Box::new(problem))
}

impl Walk {
    fn new(language: Language) -> Self {
        let (made, aliases, names, rows) = Default::default();
        Self { language, statements: 0, relations: Vec::new(), made, aliases, names, rows, has_wildcard: false }
    }

    fn function(&self, name: &ObjectName) -> Step {
        let parts = parts_of(name);
        let is_known = match self.language {
            Language::Sqlite => parts.len() == 1 && functions::is_harmless(&parts[0]),
            Language::BigQuery => functions::is_builtin_of_bigquery(&parts),
        };
        if is_known {
            ControlFlow::Continue(())
        } else {
            stop(refused(format_args!("the function `{name}` is not run here")))
        }
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
        for table in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.made.insert(table.alias.name.value.to_lowercase());
        }
        let is_plain = query.locks.is_empty()
            && query.for_clause.is_none()
            && query.settings.is_none()
            && query.format_clause.is_none()
            && query.pipe_operators.is_empty();
        if !is_plain || has_write(&query.body) {
            return stop(refused("only SELECT is run here; nothing is ever changed"));
        }
        Step::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> Step {
        let wild = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        self.has_wildcard |= select.projection.iter().any(wild);
        if select.into.is_some() || !select.lateral_views.is_empty() {
            return stop(refused("only SELECT is run here, and never INTO something"));
        }
        Step::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> Step {
        let (alias, is_function) = match factor {
            TableFactor::Table { alias, args, name, .. } => {
                let parts = parts_of(name);
                let is_json = self.language == Language::Sqlite
                    && matches!(parts.as_slice(), [name] if functions::is_table(name));
                if args.is_some() && is_json {
                    self.made.extend(parts);
                }
                (alias, args.is_some() && !is_json)
            }
            TableFactor::Derived { alias, .. } | TableFactor::NestedJoin { alias, .. } => (alias, false),
            TableFactor::UNNEST { alias, .. } => (alias, self.language == Language::Sqlite),
            _ => return stop(refused("only tables and queries can be read from")),
        };
        if is_function {
            return stop(refused("a function cannot be read from like a table"));
        }
        self.aliases.extend(alias.iter().map(|alias| alias.name.value.to_lowercase()));
        Step::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> Step {
        self.relations.push(parts_of(relation));
        Step::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &Expr) -> Step {
        match expression {
            Expr::Function(function) => self.function(&function.name),
            Expr::Identifier(name) => {
                self.rows.insert(name.value.to_lowercase());
                Step::Continue(())
            }
            _ => Step::Continue(()),
        }
    }

    fn pre_visit_ident(&mut self, name: &Ident) -> Step {
        self.names.insert(name.value.to_lowercase());
        Step::Continue(())
    }
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

/// Tables that a database keeps for itself.
pub(super) fn is_internal(name: &str) -> bool {
    let name = name.to_lowercase();
    ["sqlite_", "pragma_", "information_schema", "dbstat"].iter().any(|start| name.starts_with(start))
}

fn internal(table: &str) -> ToolError {
    refused(format_args!("`{table}` belongs to the database itself; use list_tables and describe_table"))
}

/// Whether a token can make the tree of a query deeper.
fn deepens(token: &Token) -> bool {
    let is_flat = matches!(
        token,
        Token::Comma | Token::Period | Token::Whitespace(_) | Token::Number(..) | Token::SingleQuotedString(_)
    );
    !is_flat
}
