//! The JSON that Firestore reads and writes: document names, fields, preconditions and queries.
//!
//! Pure: this module sends no requests and reads no clock. One key is one document. The parts of a value that is too
//! long for one document are in a second collection, under the token of the put that wrote them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde_json::{Value, json};
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::port::MAX_KEY_BYTES;
use superstep_core::time::Time;

/// Replacement of `/` in the name of a document; no key contains this character.
const SLASH: &str = "~";

/// A character that sorts after every character of a key.
const UPPER_BOUND: &str = "~";

/// Paths of the documents of one store.
#[derive(Debug, Clone)]
pub(super) struct DocumentPaths {
    /// `projects/…/databases/…/documents`.
    documents: String,
    collection: String,
}

impl DocumentPaths {
    /// Creates the paths for a project, a database and a collection.
    ///
    /// # Errors
    /// Returns an error if one of the names is invalid in Firestore, naming it.
    pub(super) fn new(project: &str, database: &str, collection: &str) -> Result<Self> {
        let is_plain = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte))
        };
        let is_reserved = |name: &str| name.starts_with("__") || [".", ".."].contains(&name);
        let names = [
            ("project", project, is_plain(project)),
            ("database", database, is_plain(database) || database == "(default)"),
            ("collection", collection, is_plain(collection) && !is_reserved(collection)),
        ];
        if let Some((kind, name, _)) = names.iter().find(|(.., is_valid)| !is_valid) {
            let message = format!("`{name}` is not a valid name of a Firestore {kind}");
            return Err(Error::new(ErrorCode::ConfigInvalid, message).with_help("use letters, digits and `-`"));
        }
        let documents = format!("projects/{project}/databases/{database}/documents");
        Ok(Self { documents, collection: collection.to_owned() })
    }

    /// Returns the path of the documents, which is part of the URL of every request.
    pub(super) fn documents(&self) -> &str {
        &self.documents
    }

    /// Returns the name of the document of a key. The name begins with a letter because Firestore rejects names such
    /// as `__a__` and `..`.
    pub(super) fn document(&self, key: &str) -> String {
        format!("{}/{}/k{}", self.documents, self.collection, key.replace('/', SLASH))
    }

    /// Returns the name of a document that never exists.
    pub(super) fn absent_document(&self) -> String {
        format!("{}/{}/nothing", self.documents, self.collection)
    }

    /// Returns the name of one part of a long value.
    pub(super) fn part(&self, token: &str, number: usize) -> String {
        format!("{}/{}/{token}-{number:05}", self.documents, self.parts())
    }

    /// Returns the token in the name of a part if the part is the first of its value.
    pub(super) fn token_of_first<'a>(&self, name: &'a str) -> Option<&'a str> {
        name.rsplit('/').next()?.strip_suffix("-00000")
    }

    fn parts(&self) -> String {
        format!("{}-parts", self.collection)
    }

    /// Queries keys that begin with `prefix` and sort after `after`, in order, without their values.
    pub(super) fn keys(&self, prefix: &str, after: Option<&str>, limit: usize) -> Value {
        let bound = |op: &str, text: &str| field_filter("key", op, json!({ "stringValue": text }));
        let from = match after.filter(|after| *after >= prefix) {
            Some(after) => bound("GREATER_THAN", after),
            None => bound("GREATER_THAN_OR_EQUAL", prefix),
        };
        let filters = json!({ "op": "AND", "filters": [from, bound("LESS_THAN", &format!("{prefix}{UPPER_BOUND}"))] });
        json!({ "structuredQuery": {
            "from": [{ "collectionId": self.collection }],
            "select": fields(&["key", "expires"]),
            "where": { "compositeFilter": filters },
            "orderBy": [{ "field": { "fieldPath": "key" }, "direction": "ASCENDING" }],
            "limit": limit,
        } })
    }

    /// Queries documents that are expired at `now`, the oldest first.
    pub(super) fn expired_query(&self, now: i64, limit: usize) -> Result<Value> {
        Ok(json!({ "structuredQuery": {
            "from": [{ "collectionId": self.collection }],
            "select": fields(&HEADER_FIELDS),
            "where": field_filter("expires", "LESS_THAN_OR_EQUAL", json!({ "timestampValue": format_timestamp(now)? })),
            "orderBy": [{ "field": { "fieldPath": "expires" }, "direction": "ASCENDING" }],
            "limit": limit,
        } }))
    }

    /// Queries parts by name, starting after a document, without their bytes.
    pub(super) fn all_parts(&self, after: Option<&str>, limit: usize) -> Value {
        let mut query = json!({ "structuredQuery": {
            "from": [{ "collectionId": self.parts() }],
            "select": fields(&["key", "parts"]),
            "orderBy": [{ "field": { "fieldPath": "__name__" }, "direction": "ASCENDING" }],
            "limit": limit,
        } });
        if let Some(after) = after {
            query["structuredQuery"]["startAt"] = json!({ "values": [{ "referenceValue": after }], "before": false });
        }
        query
    }

    /// Puts a document under a precondition.
    pub(super) fn put(&self, entry: &DocumentWrite<'_>, precondition: &Precondition) -> Result<Value> {
        let mut fields = json!({
            "key": { "stringValue": entry.key },
            "writer": { "stringValue": entry.writer },
        });
        match entry.body {
            DocumentBody::Full(value) => fields["value"] = json!({ "bytesValue": BASE64.encode(value) }),
            DocumentBody::Parts(parts) => fields["parts"] = json!({ "integerValue": parts.to_string() }),
        }
        if let Some(expires) = entry.expires {
            fields["expires"] = json!({ "timestampValue": format_timestamp(expires)? });
        }
        let document = json!({ "name": self.document(entry.key), "fields": fields });
        Ok(json!({ "update": document, "currentDocument": precondition.to_json() }))
    }

    /// Puts one part of a long value.
    pub(super) fn put_part(&self, entry: &DocumentWrite<'_>, number: usize, chunk: &[u8]) -> Value {
        let parts = if let DocumentBody::Parts(parts) = entry.body { parts } else { 0 };
        json!({ "update": { "name": self.part(entry.writer, number), "fields": {
            "key": { "stringValue": entry.key },
            "parts": { "integerValue": parts.to_string() },
            "value": { "bytesValue": BASE64.encode(chunk) },
        } } })
    }

    /// Marks the first part of a long value as used; the write fails if that part has been removed.
    pub(super) fn mark_part_used(&self, token: &str) -> Value {
        json!({
            "update": { "name": self.part(token, 0), "fields": { "pinned": { "booleanValue": true } } },
            "updateMask": { "fieldPaths": ["pinned"] },
            "currentDocument": { "exists": true },
        })
    }
}

