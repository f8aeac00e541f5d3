//! Comments about tables and columns: parses the `--` comments of a schema.

/// Returns the comment of each column of a `CREATE TABLE`: the text after the column and on the comment-only lines
/// below.
pub(super) fn column_comments(sql: &str, columns: &[&str]) -> Vec<String> {
    let mut comments = vec![Vec::new(); columns.len()];
    let mut current = None;
    let mut depth = 0_i32;
    for line in sql.lines() {
        let (code, comment) = split_comment(line);
        if depth == 1 {
            let first = first_name(code);
            let column_index =
                first.and_then(|first| columns.iter().position(|column| column.eq_ignore_ascii_case(first)));
            // A line of code that declares no column is a table constraint.
            current = if column_index.is_some() || !code.trim().is_empty() { column_index } else { current };
        }
        depth += balance(code);
        if let (Some(index), Some(comment)) = (current, comment) {
            comments[index].push(comment);
        }
    }
    comments.into_iter().map(|lines| lines.join(" ")).collect()
}

/// Returns the comment lines directly above the `CREATE TABLE` of this table.
pub(super) fn table_comment(schema: &str, table: &str) -> String {
    let mut above: Vec<&str> = Vec::new();
    for line in schema.lines() {
        let (code, comment) = split_comment(line);
        if code.trim().is_empty() {
            match comment {
                Some(comment) => above.push(comment),
                None => above.clear(),
            }
            continue;
        }
        if created_table(code).is_some_and(|name| name.eq_ignore_ascii_case(table)) {
            return above.join(" ");
        }
        above.clear();
    }
    String::new()
}

/// Returns the name of the table if the line starts a `CREATE TABLE`.
fn created_table(code: &str) -> Option<&str> {
    let mut words = code.split_whitespace();
    let is_create = words.next()?.eq_ignore_ascii_case("create");
    let mut word =
        words.find(|word| !["table", "view", "if", "not", "exists"].contains(&word.to_lowercase().as_str()))?;
    word = word.split('(').next().unwrap_or_default();
    is_create.then(|| word.trim_matches(['"', '`', '[', ']']))
}

/// Splits a line into code and comment.
fn split_comment(line: &str) -> (&str, Option<&str>) {
    let mut quote = None;
    for (offset, letter) in line.char_indices() {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None if matches!(letter, '\'' | '"' | '`') => quote = Some(letter),
            None if line[offset..].starts_with("--") => {
                let comment = line[offset..].trim_start_matches('-').trim();
                return (&line[..offset], (!comment.is_empty()).then_some(comment));
            }
            None => {}
        }
    }
    (line, None)
}

fn first_name(code: &str) -> Option<&str> {
    let code = code.trim_start().trim_start_matches(['"', '`', '[']);
    let end = code.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(code.len());
    (end > 0).then(|| &code[..end])
}

/// Returns the number of opening minus closing brackets of a line.
fn balance(code: &str) -> i32 {
    code.chars().map(|letter| i32::from(letter == '(') - i32::from(letter == ')')).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = "-- A shop.\n\n-- What was bought,\n-- by whom.\nCREATE TABLE IF NOT EXISTS \"orders\"(
        id INTEGER PRIMARY KEY,
        status TEXT CHECK (status IN ('--', 'PAID')), -- where it is
                          -- see due_at
        due_at TEXT,      -- latest day
        PRIMARY KEY (id)  -- a rule
      );\nCREATE TABLE plain (id INTEGER -- only\n);";

    /// R-PLN-53: comments beside or directly above tables and columns describe them.
    #[test]
    fn comments_are_assigned_to_the_adjacent_definition() {
        let start = SCHEMA.find("CREATE").unwrap();
        let notes = column_comments(&SCHEMA[start..], &["id", "status", "due_at"]);
        assert_eq!(notes, ["", "where it is see due_at", "latest day"]);
        assert_eq!(table_comment(SCHEMA, "orders"), "What was bought, by whom.");
        assert_eq!(table_comment(SCHEMA, "plain"), "");
    }
}
