//! Reads `xtask/language-exceptions.toml`: names that break a rule for a reason.
//!
//! One table per check; a key is a path prefix and a name (`apps/debate/Turn`), its value the reason. An exception
//! without a violation is an error, so that the file has no obsolete entries.

use toml::{Table, Value};

use super::{Check, Violation};

/// Path of the file from the root of the workspace.
pub(super) const PATH: &str = "xtask/language-exceptions.toml";

/// A name that may violate a rule in files below a path.
struct Exception {
    check: Check,
    prefix: String,
    name: String,
}

impl Exception {
    fn parse(check: Check, key: &str, reason: &Value) -> Result<Self, String> {
        let Some((prefix, name)) = key.rsplit_once('/') else {
            return Err(format!("{PATH}: `{key}` is not of the form `path/name`"));
        };
        if reason.as_str().is_none_or(|reason| reason.trim().is_empty()) {
            return Err(format!("{PATH}: `{key}` has no reason"));
        }
        Ok(Self { check, prefix: prefix.to_owned(), name: name.to_owned() })
    }

    fn excuses(&self, violation: &Violation) -> bool {
        let rest = violation.path.strip_prefix(&self.prefix);
        self.check == violation.check
            && self.name == violation.name
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Removes excused violations, and returns the problems of the exceptions file.
pub(super) fn apply(text: &str, violations: &mut Vec<Violation>) -> Vec<String> {
    let exceptions = match parse(text) {
        Ok(exceptions) => exceptions,
        Err(problem) => return vec![problem],
    };
    let unused = exceptions.iter().filter(|exception| !violations.iter().any(|violation| exception.excuses(violation)));
    let unused = unused.map(|Exception { check, prefix, name }| {
        format!("{PATH}: `{prefix}/{name}` excuses nothing in `{}`; remove it", check.key())
    });
    let problems = unused.collect();
    violations.retain(|violation| !exceptions.iter().any(|exception| exception.excuses(violation)));
    problems
}

fn parse(text: &str) -> Result<Vec<Exception>, String> {
    let tables: Table = text.parse().map_err(|error| format!("{PATH}: {error}"))?;
    let mut exceptions = Vec::new();
    for (key, entries) in &tables {
        let check = Check::from_key(key).ok_or_else(|| format!("{PATH}: there is no check `{key}`"))?;
        let entries = entries.as_table().ok_or_else(|| format!("{PATH}: `{key}` is not a table"))?;
        for (name, reason) in entries {
            exceptions.push(Exception::parse(check, name, reason)?);
        }
    }
    Ok(exceptions)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violation(check: Check, path: &str, name: &str) -> Violation {
        Violation { check, path: path.to_owned(), line: 1, name: name.to_owned(), problem: String::new() }
    }

    #[test]
    fn an_exception_excuses_its_check_and_name_below_its_path() {
        let mut violations = vec![
            violation(Check::Words, "apps/debate/src/turn.rs", "Turn"),
            violation(Check::Words, "apps/debates/src/turn.rs", "Turn"),
            violation(Check::Words, "apps/debate/src/turn.rs", "turn"),
            violation(Check::Types, "apps/debate/src/turn.rs", "Turn"),
        ];
        let problems = apply("[words]\n\"apps/debate/Turn\" = \"a turn of a debate\"", &mut violations);
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(violations.len(), 3);
    }

    #[test]
    fn an_exception_must_be_used_and_have_a_reason() {
        let cases = [
            ("[words]\n\"apps/debate/Turn\" = \"a turn\"", "`apps/debate/Turn` excuses nothing in `words`; remove it"),
            ("[words]\n\"apps/debate/Turn\" = \" \"", "`apps/debate/Turn` has no reason"),
            ("[words]\n\"Turn\" = \"a turn\"", "`Turn` is not of the form `path/name`"),
            ("[colours]\n\"a/Turn\" = \"a turn\"", "there is no check `colours`"),
        ];
        for (text, problem) in cases {
            assert_eq!(apply(text, &mut Vec::new()), [format!("{PATH}: {problem}")], "{text}");
        }
    }
}