/// Fields of a document without its value.
pub(super) const HEADER_FIELDS: [&str; 4] = ["key", "writer", "parts", "expires"];

/// A document to be written.
#[derive(Clone, Copy)]
pub(super) struct DocumentWrite<'a> {
    pub(super) key: &'a str,
    pub(super) writer: &'a str,
    /// Microseconds since 1970, by the clock of the server.
    pub(super) expires: Option<i64>,
    pub(super) body: DocumentBody<'a>,
}

/// The value of a document or a reference to its parts.
#[derive(Clone, Copy)]
pub(super) enum DocumentBody<'a> {
    /// The complete value.
    Full(&'a [u8]),
    /// Number of parts in the second collection.
    Parts(usize),
}

/// Precondition of a write.
pub(super) enum Precondition {
    /// The document does not exist.
    Absent,
    /// The document has this `updateTime`, kept as the text of the server.
    Unchanged(String),
}

impl Precondition {
    fn to_json(&self) -> Value {
        match self {
            Self::Absent => json!({ "exists": false }),
            Self::Unchanged(time) => json!({ "updateTime": time }),
        }
    }
}

/// Deletes a document without a precondition.
pub(super) fn delete(name: &str) -> Value {
    json!({ "delete": name })
}

/// Deletes a document under a precondition.
pub(super) fn delete_if(name: &str, precondition: &Precondition) -> Value {
    json!({ "delete": name, "currentDocument": precondition.to_json() })
}

