//! Static check of queries: accepts only reads of tables and columns that the caller may see, based on the syntax
//! tree, before anything runs.
//!
//! First of two checks; the second is the authorizer of SQLite (see `sqlite`), which knows exactly which columns a
//! query reads. This check gives better error messages, and is the only one for BigQuery. There the checked text is not
//! sent; the query is written again from the parsed tokens (see `rewrite`).

mod rewrite;
mod scope;
mod visitor;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{Statement, Visit};
use sqlparser::dialect::{BigQueryDialect, Dialect, SQLiteDialect};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};
use superstep::ToolError;
use superstep::core::suggest::did_you_mean_or_list;

use crate::tools::caller::{DataAccess, matches_denied_table, split_column};
use crate::tools::error::{forbidden, invalid, not_allowed, unknown};
use visitor::QueryVisitor;

/// Maximum length of a query in bytes.
const MAX_BYTES: usize = 20_000;
/// Maximum number of tokens of a query, without commas and values. The depth of the syntax tree grows with the
/// number of operators, and visiting a tree that is too deep would overflow the stack and abort the process.
const MAX_TOKENS: usize = 600;

/// SQL dialect of the queries, which also determines the second check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SqlDialect {
    /// SQLite. The database checks the columns exactly.
    Sqlite,
    /// BigQuery. Columns are checked here by name: a query that might read a denied column is rejected.
    BigQuery,
}

/// Input of the check.
pub struct QueryGuard<'a> {
    /// Dialect of the query.
    pub dialect: SqlDialect,
    /// Existing tables, if known.
    pub tables: Option<Vec<&'a str>>,
    /// Valid qualifiers of a table: the schema; for BigQuery the datasets, followed by the project.
    pub qualifiers: Vec<&'a str>,
    /// Data access of the caller.
    pub access: &'a DataAccess,
}

/// A query that passed the check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedQuery {
    /// Tables that the query reads.
    pub tables: Vec<String>,
    /// Text to run: for BigQuery the rewritten query.
    pub sql: String,
}

/// A parsed query.
struct ParsedQuery {
    statement: Statement,
    implicit_joins: ImplicitJoins,
    sql: Result<String, ToolError>,
}

