//! Namespaces of items: labels, from the general to the particular.
//!
//! The rules are LangGraph's, so that data can be exchanged: a namespace has at least one label, no label is empty
//! or contains a dot, and the first is not `langgraph`. Additional rules of superstep: no label contains a zero
//! byte, and the total length is limited.

use crate::error::{Error, ErrorCode, Result};

/// Maximum length of the labels of a namespace in bytes, plus one for each label.
pub const MAX_NAMESPACE_LENGTH: usize = 1_024;

/// The first label that LangGraph reserves.
const RESERVED: &str = "langgraph";

/// The namespace of items: labels, from the general to the particular.
///
/// ```
/// use superstep_core::store::StoreNamespace;
/// let namespace = StoreNamespace::from(["users", "mia"]);
/// assert!(namespace.starts_with(&["users"].into()) && !namespace.starts_with(&["use"].into()));
/// assert_eq!(namespace.to_string(), "users.mia");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct StoreNamespace(Vec<String>);

impl StoreNamespace {
    /// Returns the labels.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.0
    }

    /// Returns true if its first labels are these.
    #[must_use]
    pub fn starts_with(&self, prefix: &Self) -> bool {
        self.0.starts_with(&prefix.0)
    }

    /// Returns a namespace of its first `depth` labels.
    pub(super) fn cut(&self, depth: usize) -> Self {
        Self(self.0.iter().take(depth).cloned().collect())
    }

    /// Returns true if labels match a pattern; `*` matches any label.
    pub(super) fn fits(labels: &[String], pattern: &[String]) -> bool {
        labels.len() == pattern.len()
            && labels.iter().zip(pattern).all(|(label, expected)| expected == "*" || label == expected)
    }

    /// Rejects a namespace that cannot hold items.
    pub(super) fn check(&self) -> Result<()> {
        match self.0.first() {
            None => Err(invalid_namespace(
                "the namespace is empty".to_owned(),
                "use at least one label: \
                     `[\"users\", \"mia\"]`",
            )),
            Some(first) if first == RESERVED => Err(invalid_namespace(
                format!("the first label of a namespace must not be `{RESERVED}`"),
                "use another label; this one is reserved by LangGraph",
            )),
            _ => self.check_labels(),
        }
    }

    /// Rejects invalid labels.
    pub(super) fn check_labels(&self) -> Result<()> {
        for label in &self.0 {
            if label.is_empty() {
                return Err(invalid_namespace(
                    format!("namespace `{self}` has an empty label"),
                    "use non-empty labels",
                ));
            }
            if let Some(character) = label.chars().find(|character| matches!(character, '.' | '\0')) {
                let message = format!("label `{}` of the namespace contains {character:?}", label.escape_debug());
                return Err(invalid_namespace(
                    message,
                    "use one label per level: `[\"a\", \"b\"]` instead of `[\"a.b\"]`",
                ));
            }
        }
        if self.0.iter().map(|label| label.len() + 1).sum::<usize>() > MAX_NAMESPACE_LENGTH {
            let message = format!("the namespace is longer than {MAX_NAMESPACE_LENGTH} bytes");
            return Err(invalid_namespace(message, "use shorter or fewer labels"));
        }
        Ok(())
    }

    /// Returns the labels as bytes that sort as labels do: each is followed by a zero byte, which no label
    /// contains.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|label| label.bytes().chain([0])).collect()
    }

    /// Parses the bytes of [`StoreNamespace::to_bytes`]; `None` if they are not a namespace.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let Some(labels) = bytes.strip_suffix(&[0]) else { return bytes.is_empty().then(Self::default) };
        let labels = labels.split(|byte| *byte == 0).map(|label| String::from_utf8(label.to_vec()).ok());
        labels.collect::<Option<_>>().map(Self)
    }

    /// Returns the byte range of the namespaces with this prefix: start inclusive, end exclusive.
    #[must_use]
    pub fn range(&self) -> (Vec<u8>, Vec<u8>) {
        let begin = self.to_bytes();
        let mut end = begin.clone();
        match end.last_mut() {
            Some(last) => *last = 1,
            // This byte does not occur in UTF-8.
            None => end.push(0xff),
        }
        (begin, end)
    }
}

fn invalid_namespace(message: String, help: &str) -> Error {
    Error::new(ErrorCode::InputInvalid, message).with_help(help)
}

/// Formats the labels separated by dots, for display.
impl std::fmt::Display for StoreNamespace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

impl From<&str> for StoreNamespace {
    fn from(label: &str) -> Self {
        Self(vec![label.to_owned()])
    }
}

impl From<&StoreNamespace> for StoreNamespace {
    fn from(namespace: &StoreNamespace) -> Self {
        namespace.clone()
    }
}

impl<T: Into<String>, const N: usize> From<[T; N]> for StoreNamespace {
    fn from(labels: [T; N]) -> Self {
        Self(labels.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<String>> From<Vec<T>> for StoreNamespace {
    fn from(labels: Vec<T>) -> Self {
        Self(labels.into_iter().map(Into::into).collect())
    }
}

impl<T: AsRef<str>> From<&[T]> for StoreNamespace {
    fn from(labels: &[T]) -> Self {
        Self(labels.iter().map(|label| label.as_ref().to_owned()).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn invalid_namespaces_are_rejected() {
        let long = "x".repeat(MAX_NAMESPACE_LENGTH);
        for labels in [&[][..], &[""], &["a", ""], &["a.b"], &["a\0"], &["langgraph", "a"], &[long.as_str()]] {
            let error = StoreNamespace::from(labels).check().unwrap_err();
            assert_eq!(error.code(), ErrorCode::InputInvalid, "{error}");
        }
        for labels in [&["a"][..], &["a", "langgraph"], &["*", "x' OR 1=1 --"], &["ü", "🦀", " "]] {
            assert!(StoreNamespace::from(labels).check().is_ok(), "{labels:?}");
        }
    }

    proptest! {
        /// R-FWK-87: bytes sort as labels do, are parsed back, and lie in the range of each prefix and of no other.
        #[test]
        fn bytes_sort_as_labels_do(
            a in prop::collection::vec("[a-c\u{1}ü🦀-]{1,3}", 0..4), b in prop::collection::vec("[a-c\u{1}ü🦀-]{1,3}", 0..4),
        ) {
            let (a, b) = (StoreNamespace::from(a), StoreNamespace::from(b));
            prop_assert_eq!(a.cmp(&b), a.to_bytes().cmp(&b.to_bytes()));
            prop_assert_eq!(StoreNamespace::from_bytes(&a.to_bytes()), Some(a.clone()));
            let (begin, end) = b.range();
            let bytes = a.to_bytes();
            prop_assert_eq!(begin <= bytes && bytes < end, a.starts_with(&b));
        }
    }
}
