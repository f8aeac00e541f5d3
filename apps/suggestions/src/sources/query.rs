//! Validation of search queries: trimmed, not empty, not too long.

use superstep::{Error, ErrorCode, Result};

use crate::query_expansion::cut_at_word;

/// Maximum length of a query in characters.
pub const MAX_QUERY_CHARS: usize = 200;

/// A validated query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchQuery {
    /// Text of the query.
    pub text: String,
    /// Warning if the query was shortened.
    pub warning: Option<String>,
}

/// Trims a query and cuts a long one at a word boundary.
///
/// # Errors
/// Returns an error if the query is empty.
///
/// ```
/// use superstep_suggestions::sources::normalize_query;
/// assert_eq!(normalize_query("  roll back ").unwrap().text, "roll back");
/// assert!(normalize_query(" \n").is_err());
/// ```
pub fn normalize_query(query: &str) -> Result<SearchQuery> {
    let text = query.trim();
    if text.is_empty() {
        return Err(Error::new(ErrorCode::InputInvalid, "the query is empty").with_help("use one or more words"));
    }
    let Some(start) = cut_at_word(text, MAX_QUERY_CHARS) else {
        return Ok(SearchQuery { text: text.to_owned(), warning: None });
    };
    let length = text.chars().count();
    let warning =
        format!("the query has {length} characters; only the first {MAX_QUERY_CHARS} were used, up to a whole word");
    Ok(SearchQuery { text: start.to_owned(), warning: Some(warning) })
}
