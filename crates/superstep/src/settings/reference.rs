//! Generator of the settings table of the book, so that book and code cannot differ.

use std::fmt::Write as _;

use super::keys::{KEYS, SettingKey, SettingType};

/// Returns the table of all settings as Markdown: key, environment variable, default, permitted values, meaning.
///
/// ```
/// let row = "| `server.port` | `SUPERSTEP_SERVER__PORT` | `8123` | 0 to 65535 |";
/// assert!(superstep::settings::reference().contains(row));
/// ```
#[must_use]
pub fn reference() -> String {
    let mut page = String::from("| key | variable | default | value | description |\n|---|---|---|---|---|\n");
    for key in KEYS {
        let default = key.default.map_or_else(|| "none".to_owned(), |default| format!("`{default}`"));
        let variable = key.variable();
        // Writing to a string cannot fail.
        let _ =
            writeln!(page, "| `{}` | `{variable}` | {default} | {} | {} |", key.path, allowed(key), key.description);
    }
    page
}

fn allowed(key: &SettingKey) -> String {
    match key.shape {
        SettingType::Text => "text".to_owned(),
        SettingType::Path => "path".to_owned(),
        SettingType::Count(min, max) => format!("{min} to {max}"),
        SettingType::Duration => "duration".to_owned(),
        SettingType::Choice(words) => list(words),
        SettingType::Words | SettingType::List => "list of strings".to_owned(),
        SettingType::Secret => "secret".to_owned(),
        SettingType::Open => "string or secret".to_owned(),
        SettingType::Address => "HTTP URL or secret".to_owned(),
        SettingType::GraphPath => "path or `rust:NAME`".to_owned(),
        SettingType::Store => list(&["memory", "sqlite:PATH", "postgres"]),
        SettingType::Provider => format!("{}, `rust:NAME`", list(super::keys::PROVIDERS)),
    }
}

fn list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-54: the book lists every setting as declared in code.
    #[test]
    fn the_page_of_the_book_has_the_table_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/settings.md");
        let page = std::fs::read_to_string(path).unwrap();
        assert!(page.contains(&reference()), "put this table into {path}:\n{}", reference());
    }
}
