//! Where items are: labels, from the general to the particular.
//!
//! The rules are LangGraph's, so that what one keeps the other can: a namespace has a label, no label is empty or has a dot
//! in it, and the first is not `langgraph`. Ours beyond that: no label has a zero byte, and all together are not long.

use crate::error::{Code, Error, Result};

/// The most bytes the labels of a namespace have, one more counted for each label.
pub const LONGEST_NAMESPACE: usize = 1_024;

/// The first label that LangGraph keeps for itself.
const RESERVED: &str = "langgraph";

/// Where items are: labels, from the general to the particular.
///
/// ```
/// use superstep_core::store::Namespace;
/// let namespace = Namespace::from(["users", "mia"]);
/// assert!(namespace.starts_with(&["users"].into()) && !namespace.starts_with(&["use"].into()));
/// assert_eq!(namespace.to_string(), "users.mia");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Namespace(Vec<String>);

impl Namespace {
    /// The labels.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.0
    }

    /// Whether its first labels are these.
    #[must_use]
    pub fn starts_with(&self, prefix: &Self) -> bool {
        self.0.starts_with(&prefix.0)
    }

    /// Its first labels.
    pub(super) fn cut(&self, depth: usize) -> Self {
        Self(self.0.iter().take(depth).cloned().collect())
    }

    /// Whether labels fit, `*` any label.
    pub(super) fn fits(labels: &[String], pattern: &[String]) -> bool {
        labels.len() == pattern.len()
            && labels.iter().zip(pattern).all(|(label, wanted)| wanted == "*" || label == wanted)
    }

    /// Refuses a namespace that cannot hold items.
    pub(super) fn check(&self) -> Result<()> {
        match self.0.first() {
            None => Err(refuse("a namespace has no label".to_owned(), "give it one: `[\"users\", \"mia\"]`")),
            Some(first) if first == RESERVED => Err(refuse(
                format!("the first label of a namespace is `{RESERVED}`"),
                "use another: this one is kept for LangGraph itself",
            )),
            _ => self.check_labels(),
        }
    }

    /// Refuses labels that no namespace has.
    pub(super) fn check_labels(&self) -> Result<()> {
        for label in &self.0 {
            if label.is_empty() {
                return Err(refuse(format!("a label of the namespace `{self}` is empty"), "give every label a name"));
            }
            if let Some(found) = label.chars().find(|found| matches!(found, '.' | '\0')) {
                let message = format!("label `{}` of a namespace has {found:?} in it", label.escape_debug());
                return Err(refuse(message, "labels are apart already: write `[\"a\", \"b\"]` and not `[\"a.b\"]`"));
            }
        }
        if self.0.iter().map(|label| label.len() + 1).sum::<usize>() > LONGEST_NAMESPACE {
            let message = format!("a namespace is longer than {LONGEST_NAMESPACE} bytes");
            return Err(refuse(message, "use shorter or fewer labels"));
        }
        Ok(())
    }

    /// The labels as bytes that sort as labels do: each is followed by a zero, which no label has.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|label| label.bytes().chain([0])).collect()
    }

    /// Reads [`Namespace::to_bytes`]; `None` when they are not of a namespace.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let Some(labels) = bytes.strip_suffix(&[0]) else { return bytes.is_empty().then(Self::default) };
        let labels = labels.split(|byte| *byte == 0).map(|label| String::from_utf8(label.to_vec()).ok());
        labels.collect::<Option<_>>().map(Self)
    }

    /// The bytes at which namespaces with this prefix begin, and the first that come after all of them.
    #[must_use]
    pub fn range(&self) -> (Vec<u8>, Vec<u8>) {
        let begin = self.to_bytes();
        let mut end = begin.clone();
        match end.last_mut() {
            Some(last) => *last = 1,
            // No text has this byte.
            None => end.push(0xff),
        }
        (begin, end)
    }
}

fn refuse(message: String, help: &str) -> Error {
    Error::new(Code::InputInvalid, message).help(help)
}

/// The labels with dots between them, for people.
impl std::fmt::Display for Namespace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

impl From<&str> for Namespace {
    fn from(label: &str) -> Self {
        Self(vec![label.to_owned()])
    }
}

impl From<&Namespace> for Namespace {
    fn from(namespace: &Namespace) -> Self {
        namespace.clone()
    }
}

impl<T: Into<String>, const N: usize> From<[T; N]> for Namespace {
    fn from(labels: [T; N]) -> Self {
        Self(labels.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<String>> From<Vec<T>> for Namespace {
    fn from(labels: Vec<T>) -> Self {
        Self(labels.into_iter().map(Into::into).collect())
    }
}

impl<T: AsRef<str>> From<&[T]> for Namespace {
    fn from(labels: &[T]) -> Self {
        Self(labels.iter().map(|label| label.as_ref().to_owned()).collect())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_of_no_namespace_are_refused() {
        let long = "x".repeat(LONGEST_NAMESPACE);
        for labels in [&[][..], &[""], &["a", ""], &["a.b"], &["a\0"], &["langgraph", "a"], &[long.as_str()]] {
            let error = Namespace::from(labels).check().unwrap_err();
            assert_eq!(error.code(), Code::InputInvalid, "{error}");
        }
        for labels in [&["a"][..], &["a", "langgraph"], &["*", "x' OR 1=1 --"], &["ü", "🦀", " "]] {
            assert!(Namespace::from(labels).check().is_ok(), "{labels:?}");
        }
    }

    proptest! {
        /// R-FWK-87: bytes sort as labels do, come back, and lie in the range of each prefix and of no other.
        #[test]
        fn bytes_sort_as_labels_do(
            a in prop::collection::vec("[a-c\u{1}ü🦀-]{1,3}", 0..4), b in prop::collection::vec("[a-c\u{1}ü🦀-]{1,3}", 0..4),
        ) {
            let (a, b) = (Namespace::from(a), Namespace::from(b));
            prop_assert_eq!(a.cmp(&b), a.to_bytes().cmp(&b.to_bytes()));
            prop_assert_eq!(Namespace::from_bytes(&a.to_bytes()), Some(a.clone()));
            let (begin, end) = b.range();
            let bytes = a.to_bytes();
            prop_assert_eq!(begin <= bytes && bytes < end, a.starts_with(&b));
        }
    }
}
