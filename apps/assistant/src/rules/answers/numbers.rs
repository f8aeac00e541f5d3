//! Numbers and days as people read them.

use serde_json::Value;

use super::super::days::month_name;
use super::super::query::Form;

/// A value, written in this form.
pub(super) fn written(value: &Value, form: Form, is_imperial: bool) -> String {
    match (value, form) {
        (Value::Null, _) => "-".to_owned(),
        (Value::String(text), Form::Day) => text.get(..10).unwrap_or(text).to_owned(),
        (Value::String(text), Form::Month) => month_name(text).unwrap_or_else(|| text.clone()),
        (Value::String(text), _) => text.replace('|', "\\|"),
        (Value::Number(number), Form::Plain) => number.to_string(),
        (Value::Number(number), Form::Grams) if is_imperial => {
            let pounds = number.as_f64().unwrap_or_default() / 453.592_37;
            format!("{pounds:.2} lb")
        }
        (Value::Number(number), Form::Grams) => format!("{} g", grouped(&number.to_string())),
        (Value::Number(number), Form::Decimal) => match number.as_f64() {
            Some(float) => grouped(&format!("{float:.2}")),
            None => number.to_string(),
        },
        (Value::Number(number), _) => grouped(&number.to_string()),
        (other, _) => other.to_string(),
    }
}

/// Digits with a comma between thousands.
pub(super) fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    let (whole, rest) =
        digits.split_once('.').map_or((digits, String::new()), |(whole, rest)| (whole, format!(".{rest}")));
    if !whole.chars().all(|digit| digit.is_ascii_digit()) {
        return text.to_owned();
    }
    let length = whole.len();
    let mut out = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (length - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    format!("{sign}{out}{rest}")
}
