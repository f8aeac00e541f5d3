//! Reads rows of a Parquet file. Dates and points in time become text, as in the other formats; nested values also
//! become text.

use std::fs::File;

use ::parquet::data_type::Decimal;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field;
use jiff::civil::Date;
use jiff::{Span, Timestamp};
use rusqlite::types::Value;

use super::load::{FileContent, TableData};

/// Maximum number of rows that are loaded.
const MAX_ROWS: i64 = 5_000_000;

/// Reads the rows of a file.
pub(super) fn read_table(content: &FileContent) -> Result<TableData, String> {
    let FileContent::Path(path) = content else { return Err("the file is not on disk".to_owned()) };
    let file = File::open(path).map_err(|cause| cause.to_string())?;
    let reader = SerializedFileReader::new(file).map_err(|cause| cause.to_string())?;
    let metadata = reader.metadata().file_metadata();
    if metadata.num_rows() > MAX_ROWS {
        return Err(format!("the file has {} rows; the maximum is {MAX_ROWS}", metadata.num_rows()));
    }
    let columns: Vec<String> = metadata.schema().get_fields().iter().map(|field| field.name().to_owned()).collect();
    let mut declarations = vec!["TEXT"; columns.len()];
    let mut rows = Vec::new();
    for row in reader.get_row_iter(None).map_err(|cause| cause.to_string())? {
        let fields = row.map_err(|cause| cause.to_string())?.into_columns();
        for (declaration, (_, field)) in declarations.iter_mut().zip(&fields) {
            *declaration = declared_type(field).unwrap_or(declaration);
        }
        rows.push(fields.into_iter().map(|(_, field)| value(field)).collect());
    }
    Ok(TableData { columns, declarations, rows })
}

/// Returns the declared type for a column with this value; a null value gives no type.
fn declared_type(field: &Field) -> Option<&'static str> {
    match field {
        Field::Null => None,
        Field::Bool(_) => Some("BOOLEAN"),
        Field::Float16(_) | Field::Float(_) | Field::Double(_) => Some("REAL"),
        Field::Decimal(_) => Some("DECIMAL"),
        Field::Date(_) => Some("DATE"),
        Field::TimestampMillis(_) | Field::TimestampMicros(_) => Some("TIMESTAMP"),
        _ if integer(field).is_some() => Some("INTEGER"),
        _ => Some("TEXT"),
    }
}

fn value(field: Field) -> Value {
    if let Some(number) = integer(&field) {
        return Value::Integer(number);
    }
    match field {
        Field::Null => Value::Null,
        Field::Bool(flag) => Value::Integer(i64::from(flag)),
        Field::Float16(number) => Value::Real(f64::from(number)),
        Field::Float(number) => Value::Real(f64::from(number)),
        Field::Double(number) => Value::Real(number),
        Field::Decimal(number) => Value::Text(decimal(&number)),
        Field::Str(text) => Value::Text(text),
        Field::Date(days) => text(date(days), days),
        Field::TimestampMillis(time) => text(Timestamp::from_millisecond(time).ok(), time),
        Field::TimestampMicros(time) => text(Timestamp::from_microsecond(time).ok(), time),
        Field::Bytes(bytes) => match bytes.as_utf8() {
            Ok(text) => Value::Text(text.to_owned()),
            Err(_) => Value::Blob(bytes.data().to_vec()),
        },
        other => Value::Text(other.to_string()),
    }
}

fn integer(field: &Field) -> Option<i64> {
    match *field {
        Field::Byte(number) => Some(number.into()),
        Field::Short(number) => Some(number.into()),
        Field::Int(number) => Some(number.into()),
        Field::Long(number) => Some(number),
        Field::UByte(number) => Some(number.into()),
        Field::UShort(number) => Some(number.into()),
        Field::UInt(number) => Some(number.into()),
        Field::ULong(number) => i64::try_from(number).ok(),
        _ => None,
    }
}

/// Returns a time as text, or its number if it is outside the calendar range.
fn text(time: Option<impl ToString>, number: impl Into<i64>) -> Value {
    time.map_or_else(|| Value::Integer(number.into()), |time| Value::Text(time.to_string()))
}

fn date(days: i32) -> Option<Date> {
    Date::constant(1970, 1, 1).checked_add(Span::new().try_days(days).ok()?).ok()
}

/// Formats a big-endian two's complement number with its decimals. Numbers longer than 128 bits are not expected
/// for money.
fn decimal(number: &Decimal) -> String {
    let bytes = number.data();
    let is_negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let mut unscaled: i128 = if is_negative { -1 } else { 0 };
    for byte in bytes {
        unscaled = (unscaled << 8) | i128::from(*byte);
    }
    let scale = usize::try_from(number.scale()).unwrap_or(0);
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (before, after) = digits.split_at(digits.len() - scale);
    let sign = if is_negative { "-" } else { "" };
    if after.is_empty() { format!("{sign}{before}") } else { format!("{sign}{before}.{after}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-PLN-53: money of a Parquet file keeps its decimals, and dates stay dates.
    #[test]
    fn decimals_and_days_are_written_out() {
        for (unscaled, scale, expected) in
            [(4490, 2, "44.90"), (-5, 2, "-0.05"), (7, 0, "7"), (0, 3, "0.000"), (-123_456, 3, "-123.456")]
        {
            assert_eq!(decimal(&Decimal::from_i32(unscaled, 10, scale)), expected);
        }
        assert_eq!(value(Field::Date(20_000)), Value::Text("2024-10-04".to_owned()));
        assert_eq!(value(Field::TimestampMillis(0)), Value::Text("1970-01-01T00:00:00Z".to_owned()));
        assert_eq!(value(Field::ULong(u64::MAX)), Value::Text(u64::MAX.to_string()));
    }
}