/// Requests documents; an empty `mask` means all fields.
pub(super) fn batch_get(names: &[String], mask: &[&str]) -> Value {
    match mask {
        [] => json!({ "documents": names }),
        mask => json!({ "documents": names, "mask": { "fieldPaths": mask } }),
    }
}

fn fields(paths: &[&str]) -> Value {
    let paths: Vec<Value> = paths.iter().map(|path| json!({ "fieldPath": path })).collect();
    json!({ "fields": paths })
}

fn field_filter(path: &str, op: &str, value: Value) -> Value {
    json!({ "fieldFilter": { "field": { "fieldPath": path }, "op": op, "value": value } })
}

/// One element of a `batchGet` or `runQuery` response.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QueryResult {
    #[serde(alias = "found")]
    pub(super) document: Option<Document>,
    read_time: Option<String>,
}

impl QueryResult {
    /// Returns the read time of the server in microseconds since 1970.
    pub(super) fn read_at(&self) -> Option<i64> {
        micros(self.read_time.as_deref()?)
    }
}

/// The response of `commit`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommitResponse {
    commit_time: Option<String>,
}

impl CommitResponse {
    /// Returns the commit time in microseconds since 1970.
    pub(super) fn committed_at(&self) -> Option<i64> {
        micros(self.commit_time.as_deref()?)
    }
}

