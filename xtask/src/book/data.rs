//! Data files of generated blocks: TOML in which every key is required and every value is one line of text.
//!
//! Unknown keys are rejected, so that a misspelt key does not become an empty cell.

use toml::{Table, Value};

use crate::workspace::File;

/// A data file.
pub(super) struct Data {
    path: &'static str,
    root: Table,
}

/// A table of a data file that has the requested keys and no others.
pub(super) struct Entry<'a>(&'a Table);

impl Data {
    /// Reads a data file with these tables and lists.
    ///
    /// # Errors
    /// Returns an error if the file is missing, is not TOML, or has another key.
    pub(super) fn read(files: &[File], path: &'static str, keys: &[&str]) -> Result<Self, String> {
        let file = files.iter().find(|file| file.path == path).ok_or_else(|| format!("{path} is missing"))?;
        let root = file.text.parse::<Table>().map_err(|error| format!("{path}: {error}"))?;
        match unknown_key(&root, keys) {
            Some(key) => Err(format!("{path}: there is no key `{key}`")),
            None => Ok(Self { path, root }),
        }
    }

    /// Returns a table with these keys.
    ///
    /// # Errors
    /// Returns an error if the table or one of its keys is missing or unknown.
    pub(super) fn entry(&self, name: &str, keys: &[&str]) -> Result<Entry<'_>, String> {
        let table = self.root.get(name).and_then(Value::as_table);
        let table = table.ok_or_else(|| format!("{}: there is no table `{name}`", self.path))?;
        self.checked(name, table, keys)
    }

    /// Returns the tables of a list, each with these keys.
    ///
    /// # Errors
    /// Returns an error if the list is missing or empty, or a table has a missing or unknown key.
    pub(super) fn list(&self, name: &str, keys: &[&str]) -> Result<Vec<Entry<'_>>, String> {
        let list = self.root.get(name).and_then(Value::as_array).filter(|list| !list.is_empty());
        let tables = list.and_then(|list| list.iter().map(Value::as_table).collect::<Option<Vec<_>>>());
        let tables = tables.ok_or_else(|| format!("{}: there is no list of tables `{name}`", self.path))?;
        tables
            .into_iter()
            .zip(1..)
            .map(|(table, number)| self.checked(&format!("{name} {number}"), table, keys))
            .collect()
    }

    fn checked<'a>(&self, name: &str, table: &'a Table, keys: &[&str]) -> Result<Entry<'a>, String> {
        // The value of the first key identifies the row in messages.
        let title = keys.first().and_then(|key| table.get(*key)?.as_str()).unwrap_or_default();
        let problem = |problem: String| Err(format!("{}: {name} (`{title}`): {problem}", self.path));
        for key in keys {
            match table.get(*key).map(Value::as_str) {
                None => return problem(format!("`{key}` is missing")),
                Some(Some(text)) if !text.contains(['|', '\n']) => {}
                Some(_) => return problem(format!("`{key}` is not a line of text without `|`")),
            }
        }
        match unknown_key(table, keys) {
            Some(key) => problem(format!("there is no key `{key}`")),
            None => Ok(Entry(table)),
        }
    }
}

impl<'a> Entry<'a> {
    /// Returns the text of a checked key.
    pub(super) fn text(&self, key: &str) -> &'a str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the texts of checked keys, in their order.
    pub(super) fn texts(&self, keys: &[&str]) -> Vec<&'a str> {
        keys.iter().map(|key| self.text(key)).collect()
    }
}

fn unknown_key<'a>(table: &'a Table, keys: &[&str]) -> Option<&'a str> {
    table.keys().map(String::as_str).find(|key| !keys.contains(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        let data = Data::read(&[File::fake("a.toml", text)], "a.toml", &["rows"]);
        let rows = data.and_then(|data| Ok(data.list("rows", &["name", "cell"])?.len()));
        rows.map_or_else(|problem| problem, |count| format!("{count} rows"))
    }

    #[test]
    fn every_key_is_required_and_no_other_is_accepted() {
        let cases = [
            ("name = \"x\"\ncell = \"\"", "1 rows"),
            ("name = \"x\"", "a.toml: rows 1 (`x`): `cell` is missing"),
            ("name = \"x\"\ncell = \"1\"\ncel = \"2\"", "a.toml: rows 1 (`x`): there is no key `cel`"),
            ("name = \"x\"\ncell = \"1 | 2\"", "a.toml: rows 1 (`x`): `cell` is not a line of text without `|`"),
            ("name = \"x\"\ncell = 1", "a.toml: rows 1 (`x`): `cell` is not a line of text without `|`"),
        ];
        for (row, expected) in cases {
            assert_eq!(problem(&format!("[[rows]]\n{row}\n")), expected);
        }
    }

    #[test]
    fn a_missing_file_or_list_is_reported() {
        assert_eq!(problem(""), "a.toml: there is no list of tables `rows`");
        assert_eq!(problem("rows = []"), "a.toml: there is no list of tables `rows`");
        assert_eq!(problem("rows = [{ name = 'x', cell = '1' }, 2]"), "a.toml: there is no list of tables `rows`");
        assert_eq!(problem("lines = []"), "a.toml: there is no key `lines`");
        assert!(problem("rows").starts_with("a.toml: "), "{}", problem("rows"));
        assert_eq!(Data::read(&[], "a.toml", &[]).err().as_deref(), Some("a.toml is missing"));
    }
}
