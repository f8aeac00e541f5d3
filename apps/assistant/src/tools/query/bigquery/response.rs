//! Responses of BigQuery: every value is a string, and the schema defines its type.

use jiff::Timestamp;
use serde_json::{Map, Value};
use superstep::ToolError;

use crate::tools::error::unavailable;
use crate::tools::query::QueryResult;

/// A response.
pub(super) struct JobResponse(pub(super) Value);

impl JobResponse {
    /// Returns the number of bytes that the query reads.
    pub(super) fn bytes(&self) -> u64 {
        // A missing estimate counts as too much.
        self.0["totalBytesProcessed"].as_str().and_then(|text| text.parse().ok()).unwrap_or(u64::MAX)
    }

    pub(super) fn is_complete(&self) -> bool {
        self.0["jobComplete"].as_bool().unwrap_or(true)
    }

    /// Returns the id of the running job.
    pub(super) fn job(&self) -> Result<&str, ToolError> {
        self.reference("jobId").ok_or_else(|| unavailable("BigQuery returned no job to wait for"))
    }

    pub(super) fn location(&self) -> Option<&str> {
        self.reference("location")
    }

    /// Returns a part of the job reference if it is safe in a URL.
    fn reference(&self, part: &str) -> Option<&str> {
        let is_plain = |text: &&str| text.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
        self.0["jobReference"][part].as_str().filter(is_plain)
    }

    pub(super) fn rows(&self, limit: usize) -> Result<QueryResult, ToolError> {
        let fields = self.0["schema"]["fields"].as_array();
        let fields = fields.ok_or_else(|| unavailable("BigQuery returned no columns"))?;
        let columns = fields.iter().map(|field| field["name"].as_str().unwrap_or_default().to_owned()).collect();
        let raw_rows = self.0["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
        let rows: Vec<Vec<Value>> = raw_rows.iter().take(limit).map(|row| values(row, fields)).collect();
        let total: Option<usize> = self.0["totalRows"].as_str().and_then(|text| text.parse().ok());
        let is_truncated = total.unwrap_or(raw_rows.len()) > rows.len() || self.0["pageToken"].is_string();
        Ok(QueryResult { columns, rows, is_truncated })
    }
}

fn values(row: &Value, fields: &[Value]) -> Vec<Value> {
    let cells = row["f"].as_array().map(Vec::as_slice).unwrap_or_default();
    fields.iter().zip(cells).map(|(field, cell)| value(&cell["v"], field)).collect()
}

fn value(raw: &Value, field: &Value) -> Value {
    match raw {
        Value::Array(items) => items.iter().map(|item| value(&item["v"], field)).collect(),
        Value::Object(_) => record(raw, field),
        Value::String(text) => typed(text, field["type"].as_str().unwrap_or_default()),
        other => other.clone(),
    }
}

fn record(raw: &Value, field: &Value) -> Value {
    let fields = field["fields"].as_array().map(Vec::as_slice).unwrap_or_default();
    let names = fields.iter().map(|field| field["name"].as_str().unwrap_or_default().to_owned());
    names.zip(values(raw, fields)).collect::<Map<_, _>>().into()
}

/// Converts a string to its type; keeps the string if the conversion would lose information.
fn typed(text: &str, kind: &str) -> Value {
    let converted = match kind {
        "INTEGER" | "INT64" => text.parse::<i64>().ok().map(Value::from),
        "FLOAT" | "FLOAT64" => text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Value::from),
        // These types have more digits than a float.
        "NUMERIC" | "BIGNUMERIC" => {
            text.parse::<f64>().ok().filter(|number| number.to_string() == text).map(Value::from)
        }
        "BOOLEAN" | "BOOL" => text.parse::<bool>().ok().map(Value::from),
        "TIMESTAMP" => timestamp(text).map(Value::from),
        _ => None,
    };
    converted.unwrap_or_else(|| text.into())
}

/// Converts seconds since 1970, possibly written as `1.7E9`, to a timestamp.
fn timestamp(text: &str) -> Option<String> {
    let seconds: f64 = text.parse().ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "an out-of-range time saturates and is not a valid time")]
    let micros = (seconds * 1e6).round() as i64;
    Timestamp::from_microsecond(micros).ok().map(|timestamp| timestamp.to_string())
}