impl QueryGuard<'_> {
    /// Checks a query and returns the tables that it reads and the text to run.
    ///
    /// # Errors
    /// `invalid` if the text is not a query, `refused` if the query does more than read, `unknown_table` if a table
    /// does not exist, `forbidden` if the caller has no access.
    pub fn check(&self, sql: &str) -> Result<CheckedQuery, ToolError> {
        let ParsedQuery { statement, implicit_joins, sql } = self.parse(sql)?;
        let mut visitor = QueryVisitor::new(self.dialect);
        if let ControlFlow::Break(problem) = statement.visit(&mut visitor) {
            return Err(*problem);
        }
        let mut tables = BTreeSet::new();
        for name in &visitor.tables {
            tables.extend(self.table(name)?);
        }
        self.check_columns(&tables, &visitor, &implicit_joins)?;
        Ok(CheckedQuery { tables: tables.into_iter().collect(), sql: sql? })
    }

    fn parse(&self, sql: &str) -> Result<ParsedQuery, ToolError> {
        let dialect: &dyn Dialect = match self.dialect {
            SqlDialect::Sqlite => &SQLiteDialect {},
            SqlDialect::BigQuery => &BigQueryDialect {},
        };
        if sql.len() > MAX_BYTES || sql.contains('\0') {
            return Err(invalid(format_args!("a query can have at most {MAX_BYTES} bytes and no NUL byte")));
        }
        // The rewrite needs the escape sequences.
        let is_sent_unchanged = self.dialect == SqlDialect::Sqlite;
        let tokens = Tokenizer::new(dialect, sql).with_unescape(is_sent_unchanged).tokenize().map_err(invalid)?;
        if tokens.iter().filter(|token| deepens(token)).count() > MAX_TOKENS {
            return Err(invalid(format_args!("the query is too long: the maximum is {MAX_TOKENS} tokens")));
        }
        let implicit_joins = ImplicitJoins::from_tokens(&tokens);
        let sql = if is_sent_unchanged { Ok(sql.to_owned()) } else { rewrite::for_bigquery(&tokens) };
        let statements = Parser::new(dialect).with_tokens(tokens).parse_statements().map_err(invalid)?;
        let mut statements = statements.into_iter();
        match (statements.next(), statements.next()) {
            (None, _) => Err(invalid("the query is empty")),
            (Some(statement @ Statement::Query(_)), None) => Ok(ParsedQuery { statement, implicit_joins, sql }),
            (Some(_), None) => Err(not_allowed("only SELECT is allowed; queries cannot modify the data")),
            (Some(_), Some(_)) => Err(not_allowed("only one statement is allowed")),
        }
    }

    /// Resolves a name to a table.
    fn table(&self, name: &[String]) -> Result<Option<String>, ToolError> {
        let Some((table, qualifier)) = name.split_last() else { return Ok(None) };
        if self.access.denies_table(table) {
            return Err(forbidden(format_args!("you do not have access to the table `{table}`")));
        }
        if !self.is_valid_qualifier(qualifier) {
            return Err(not_allowed(format_args!("`{}.{table}` is not part of the data", qualifier.join("."))));
        }
        if table.contains('*') && !(self.access.denied_tables.is_empty() && self.access.denied_columns.is_empty()) {
            return Err(forbidden("name each table explicitly: some are hidden from you"));
        }
        match &self.tables {
            Some(existing) if !existing.iter().any(|existing| existing.eq_ignore_ascii_case(table)) => {
                let visible: Vec<&str> =
                    existing.iter().copied().filter(|name| !self.access.denies_table(name)).collect();
                Err(unknown(format_args!("table `{table}` not found; {}", did_you_mean_or_list(table, &visible))))
            }
            _ => Ok(Some(table.clone())),
        }
    }

    /// Returns true if the qualifier of a table is valid: for BigQuery a dataset, or the project and a dataset in
    /// this order, because a foreign project may have the same name as a dataset.
    fn is_valid_qualifier(&self, qualifier: &[String]) -> bool {
        match (self.dialect, qualifier) {
            (_, []) => true,
            (SqlDialect::BigQuery, [dataset]) => is_among(self.datasets(), dataset),
            (SqlDialect::BigQuery, [project, dataset]) => {
                is_among(self.qualifiers.last(), project) && is_among(self.datasets(), dataset)
            }
            (SqlDialect::BigQuery, _) => false,
            (SqlDialect::Sqlite, qualifier) => qualifier.iter().all(|part| is_among(&self.qualifiers, part)),
        }
    }

    /// Returns the datasets of BigQuery: all qualifiers except the last, which is the project.
    fn datasets(&self) -> &[&str] {
        self.qualifiers.split_last().map_or(&[], |(_, datasets)| datasets)
    }

    /// Rejects queries that might read a denied column of a table in use. For BigQuery this is any use of the
    /// column name, a wildcard, or a whole row: names are not resolved to tables. SQLite reports the columns that
    /// it reads, except the implicit columns of `NATURAL` and `USING` joins, with which a query could test guesses
    /// of a denied value.
    fn check_columns(
        &self,
        tables: &BTreeSet<String>,
        visitor: &QueryVisitor,
        implicit_joins: &ImplicitJoins,
    ) -> Result<(), ToolError> {
        let has_row_reference = visitor.rows.iter().any(|name| visitor.aliases.contains(name) || tables.contains(name));
        for denied in &self.access.denied_columns {
            let (denied_table, column) = split_column(denied);
            let is_used = tables.iter().any(|table| matches_denied_table(denied_table, table));
            let is_named = visitor.names.contains(&column.to_lowercase());
            let is_read = match self.dialect {
                SqlDialect::Sqlite => implicit_joins.is_natural || (implicit_joins.has_using && is_named),
                SqlDialect::BigQuery => {
                    implicit_joins.is_natural || is_named || visitor.has_wildcard || has_row_reference
                }
            };
            if is_used && is_read {
                return Err(forbidden(format_args!(
                    "you do not have access to `{denied}`; select the other columns by name"
                )));
            }
        }
        Ok(())
    }
}

/// Returns true if the name is one of these, ignoring case.
fn is_among<'a>(names: impl IntoIterator<Item = &'a &'a str>, name: &str) -> bool {
    names.into_iter().any(|candidate| candidate.eq_ignore_ascii_case(name))
}

/// Implicit join columns of a query.
struct ImplicitJoins {
    is_natural: bool,
    has_using: bool,
}

impl ImplicitJoins {
    fn from_tokens(tokens: &[Token]) -> Self {
        let has =
            |keyword: Keyword| tokens.iter().any(|token| matches!(token, Token::Word(word) if word.keyword == keyword));
        Self { is_natural: has(Keyword::NATURAL), has_using: has(Keyword::USING) }
    }
}

/// Returns true for internal tables of a database.
pub(super) fn is_internal(name: &str) -> bool {
    let name = name.to_lowercase();
    ["sqlite_", "pragma_", "information_schema", "dbstat", "__"].iter().any(|start| name.starts_with(start))
}

fn internal_table_error(table: &str) -> ToolError {
    not_allowed(format_args!("`{table}` is a system table; use list_tables and describe_table"))
}

/// Returns true if the token can increase the depth of the syntax tree.
fn deepens(token: &Token) -> bool {
    let is_flat = matches!(
        token,
        Token::Comma | Token::Period | Token::Whitespace(_) | Token::Number(..) | Token::SingleQuotedString(_)
    );
    !is_flat
}
