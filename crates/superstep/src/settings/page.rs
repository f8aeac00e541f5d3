//! Makes the table of the book's settings page from the table in code, so that the two cannot differ.

use std::fmt::Write as _;

use super::table::{KEYS, Key, Shape};

/// The table of every setting as Markdown: key, environment variable, default, what may be written, meaning.
///
/// ```
/// let row = "| `server.port` | `SUPERSTEP_SERVER__PORT` | `8123` | 0 to 65535 |";
/// assert!(superstep::settings::reference().contains(row));
/// ```
#[must_use]
pub fn reference() -> String {
    let mut page = String::from("| key | variable | default | value | meaning |\n|---|---|---|---|---|\n");
    for key in KEYS {
        let default = key.default.map_or_else(|| "none".to_owned(), |default| format!("`{default}`"));
        let variable = key.variable();
        // Writing to text cannot fail.
        let _ = writeln!(page, "| `{}` | `{variable}` | {default} | {} | {} |", key.path, allowed(key), key.meaning);
    }
    page
}

fn allowed(key: &Key) -> String {
    match key.shape {
        Shape::Text => "text".to_owned(),
        Shape::Path => "path".to_owned(),
        Shape::Count(least, most) => format!("{least} to {most}"),
        Shape::Duration => "time span".to_owned(),
        Shape::Choice(words) => list(words),
        Shape::Words | Shape::List => "list of text".to_owned(),
        Shape::Secret => "secret".to_owned(),
        Shape::Open => "text or secret".to_owned(),
        Shape::Address => "HTTP address or secret".to_owned(),
        Shape::GraphPath => "path or `rust:NAME`".to_owned(),
        Shape::Store => list(&["memory", "sqlite:PATH", "postgres"]),
        Shape::Provider => format!("{}, `rust:NAME`", list(super::table::PROVIDERS)),
    }
}

fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-54: the book lists every setting as it is in code.
    #[test]
    fn the_page_of_the_book_has_the_table_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/settings.md");
        let page = std::fs::read_to_string(path).unwrap();
        assert!(page.contains(&reference()), "put this table into {path}:\n{}", reference());
    }
}
