//! Queries as searches take them: trimmed, not empty, not too long.

use superstep::{Code, Error, Result};

use crate::words::cut;

/// How many characters of a query are searched for.
pub const LONGEST_QUERY: usize = 200;

/// A query, ready to be searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trimmed {
    /// What to search for.
    pub text: String,
    /// What was done to it, when something was.
    pub warning: Option<String>,
}

/// Trims a query and cuts a long one at a word.
///
/// # Errors
/// When nothing is left.
///
/// ```
/// use superstep_suggestions::sources::trim;
/// assert_eq!(trim("  roll back ").unwrap().text, "roll back");
/// assert!(trim(" \n").is_err());
/// ```
pub fn trim(query: &str) -> Result<Trimmed> {
    let text = query.trim();
    if text.is_empty() {
        return Err(Error::new(Code::InputInvalid, "the query is empty").help("name one to a few words"));
    }
    let Some(head) = cut(text, LONGEST_QUERY) else {
        return Ok(Trimmed { text: text.to_owned(), warning: None });
    };
    let length = text.chars().count();
    let warning =
        format!("the query has {length} characters; the first {LONGEST_QUERY} were searched for, up to a whole word");
    Ok(Trimmed { text: head.to_owned(), warning: Some(warning) })
}
