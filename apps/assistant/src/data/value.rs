//! Conversion of SQLite values to JSON and text.

use rusqlite::types::ValueRef;
use rust_decimal::Decimal;
use rust_decimal::prelude::{FromPrimitive, ToPrimitive};
use serde_json::Value;

/// Converts a value to JSON. Bytes that are not text are represented by their length.
pub(crate) fn json(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => rounded(number).into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => format!("({} bytes)", bytes.len()).into(),
    }
}

/// Removes the noise of binary fractions. Money is stored as floating-point numbers here: 0.1 and 0.2 make
/// 0.30000000000000004, and the last digits of a long sum are noise, while fifteen digits hold every practical
/// amount.
fn rounded(number: f64) -> f64 {
    Decimal::from_f64(number).and_then(|exact| exact.to_f64()).unwrap_or(number)
}

/// Converts a value to text, without quotation marks.
pub(super) fn text(value: ValueRef<'_>) -> String {
    match json(value) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-PLN-53: sums of money are formatted as a person would write them.
    #[test]
    fn numbers_are_formatted_as_people_write_them() {
        for (number, expected) in
            [(0.1 + 0.2, "0.3"), (44.9, "44.9"), (1e300, "1e+300"), (-12.345, "-12.345"), (0.0, "0.0")]
        {
            assert_eq!(json(ValueRef::Real(number)).to_string(), expected);
        }
        let dimes: f64 = (0..10).map(|_| 0.1).sum();
        assert_eq!(json(ValueRef::Real(dimes)).to_string(), "1.0");
        assert_eq!(json(ValueRef::Blob(&[1, 2])), "(2 bytes)");
    }
}
