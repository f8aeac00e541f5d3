//! `calculate`: arithmetic with decimal numbers, percentages and units.
//!
//! Numbers are decimal and not binary: 0.1 + 0.2 is 0.3. A result with more than 28 digits is rounded and marked as
//! rounded; an overflow is an error and never a wrong number.

mod arithmetic;
mod expression;
mod sentence;
mod tokens;
mod units;

use serde_json::json;
use superstep::tools::{Tool, ToolInvocation, ToolSpec};
use superstep::{ToolError, ToolOutput};

use super::arguments::required;

/// Result of a calculation.
#[derive(Debug, PartialEq, Eq)]
struct CalculationResult {
    value: rust_decimal::Decimal,
    unit: Option<String>,
    /// True if digits were lost.
    is_rounded: bool,
}

/// The `calculate` tool.
pub(super) struct Calculate;

impl Tool for Calculate {
    fn spec(&self) -> ToolSpec {
        let examples = "(1250 - 399.50) * 3 / 4; 17.5% of 1,249.90; add 19 % to 1380; 12 miles to km; 2^10";
        let schema = json!({"type": "object", "additionalProperties": false, "required": ["expression"], "properties": {
            "expression": {"type": "string", "description": format!("What to calculate, for example: {examples}.")},
        }});
        let about = "Calculates exactly with decimal numbers, percent and units of length, mass, temperature, volume, time, \
                     data, area and speed.";
        ToolSpec::new("calculate", about).with_input_schema(schema).read_only().timeout(super::CALL_TIMEOUT)
    }

    async fn call(&self, call: ToolInvocation) -> Result<ToolOutput, ToolError> {
        let expression = required(&call, "expression")?;
        let CalculationResult { value, unit, is_rounded } = sentence::calculate(expression)?;
        let mut output = json!({"expression": expression.trim(), "result": value.normalize().to_string()});
        if let Some(unit) = unit {
            output["unit"] = unit.into();
        }
        if is_rounded {
            output["rounded"] = true.into();
        }
        Ok(output.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluated(text: &str) -> String {
        match sentence::calculate(text) {
            Ok(CalculationResult { value, unit, is_rounded }) => {
                let unit = unit.map(|unit| format!(" {unit}")).unwrap_or_default();
                format!("{}{unit}{}", value.normalize(), if is_rounded { " (rounded)" } else { "" })
            }
            Err(problem) => problem.to_string().split(':').next().unwrap_or_default().to_owned(),
        }
    }

    fn check(rows: &[(&str, &str)]) {
        for (text, expected) in rows {
            assert_eq!(evaluated(text), *expected, "{text}");
        }
    }

    /// R-PLN-54: arithmetic is exact and follows the usual precedence.
    #[test]
    fn arithmetic_is_exact() {
        check(&[
            ("0.1 + 0.2", "0.3"),
            ("(1250 - 399.50) * 3 / 4 = ?", "637.875"),
            ("What is 1 + 2 * 3?", "7"),
            ("2^10", "1024"),
            ("-2^2", "-4"),
            ("(-2)^2", "4"),
            ("2^3^2", "512"),
            ("2^-2", "0.25"),
            ("10 % 3", "1"),
            ("10 mod 3", "1"),
            ("7 × 6 ÷ 2 − 1", "20"),
            ("1,234,567.89 + 0.11", "1234568"),
            ("1.234.567,89 + 0,11", "1234568"),
            ("10 - -3", "13"),
            ("1/3", "0.3333333333333333333333333333 (rounded)"),
            ("2 + 2 euro", "4 EUR"),
            ("€ 20 * 3", "60 EUR"),
            (".5 * 4", "2"),
            ("1,5 + 1,2345", "2.7345"),
            ("1e3 + 1", "1001"),
        ]);
    }

    /// R-PLN-54: percentages in natural language.
    #[test]
    fn percentages_are_calculated() {
        check(&[
            ("What is 17.5% of 1,249.90?", "218.7325"),
            ("17.5 percent of 1,249.90", "218.7325"),
            ("add 19 % to 1380", "1642.2"),
            ("What do I get if I add 19 % to 1,380 euro?", "1642.2 EUR"),
            ("1380 + 19%", "1642.2"),
            ("200 - 10%", "180"),
            ("subtract 10% from 200", "180"),
            ("increase 1380 by 19%", "1642.2"),
            ("reduce 200 by 10 %", "180"),
            ("add 5 to 10", "15"),
            ("subtract 5 from 10", "5"),
            ("50%", "0.5"),
            ("10% of 50% of 200", "10"),
            ("80 * 25%", "20"),
        ]);
    }

    /// R-PLN-54: units are converted with exact factors.
    #[test]
    fn units_are_converted_exactly() {
        check(&[
            ("How many grams are 2.5 lb?", "1133.980925 g"),
            ("convert 12 miles to km", "19.312128 km"),
            ("12 mi in kilometres", "19.312128 km"),
            ("100 °F to °C", "37.777777777777777777777777778 °C (rounded)"),
            ("212 fahrenheit in celsius", "100 °C"),
            ("-40 c to f", "-40 °F"),
            ("0 C to K", "273.15 K"),
            ("1 gallon to l", "3.785411784 l"),
            ("90 min to h", "1.5 h"),
            ("2 weeks in days", "14 d"),
            ("1.5 GB to MB", "1500 MB"),
            ("1 GiB in bytes", "1073741824 B"),
            ("100 mbit to MB", "12.5 MB"),
            ("1 acre to m2", "4046.8564224 m²"),
            ("36 km/h to m/s", "10 m/s"),
            ("60 mph to km/h", "96.56064 km/h"),
            ("(2 + 3) * 2 ft to cm", "304.8 cm"),
            ("how many cm in 1 inch", "2.54 cm"),
            ("5 kg to km", "invalid"),
            ("5 parsnips to km", "invalid"),
        ]);
    }

    /// R-PLN-54: an invalid calculation is an error and not a number.
    #[test]
    fn invalid_calculations_are_errors() {
        let deep = format!("{}1{}", "(".repeat(200), ")".repeat(200));
        let long = "1+".repeat(2_000) + "1";
        for text in [
            "1 / 0",
            "5 % 0",
            "0 ^ -1",
            "",
            "   ",
            "1 +",
            "(1",
            "1)",
            "hello",
            "2 ^ 0.5",
            "9 ^ 99999",
            "79228162514264337593543950335 + 1",
            "79228162514264337593543950336",
            "1 2",
            "1,23,4 + 1",
            "1..2",
            "5 euro + 5 usd",
            "999999999999999 ^ 9",
            "1; DROP TABLE orders",
            deep.as_str(),
            long.as_str(),
        ] {
            assert_eq!(evaluated(text), "invalid", "{text}");
        }
    }
}
