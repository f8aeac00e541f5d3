//! Units with exact factors, for conversions within a dimension.

use rust_decimal::Decimal;
use superstep::ToolError;
use superstep::core::suggest::nearest;

use super::arithmetic::Arithmetic;
use crate::tools::error::invalid;

/// Dimension of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dimension {
    Length,
    Mass,
    Temperature,
    Volume,
    Time,
    Data,
    Area,
    Speed,
}

/// A unit: symbol, names in lower case, and factor to the base unit as a fraction.
struct Unit {
    kind: Dimension,
    symbol: &'static str,
    names: &'static [&'static str],
    factor: (&'static str, u32),
}

const fn unit(kind: Dimension, symbol: &'static str, names: &'static [&'static str], factor: &'static str) -> Unit {
    Unit { kind, symbol, names, factor: (factor, 1) }
}

/// Converts a value to another unit and returns the symbol of that unit.
pub(super) fn convert(
    value: Decimal,
    unit: &str,
    target: &str,
    arithmetic: &mut Arithmetic,
) -> Result<(Decimal, &'static str), ToolError> {
    let (from, to) = (find(unit)?, find(target)?);
    if from.kind != to.kind {
        let (from, to) = (format!("{:?}", from.kind).to_lowercase(), format!("{:?}", to.kind).to_lowercase());
        return Err(invalid(format_args!("`{unit}` is a unit of {from} and `{target}` one of {to}")));
    }
    if from.kind == Dimension::Temperature {
        return Ok((temperature(value, from.symbol, to.symbol, arithmetic)?, to.symbol));
    }
    let numerator = arithmetic.multiply(value, from.factor_numerator()?)?;
    let numerator = arithmetic.multiply(numerator, Decimal::from(to.factor.1))?;
    let denominator = arithmetic.multiply(to.factor_numerator()?, Decimal::from(from.factor.1))?;
    Ok((arithmetic.divide(numerator, denominator)?, to.symbol))
}

impl Unit {
    fn factor_numerator(&self) -> Result<Decimal, ToolError> {
        Decimal::from_str_exact(self.factor.0).map_err(invalid)
    }
}

fn find(name: &str) -> Result<&'static Unit, ToolError> {
    let lower = name.to_lowercase();
    let lower = lower.strip_prefix('°').unwrap_or(&lower);
    let is_match =
        |unit: &&Unit| unit.symbol == name || unit.symbol.to_lowercase() == lower || unit.names.contains(&lower);
    // Exact symbols take precedence: `Mb` and `MB` are often confused, but `MB` is unambiguous.
    let exact = UNITS.iter().find(|unit| unit.symbol == name);
    exact.or_else(|| UNITS.iter().find(is_match)).ok_or_else(|| {
        let near = nearest(lower, UNITS.iter().flat_map(|unit| unit.names.iter().copied()));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        invalid(format_args!("I do not know the unit `{name}`{near}"))
    })
}

/// Converts temperatures, whose scales have different zero points.
fn temperature(value: Decimal, from: &str, to: &str, arithmetic: &mut Arithmetic) -> Result<Decimal, ToolError> {
    let (zero, freezing) = (Decimal::new(27_315, 2), Decimal::from(32));
    let (five, nine) = (Decimal::from(5), Decimal::from(9));
    if from == to {
        return Ok(value);
    }
    let celsius = match from {
        "K" => arithmetic.subtract(value, zero)?,
        "°F" => {
            let above_freezing = arithmetic.subtract(value, freezing)?;
            let fifths = arithmetic.multiply(above_freezing, five)?;
            arithmetic.divide(fifths, nine)?
        }
        _ => value,
    };
    match to {
        "K" => arithmetic.add(celsius, zero),
        "°F" => {
            let ninths = arithmetic.multiply(celsius, nine)?;
            let above_freezing = arithmetic.divide(ninths, five)?;
            arithmetic.add(above_freezing, freezing)
        }
        _ => Ok(celsius),
    }
}

use Dimension::{Area, Data, Length, Mass, Speed, Temperature, Time, Volume};

