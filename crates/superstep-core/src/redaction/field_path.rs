//! Paths to values: `user.ssn`, `users.*.ssn`.

use std::fmt;

/// A path, with `*` for any one key or list index.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct FieldPath(Vec<String>);

impl FieldPath {
    pub(super) fn new(path: &str) -> Self {
        Self(path.split('.').map(str::to_owned).collect())
    }

    /// Returns true if the path leads exactly here.
    pub(super) fn is(&self, here: &[String]) -> bool {
        let fits = |(mine, theirs): (&String, &String)| mine == "*" || mine == theirs;
        self.0.len() == here.len() && self.0.iter().zip(here).all(fits)
    }
}

impl fmt::Debug for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}
