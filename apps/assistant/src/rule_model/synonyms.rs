//! Synonyms for tables, columns and values, read from a file whose header describes its syntax.

use superstep::{Error, ErrorCode, Result};

/// Phrases with their targets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Synonyms {
    pub(super) groups: Vec<(Vec<String>, SynonymTarget)>,
}

/// Target of a phrase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SynonymTarget {
    Table(String),
    Column(String, String),
    Value(String, String, String),
    Condition(String, String),
}

impl Synonyms {
    /// Parses the text of a file.
    ///
    /// ```
    /// use superstep_assistant::rule_model::Synonyms;
    ///
    /// assert!(Synonyms::parse("client, buyer = customers\nlate = orders where shipped_at > due_at").is_ok());
    /// assert!(Synonyms::parse("client, buyer").is_err());
    /// ```
    ///
    /// # Errors
    /// Returns an error that names the line if a line has no phrase or no target.
    pub fn parse(text: &str) -> Result<Self> {
        let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let parse_line = |(number, line): (usize, &str)| {
            let invalid_line = || {
                let message = format!("line {number} of the synonyms is invalid: `{line}`");
                Error::new(ErrorCode::ConfigInvalid, message).with_help("write `word, other word = table.column`")
            };
            let (words, target) = line.split_once('=').ok_or_else(invalid_line)?;
            let words: Vec<String> = words.split(',').map(|word| word.trim().to_lowercase()).collect();
            let target = SynonymTarget::parse(target.trim()).ok_or_else(invalid_line)?;
            if words.iter().any(String::is_empty) { Err(invalid_line()) } else { Ok((words, target)) }
        };
        Ok(Self { groups: lines.map(parse_line).collect::<Result<_>>()? })
    }
}

impl SynonymTarget {
    fn parse(text: &str) -> Option<Self> {
        let is_name = |name: &&str| {
            !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | ' '))
        };
        let name = |name: &str| Some(name.trim()).filter(is_name).map(str::to_owned);
        if let Some((table, condition)) = text.split_once(" where ") {
            return Some(Self::Condition(name(table)?, condition.trim().to_owned()));
        }
        let Some((table, column)) = text.split_once('.') else { return Some(Self::Table(name(text)?)) };
        match column.split_once(':') {
            Some((column, value)) => Some(Self::Value(name(table)?, name(column)?, value.trim().to_owned())),
            None => Some(Self::Column(name(table)?, name(column)?)),
        }
    }
}