static UNITS: &[Unit] = &[
    unit(Length, "mm", &["millimetre", "millimetres", "millimeter", "millimeters"], "0.001"),
    unit(Length, "cm", &["centimetre", "centimetres", "centimeter", "centimeters"], "0.01"),
    unit(Length, "m", &["metre", "metres", "meter", "meters"], "1"),
    unit(Length, "km", &["kilometre", "kilometres", "kilometer", "kilometers"], "1000"),
    unit(Length, "in", &["inch", "inches"], "0.0254"),
    unit(Length, "ft", &["foot", "feet"], "0.3048"),
    unit(Length, "yd", &["yard", "yards"], "0.9144"),
    unit(Length, "mi", &["mile", "miles"], "1609.344"),
    unit(Length, "nmi", &["sm"], "1852"),
    unit(Mass, "mg", &["milligram", "milligrams"], "0.001"),
    unit(Mass, "g", &["gram", "grams", "gramme", "grammes"], "1"),
    unit(Mass, "kg", &["kilogram", "kilograms", "kilo", "kilos"], "1000"),
    unit(Mass, "t", &["tonne", "tonnes"], "1000000"),
    unit(Mass, "oz", &["ounce", "ounces"], "28.349523125"),
    unit(Mass, "lb", &["lbs", "pound", "pounds"], "453.59237"),
    unit(Mass, "st", &["stone", "stones"], "6350.29318"),
    unit(Temperature, "°C", &["c", "celsius", "centigrade"], "1"),
    unit(Temperature, "°F", &["f", "fahrenheit"], "1"),
    unit(Temperature, "K", &["kelvin"], "1"),
    unit(Volume, "ml", &["millilitre", "millilitres", "milliliter", "milliliters"], "0.001"),
    unit(Volume, "cl", &["centilitre", "centilitres", "centiliter", "centiliters"], "0.01"),
    unit(Volume, "dl", &["decilitre", "decilitres", "deciliter", "deciliters"], "0.1"),
    unit(Volume, "l", &["litre", "litres", "liter", "liters"], "1"),
    unit(Volume, "cm³", &["cm3", "ccm"], "0.001"),
    unit(Volume, "m³", &["m3", "cbm"], "1000"),
    unit(Volume, "tsp", &["teaspoon", "teaspoons"], "0.00492892159375"),
    unit(Volume, "tbsp", &["tablespoon", "tablespoons"], "0.01478676478125"),
    unit(Volume, "floz", &["fl_oz"], "0.0295735295625"),
    unit(Volume, "cup", &["cups"], "0.2365882365"),
    unit(Volume, "pt", &["pint", "pints"], "0.473176473"),
    unit(Volume, "qt", &["quart", "quarts"], "0.946352946"),
    unit(Volume, "gal", &["gallon", "gallons"], "3.785411784"),
    unit(Time, "ms", &["millisecond", "milliseconds"], "0.001"),
    unit(Time, "s", &["sec", "second", "seconds"], "1"),
    unit(Time, "min", &["minute", "minutes"], "60"),
    unit(Time, "h", &["hr", "hrs", "hour", "hours"], "3600"),
    unit(Time, "d", &["day", "days"], "86400"),
    unit(Time, "wk", &["week", "weeks"], "604800"),
    unit(Data, "bit", &["bits"], "0.125"),
    unit(Data, "kbit", &["kilobit", "kilobits"], "125"),
    unit(Data, "Mbit", &["megabit", "megabits"], "125000"),
    unit(Data, "Gbit", &["gigabit", "gigabits"], "125000000"),
    unit(Data, "B", &["byte", "bytes"], "1"),
    unit(Data, "kB", &["kilobyte", "kilobytes"], "1000"),
    unit(Data, "MB", &["megabyte", "megabytes"], "1000000"),
    unit(Data, "GB", &["gigabyte", "gigabytes"], "1000000000"),
    unit(Data, "TB", &["terabyte", "terabytes"], "1000000000000"),
    unit(Data, "PB", &["petabyte", "petabytes"], "1000000000000000"),
    unit(Data, "KiB", &["kibibyte", "kibibytes"], "1024"),
    unit(Data, "MiB", &["mebibyte", "mebibytes"], "1048576"),
    unit(Data, "GiB", &["gibibyte", "gibibytes"], "1073741824"),
    unit(Data, "TiB", &["tebibyte", "tebibytes"], "1099511627776"),
    unit(Area, "mm²", &["mm2", "sqmm"], "0.000001"),
    unit(Area, "cm²", &["cm2", "sqcm"], "0.0001"),
    unit(Area, "m²", &["m2", "sqm", "qm"], "1"),
    unit(Area, "km²", &["km2", "sqkm"], "1000000"),
    unit(Area, "a", &["are", "ares"], "100"),
    unit(Area, "ha", &["hectare", "hectares"], "10000"),
    unit(Area, "in²", &["in2", "sqin"], "0.00064516"),
    unit(Area, "ft²", &["ft2", "sqft"], "0.09290304"),
    unit(Area, "yd²", &["yd2", "sqyd"], "0.83612736"),
    unit(Area, "ac", &["acre", "acres"], "4046.8564224"),
    unit(Area, "mi²", &["mi2", "sqmi"], "2589988.110336"),
    unit(Speed, "m/s", &["mps"], "1"),
    Unit { kind: Speed, symbol: "km/h", names: &["kmh", "kph"], factor: ("1000", 3_600) },
    unit(Speed, "mph", &["mi/h"], "0.44704"),
    unit(Speed, "ft/s", &["fps"], "0.3048"),
    Unit { kind: Speed, symbol: "kn", names: &["knot", "knots", "kt"], factor: ("1852", 3_600) },
];
