//! Paths to values: `user.ssn`, `users.*.ssn`.

use std::fmt;

/// A path, with `*` for any one key or list index.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct FieldPath(Vec<String>);

impl FieldPath {
    pub(super) fn new(path: &str) -> Self {
        Self(path.split('.').map(str::to_owned).collect())
    }

    /// Returns true if a value is at this path.
    pub(super) fn matches(&self, path: &[String]) -> bool {
        let is_equal = |(mine, theirs): (&String, &String)| mine == "*" || mine == theirs;
        self.0.len() == path.len() && self.0.iter().zip(path).all(is_equal)
    }
}

impl fmt::Debug for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}