/// A document of the server; fields outside of the requested mask are absent.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document {
    pub(super) name: String,
    #[serde(default)]
    fields: Fields,
    create_time: String,
    update_time: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct Fields {
    key: Option<Text>,
    value: Option<Bytes>,
    writer: Option<Text>,
    parts: Option<Integer>,
    expires: Option<Timestamp>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Text {
    string_value: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bytes {
    bytes_value: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Integer {
    integer_value: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Timestamp {
    timestamp_value: String,
}

impl Document {
    pub(super) fn key(&self) -> &str {
        self.fields.key.as_ref().map_or("", |key| &key.string_value)
    }

    pub(super) fn writer(&self) -> &str {
        self.fields.writer.as_ref().map_or("", |writer| &writer.string_value)
    }

    /// Returns the approximate number of value bytes in this document.
    pub(super) fn length(&self) -> usize {
        self.fields.value.as_ref().map_or(0, |value| value.bytes_value.len())
    }

    /// Returns the bytes of the value; `None` if they are stored in parts or are not valid base64.
    pub(super) fn value(&self) -> Option<Vec<u8>> {
        BASE64.decode(&self.fields.value.as_ref()?.bytes_value).ok()
    }

    /// Returns the number of parts of the value; 0 if the value is in the document.
    pub(super) fn parts(&self) -> usize {
        self.fields.parts.as_ref().and_then(|parts| parts.integer_value.parse().ok()).unwrap_or(0)
    }

    /// Returns true if the document is expired at `now`.
    pub(super) fn is_expired(&self, now: i64) -> bool {
        let expires = self.fields.expires.as_ref().and_then(|expires| micros(&expires.timestamp_value));
        expires.is_some_and(|expires| expires <= now)
    }

    /// Returns the creation time in microseconds since 1970.
    pub(super) fn created_at(&self) -> Option<i64> {
        micros(&self.create_time)
    }

    /// Returns the precondition that the document has not changed since it was read.
    pub(super) fn unchanged(&self) -> Precondition {
        Precondition::Unchanged(self.update_time.clone())
    }

    /// Returns true if both are the same version of the document.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.writer(), &self.update_time) == (other.writer(), &other.update_time)
    }
}

/// Rejects an invalid key.
pub(super) fn check_key(key: &str) -> Result<()> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:/-".contains(&byte);
    if (1..=MAX_KEY_BYTES).contains(&key.len()) && key.bytes().all(is_allowed) {
        return Ok(());
    }
    let message = format!("`{}` is not a valid key", key.chars().take(60).collect::<String>());
    let help = format!("use 1 to {MAX_KEY_BYTES} of `A-Z a-z 0-9 _ . : / -`");
    Err(Error::new(ErrorCode::InputInvalid, message).with_help(help))
}

fn micros(text: &str) -> Option<i64> {
    Time::parse(text).ok().map(Time::as_unix_micros)
}

fn format_timestamp(micros: i64) -> Result<String> {
    let time = Time::from_unix_micros(micros).map(|time| time.to_string());
    time.map_err(|error| Error::new(ErrorCode::InputInvalid, format!("the expiry is out of range: {}", error.message)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn paths() -> DocumentPaths {
        DocumentPaths::new("p", "(default)", "c").unwrap()
    }

    proptest! {
        /// R-FWK-38: two keys never share a document, and every document name is valid in Firestore.
        #[test]
        fn each_key_has_a_unique_document(one in "[A-Za-z0-9_.:/-]{1,512}", other in "[A-Za-z0-9_.:/-]{1,3}") {
            let name = |key: &str| paths().document(key).rsplit_once('/').unwrap().1.to_owned();
            prop_assert_eq!(one == other, name(&one) == name(&other));
            prop_assert!(name(&one).starts_with('k') && name(&one).len() == one.len() + 1);
            prop_assert!(check_key(&one).is_ok());
            // A listing by prefix finds the key and stays below its upper bound.
            prop_assert!(one.as_str() < UPPER_BOUND);
        }
    }

    /// R-FWK-38: a document is read with the value and the expiry that were put.
    #[test]
    fn documents_round_trip() {
        let entry =
            DocumentWrite { key: "a/b", writer: "w", expires: Some(1_500_000), body: DocumentBody::Full(&[0, 255]) };
        let write = paths().put(&entry, &Precondition::Absent).unwrap();
        assert_eq!(write["currentDocument"], json!({ "exists": false }));
        let mut document = write["update"].clone();
        assert_eq!(document["name"], "projects/p/databases/(default)/documents/c/ka~b");
        document["createTime"] = json!("2026-01-01T00:00:00.000001Z");
        document["updateTime"] = json!("2026-01-02T00:00:00.123456789Z");
        let item = json!({ "found": document, "readTime": "1970-01-01T00:00:01.5Z" });
        let item: QueryResult = serde_json::from_value(item).unwrap();
        assert_eq!(item.read_at(), Some(1_500_000));
        let document = item.document.unwrap();
        assert_eq!((document.key(), document.writer(), document.parts()), ("a/b", "w", 0));
        assert_eq!(document.value().unwrap(), [0, 255]);
        assert!(document.is_expired(1_500_000) && !document.is_expired(1_499_999));
        let removed = delete_if(&document.name, &document.unchanged());
        assert_eq!(removed["currentDocument"], json!({ "updateTime": "2026-01-02T00:00:00.123456789Z" }));
    }

    /// R-FWK-38: a listing begins at the prefix or after a key, whichever is later.
    #[test]
    fn a_list_starts_at_the_prefix_or_after_the_cursor() {
        let from = |prefix: &str, after: Option<&str>| {
            let query = paths().keys(prefix, after, 5);
            let filter = &query["structuredQuery"]["where"]["compositeFilter"]["filters"][0]["fieldFilter"];
            (filter["op"].as_str().unwrap().to_owned(), filter["value"]["stringValue"].as_str().unwrap().to_owned())
        };
        let start = |op: &str, text: &str| (op.to_owned(), text.to_owned());
        assert_eq!(from("b", None), start("GREATER_THAN_OR_EQUAL", "b"));
        assert_eq!(from("b", Some("a")), start("GREATER_THAN_OR_EQUAL", "b"));
        assert_eq!(from("b", Some("b1")), start("GREATER_THAN", "b1"));
        assert_eq!(from("", Some("b1")), start("GREATER_THAN", "b1"));
    }

    /// R-FWK-38: names that are invalid in Firestore are rejected before a request is sent.
    #[test]
    fn invalid_names_are_rejected() {
        for (project, database, collection, expected) in [
            ("a/b", "d", "c", "`a/b`"),
            ("p", "", "c", "database"),
            ("p", "d", "__c__", "`__c__`"),
            ("p", "d", "..", "`..`"),
        ] {
            let error = DocumentPaths::new(project, database, collection).unwrap_err();
            assert!(error.message().contains(expected), "{error}");
        }
        for key in ["", "a b", "\u{e4}", "a~", &"a".repeat(513)] {
            assert_eq!(check_key(key).unwrap_err().code(), ErrorCode::InputInvalid);
        }
    }
}
