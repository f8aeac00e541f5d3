//! Formatting of numbers and dates for people.

use serde_json::Value;

use super::super::periods::month_name;
use super::super::sql_query::ValueFormat;

/// Formats a value.
pub(super) fn format_value(value: &Value, form: ValueFormat, is_imperial: bool) -> String {
    match (value, form) {
        (Value::Null, _) => "-".to_owned(),
        (Value::String(text), ValueFormat::Day) => text.get(..10).unwrap_or(text).to_owned(),
        (Value::String(text), ValueFormat::Month) => month_name(text).unwrap_or_else(|| text.clone()),
        (Value::String(text), _) => text.replace('|', "\\|"),
        (Value::Number(number), ValueFormat::Plain) => number.to_string(),
        (Value::Number(number), ValueFormat::Grams) if is_imperial => {
            let pounds = number.as_f64().unwrap_or_default() / 453.592_37;
            format!("{pounds:.2} lb")
        }
        (Value::Number(number), ValueFormat::Grams) => format!("{} g", grouped(&number.to_string())),
        (Value::Number(number), ValueFormat::Decimal) => match number.as_f64() {
            Some(float) => grouped(&format!("{float:.2}")),
            None => number.to_string(),
        },
        (Value::Number(number), _) => grouped(&number.to_string()),
        (other, _) => other.to_string(),
    }
}

/// Inserts commas between thousands.
pub(super) fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (integer, rest) =
        digits.split_once('.').map_or((digits, String::new()), |(integer, rest)| (integer, format!(".{rest}")));
    if !integer.chars().all(|digit| digit.is_ascii_digit()) {
        return text.to_owned();
    }
    let length = integer.len();
    let mut out = String::new();
    for (index, digit) in integer.chars().enumerate() {
        if index > 0 && (length - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    format!("{sign}{out}{rest}")
}
