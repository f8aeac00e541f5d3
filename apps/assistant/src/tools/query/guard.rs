//! Lets queries pass that only read, and only what the caller may see: by the tree of a parser, before anything runs.
//!
//! This is the first of two walls. The second is the database itself (see `sqlite`), which knows exactly which column of
//! which table a query reads; this one explains itself better, and is the only one in front of BigQuery. There the text that
//! was checked is not sent, but what was read in it, written out again (see `written`).

mod scope;
mod walk;
mod written;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{Statement, Visit};
use sqlparser::dialect::{BigQueryDialect, Dialect, SQLiteDialect};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};
use superstep::ToolError;
use superstep::core::suggest::known_names;

use crate::tools::caller::{Access, is_meant, split_column};
use crate::tools::failure::{forbidden, invalid, refused, unknown};
use walk::Walk;

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
    /// What may stand in front of a table: the schema; for BigQuery the data sets, and last the project.
    pub places: Vec<&'a str>,
    /// What the caller may see.
    pub access: &'a Access,
}

/// A query that has passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The tables it reads.
    pub tables: Vec<String>,
    /// What is to be run: for BigQuery what was checked, written out again.
    pub sql: String,
}

/// A query as it was read.
struct Parsed {
    statement: Statement,
    joining: Joining,
    sql: Result<String, ToolError>,
}

impl Guard<'_> {
    /// Checks a query; gives the tables it reads, and the text to run.
    ///
    /// # Errors
    /// `invalid` when it is no query, `refused` when it does more than read, `unknown_table` when it reads what is not
    /// there, `forbidden` when it reads what the caller may not see.
    pub fn check(&self, sql: &str) -> Result<Checked, ToolError> {
        let Parsed { statement, joining, sql } = self.parse(sql)?;
        let mut walk = Walk::new(self.language);
        if let ControlFlow::Break(problem) = statement.visit(&mut walk) {
            return Err(*problem);
        }
        let mut tables = BTreeSet::new();
        for name in &walk.tables {
            tables.extend(self.table(name)?);
        }
        self.check_columns(&tables, &walk, &joining)?;
        Ok(Checked { tables: tables.into_iter().collect(), sql: sql? })
    }

    fn parse(&self, sql: &str) -> Result<Parsed, ToolError> {
        let dialect: &dyn Dialect = match self.language {
            Language::Sqlite => &SQLiteDialect {},
            Language::BigQuery => &BigQueryDialect {},
        };
        if sql.len() > LONGEST || sql.contains('\0') {
            return Err(invalid(format_args!("a query has at most {LONGEST} bytes, and no zero byte")));
        }
        // What is written out again needs its escapes.
        let is_sent_as_it_is = self.language == Language::Sqlite;
        let tokens = Tokenizer::new(dialect, sql).with_unescape(is_sent_as_it_is).tokenize().map_err(invalid)?;
        if tokens.iter().filter(|token| deepens(token)).count() > MOST {
            return Err(invalid(format_args!("the query is too long: it has more than {MOST} words and signs")));
        }
        let joining = Joining::of(&tokens);
        let sql = if is_sent_as_it_is { Ok(sql.to_owned()) } else { written::for_bigquery(&tokens) };
        let statements = Parser::new(dialect).with_tokens(tokens).parse_statements().map_err(invalid)?;
        let mut statements = statements.into_iter();
        match (statements.next(), statements.next()) {
            (None, _) => Err(invalid("there is no query")),
            (Some(statement @ Statement::Query(_)), None) => Ok(Parsed { statement, joining, sql }),
            (Some(_), None) => Err(refused("only SELECT is run here; nothing is ever changed")),
            (Some(_), Some(_)) => Err(refused("only one statement is run at a time")),
        }
    }

    /// The table that a name stands for.
    fn table(&self, name: &[String]) -> Result<Option<String>, ToolError> {
        let Some((table, place)) = name.split_last() else { return Ok(None) };
        if self.access.denies_table(table) {
            return Err(forbidden(format_args!("you may not see the table `{table}`")));
        }
        if !self.is_place(place) {
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

    /// Whether what stands before a table is where the data is: for BigQuery a data set, or the project and a data set,
    /// in this order, since the same name may be that of a foreign project.
    fn is_place(&self, place: &[String]) -> bool {
        match (self.language, place) {
            (_, []) => true,
            (Language::BigQuery, [dataset]) => is_among(self.datasets(), dataset),
            (Language::BigQuery, [project, dataset]) => {
                is_among(self.places.last(), project) && is_among(self.datasets(), dataset)
            }
            (Language::BigQuery, _) => false,
            (Language::Sqlite, place) => place.iter().all(|part| is_among(&self.places, part)),
        }
    }

    /// The data sets of BigQuery: all places but the project, which is the last.
    fn datasets(&self) -> &[&str] {
        self.places.split_last().map_or(&[], |(_, datasets)| datasets)
    }

    /// Refuses what might read a hidden column of a table that is read. In front of BigQuery that is its name anywhere, all
    /// columns, or a row as a whole: where a name comes from is not guessed. SQLite says itself what it reads, but not
    /// which columns tables are joined by where the query does not compare them: a guess at a hidden value could be joined
    /// to it.
    fn check_columns(&self, tables: &BTreeSet<String>, walk: &Walk, joining: &Joining) -> Result<(), ToolError> {
        let whole_row = walk.rows.iter().any(|name| walk.aliases.contains(name) || tables.contains(name));
        for denied in &self.access.denied_columns {
            let (of, column) = split_column(denied);
            let is_there = tables.iter().any(|table| is_meant(of, table));
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

/// Whether a name is one of these, in any case.
fn is_among<'a>(names: impl IntoIterator<Item = &'a &'a str>, name: &str) -> bool {
    names.into_iter().any(|known| known.eq_ignore_ascii_case(name))
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

/// Tables that a database keeps for itself.
pub(super) fn is_internal(name: &str) -> bool {
    let name = name.to_lowercase();
    ["sqlite_", "pragma_", "information_schema", "dbstat", "__"].iter().any(|start| name.starts_with(start))
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
