//! Points in time in their written form: RFC 3339 with offset, at most microseconds, `Z` for UTC (R-FWK-95).
//!
//! Text without an offset is accepted on input only, as UTC for system times and in a named time zone for event
//! times. Time zone rules are built in. Never reads the clock, the environment or a file of the system.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::fmt::temporal::Pieces;
use jiff::tz::{Offset, TimeZone, TimeZoneDatabase};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::suggest::nearest;
use crate::types::excerpt;
use crate::validation_error::ValidationError;

/// An instant with the UTC offset of its written form.
///
/// Two times are equal, and ordered, by their instant alone: `10:00+02:00` equals `08:00Z`. Digits beyond
/// microseconds are truncated when a time is parsed, so that the written value equals the compared one.
///
/// ```
/// use superstep_core::time::Time;
/// let naive = Time::parse_event("2026-07-01T09:30:00", "Europe/Berlin")?;
/// assert_eq!(naive.to_string(), "2026-07-01T09:30:00+02:00");
/// assert_eq!(naive, Time::parse_system("2026-07-01T07:30:00")?);
/// # Ok::<(), superstep_core::validation_error::ValidationError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Time {
    /// Whole microseconds.
    instant: Timestamp,
    /// Whole minutes, the finest offset that RFC 3339 can express.
    offset: Offset,
}

impl Time {
    /// Parses strict RFC 3339: date, time with seconds, offset; the stored form.
    ///
    /// # Errors
    /// Returns an error if the text is not RFC 3339, has no offset, or names a day or hour that does not exist.
    pub fn parse(text: &str) -> Result<Self, ValidationError> {
        if !is_rfc3339(text) {
            let error = ValidationError::new(format!("`{}` is not an RFC 3339 time with offset", excerpt(text)));
            return Err(error.with_help(FORMAT_HELP));
        }
        parse_in_zone(text, &TimeZone::UTC)
    }

    /// Parses a system time: an offset is kept, text without one is interpreted as UTC.
    ///
    /// # Errors
    /// Returns an error if the text is not a time, has no time of day, or has a time zone name, which RFC 3339
    /// cannot express.
    pub fn parse_system(text: &str) -> Result<Self, ValidationError> {
        parse_in_zone(text, &TimeZone::UTC)
    }

    /// Parses the time of an event: an offset is kept, text without one is interpreted in the IANA time zone
    /// `zone`.
    ///
    /// At clock changes jiff's rule "compatible" decides, which is also that of RFC 5545: a time that is skipped in
    /// spring moves forward by the length of the gap, a time that occurs twice in autumn is the first one.
    ///
    /// # Errors
    /// Returns an error if the time zone is unknown (the help text suggests the nearest name), or as
    /// [`Time::parse_system`] does.
    pub fn parse_event(text: &str, zone: &str) -> Result<Self, ValidationError> {
        parse_in_zone(text, &find_zone(zone)?)
    }

    /// Creates the UTC time `micros` microseconds after the start of 1970.
    ///
    /// # Errors
    /// Returns an error if the year is not within 0000 to 9999.
    pub fn from_unix_micros(micros: i64) -> Result<Self, ValidationError> {
        let instant = Timestamp::from_microsecond(micros).map_err(|_| out_of_range())?;
        Time::new(instant, Offset::UTC)
    }

    /// Returns the microseconds since the start of 1970; the offset is not part of it.
    pub fn as_unix_micros(self) -> i64 {
        self.instant.as_microsecond()
    }

    /// Returns the same instant with the offset of the IANA time zone `zone` at that instant.
    ///
    /// # Errors
    /// Returns an error if the time zone is unknown, or the year there is not within 0000 to 9999.
    pub fn in_zone(self, zone: &str) -> Result<Self, ValidationError> {
        let offset = find_zone(zone)?.to_offset(self.instant);
        Time::new(self.instant, offset)
    }

    fn new(instant: Timestamp, offset: Offset) -> Result<Self, ValidationError> {
        // Local mean times of the nineteenth century have seconds; the instant stays, only the written offset is
        // rounded.
        let minutes = offset.seconds() / 60;
        let offset = Offset::from_seconds(minutes * 60).map_err(|_| out_of_range())?;
        let micros = i64::try_from(instant.as_nanosecond().div_euclid(1_000)).map_err(|_| out_of_range())?;
        let instant = Timestamp::from_microsecond(micros).map_err(|_| out_of_range())?;
        if offset.to_datetime(instant).year() < 0 {
            return Err(out_of_range());
        }
        Ok(Time { instant, offset })
    }
}

const FORMAT_HELP: &str = "use the form `2026-03-01T09:30:00Z` or `2026-03-01T10:30:00+01:00`";

/// The bundled rules and no others, whatever features another crate enables in jiff.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

fn parse_in_zone(text: &str, zone: &TimeZone) -> Result<Time, ValidationError> {
    let invalid = |reason: &str| ValidationError::new(format!("`{}` {reason}", excerpt(text))).with_help(FORMAT_HELP);
    let pieces = Pieces::parse(text).map_err(|_| invalid("is not a valid time"))?;
    if pieces.time_zone_annotation().is_some() {
        return Err(invalid("has a time zone name in brackets, which is not supported"));
    }
    let time_of_day = pieces.time().ok_or_else(|| invalid("is a date without a time of day"))?;
    let civil = pieces.date().to_datetime(time_of_day);
    let (instant, offset) = match pieces.to_numeric_offset() {
        Some(offset) if offset.seconds().abs() >= 24 * 3_600 => return Err(invalid("has an offset of a day or more")),
        Some(offset) => (offset.to_timestamp(civil), offset),
        None => {
            let instant = zone.to_ambiguous_timestamp(civil).compatible();
            let offset = instant.as_ref().map_or(Offset::UTC, |instant| zone.to_offset(*instant));
            (instant, offset)
        }
    };
    Time::new(instant.map_err(|_| out_of_range())?, offset)
}

fn find_zone(name: &str) -> Result<TimeZone, ValidationError> {
    ZONES.get(name).map_err(|_| {
        let error = ValidationError::new(format!("unknown time zone `{}`", excerpt(name)));
        let names: Vec<String> = ZONES.available().map(|zone| zone.to_string()).collect();
        // Users often write the city alone, so the cities are searched too.
        let is_city = |zone: &String| zone.rsplit('/').next().is_some_and(|city| city.eq_ignore_ascii_case(name));
        let city_match = names.iter().find(|zone| is_city(zone)).map(String::as_str);
        match city_match.or_else(|| nearest(name, names.iter().map(String::as_str))) {
            Some(zone) => error.with_help(format!("did you mean `{zone}`?")),
            None => error.with_help("use an IANA name such as `Europe/Berlin` or `UTC`"),
        }
    })
}

fn out_of_range() -> ValidationError {
    ValidationError::new("the time is outside the years 0000 to 9999")
}

/// Returns true if the text has the shape of RFC 3339; the existence of the day is checked later.
fn is_rfc3339(text: &str) -> bool {
    const SHAPE: &[u8] = b"dddd-dd-ddTdd:dd:dd";
    let bytes = text.as_bytes();
    let matches = |shape: &[u8], bytes: &[u8]| {
        shape.len() == bytes.len()
            && shape.iter().zip(bytes).all(|(shape, byte)| match shape {
                b'd' => byte.is_ascii_digit(),
                b'T' => matches!(byte, b'T' | b't' | b' '),
                b's' => matches!(byte, b'+' | b'-'),
                other => byte == other,
            })
    };
    let Some((head, tail)) = bytes.split_at_checked(SHAPE.len()) else { return false };
    let tail = match tail.strip_prefix(b".") {
        Some(fraction) => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            // jiff parses at most nine digits; more would be rejected there with a less clear message.
            if digits == 0 || digits > 9 {
                return false;
            }
            &fraction[digits..]
        }
        None => tail,
    };
    matches(SHAPE, head) && (matches!(tail, b"Z" | b"z") || matches(b"sdd:dd", tail))
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let local = self.offset.to_datetime(self.instant);
        let (date, time) = (local.date(), local.time());
        write!(f, "{:04}-{:02}-{:02}", date.year(), date.month(), date.day())?;
        write!(f, "T{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second())?;
        let micros = time.subsec_nanosecond() / 1_000;
        if micros != 0 {
            write!(f, ".{}", format!("{micros:06}").trim_end_matches('0'))?;
        }
        if self.offset == Offset::UTC {
            return f.write_str("Z");
        }
        let minutes = self.offset.seconds() / 60;
        let sign = if minutes < 0 { '-' } else { '+' };
        write!(f, "{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for Time {
    fn eq(&self, other: &Self) -> bool {
        self.instant == other.instant
    }
}

impl Eq for Time {}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> Ordering {
        self.instant.cmp(&other.instant)
    }
}

impl Hash for Time {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.instant.hash(state);
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Parses like [`Time::parse_system`]: serialized times have an offset, external ones may have none.
impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Time::parse_system(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(time: Result<Time, ValidationError>) -> Result<String, String> {
        time.map(|time| time.to_string()).map_err(|error| error.message)
    }

    /// R-FWK-95: written with offset, at most microseconds, `Z` for UTC; a system time without offset is UTC.
    #[test]
    fn a_system_time_keeps_its_offset_and_is_utc_without_one() {
        let rows = [
            ("2026-03-01T09:30:00Z", "2026-03-01T09:30:00Z"),
            ("2026-03-01T09:30:00z", "2026-03-01T09:30:00Z"),
            ("2026-03-01T09:30:00", "2026-03-01T09:30:00Z"),
            ("2026-03-01 09:30:00", "2026-03-01T09:30:00Z"),
            ("2026-03-01T09:30", "2026-03-01T09:30:00Z"),
            // Python's `utcnow().isoformat()`, as the original application writes it.
            ("2026-03-01T09:30:00.120300", "2026-03-01T09:30:00.1203Z"),
            ("2026-03-01T09:30:00.000000", "2026-03-01T09:30:00Z"),
            ("2026-03-01T09:30:00.123456789Z", "2026-03-01T09:30:00.123456Z"),
            ("1969-12-31T23:59:59.9999999Z", "1969-12-31T23:59:59.999999Z"),
            ("2026-03-01T09:30:00+00:00", "2026-03-01T09:30:00Z"),
            ("2026-03-01T09:30:00-00:00", "2026-03-01T09:30:00Z"),
            ("2026-03-01T09:30:00+05:30", "2026-03-01T09:30:00+05:30"),
            ("2026-03-01T09:30:00-00:30", "2026-03-01T09:30:00-00:30"),
            ("2026-03-01T09:30:00-03:30", "2026-03-01T09:30:00-03:30"),
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
        ];
        for (text, expected) in rows {
            assert_eq!(written(Time::parse_system(text)), Ok(expected.into()), "{text}");
            let reparsed = written(Time::parse(expected));
            assert_eq!(reparsed, Ok(expected.into()), "the written form is the strict form");
        }
    }

    /// R-FWK-95: text that is not a time is rejected, and the error names the text.
    #[test]
    fn text_that_is_not_a_time_is_rejected() {
        let rows = [
            ("", "`` is not a valid time"),
            ("tomorrow", "`tomorrow` is not a valid time"),
            ("2026-02-30T09:30:00Z", "`2026-02-30T09:30:00Z` is not a valid time"),
            ("2026-03-01T25:00:00Z", "`2026-03-01T25:00:00Z` is not a valid time"),
            ("2026-03-01", "`2026-03-01` is a date without a time of day"),
            ("2026-03-01T09:30:00+25:00", "`2026-03-01T09:30:00+25:00` has an offset of a day or more"),
            (
                "2026-03-01T09:30:00+01:00[Europe/Berlin]",
                "`2026-03-01T09:30:00+01:00[Europe/Berlin]` has a time zone name in brackets, which is not supported",
            ),
            ("9999-12-31T23:59:59Z", "the time is outside the years 0000 to 9999"),
            ("-000001-01-01T00:00:00Z", "the time is outside the years 0000 to 9999"),
        ];
        for (text, expected) in rows {
            assert_eq!(written(Time::parse_system(text)), Err(expected.into()), "{text}");
        }
    }

    /// R-FWK-95: stored times always have an offset, so the strict form rejects text without one.
    #[test]
    fn the_strict_form_is_rfc_3339_and_nothing_else() {
        let rejected = [
            "2026-03-01T09:30:00",
            "2026-03-01T09:30Z",
            "2026-03-01T09:30:00+0100",
            "2026-03-01T09:30:00+01",
            "2026-03-01T09:30:00.Z",
            "2026-03-01T09:30:00.1234567890Z",
            "20260301T093000Z",
            "2026-03-01T09:30:00Zürich",
            "ü",
        ];
        for text in rejected {
            let error = Time::parse(text).expect_err(text);
            assert_eq!(error.message, format!("`{text}` is not an RFC 3339 time with offset"));
            assert!(error.help.is_some());
        }
    }

    /// R-FWK-95: an event time without offset is interpreted in the family's time zone, by built-in rules, also at
    /// clock changes.
    #[test]
    fn an_event_time_without_offset_is_read_in_its_zone() {
        let rows = [
            ("2026-01-15T10:00:00", "Europe/Berlin", "2026-01-15T10:00:00+01:00"),
            ("2026-07-15T10:00:00", "Europe/Berlin", "2026-07-15T10:00:00+02:00"),
            ("2026-07-15T10:00:00", "europe/berlin", "2026-07-15T10:00:00+02:00"),
            ("2026-07-15T10:00:00", "America/New_York", "2026-07-15T10:00:00-04:00"),
            ("2026-07-15T10:00:00", "Asia/Kathmandu", "2026-07-15T10:00:00+05:45"),
            ("2026-07-15T10:00:00", "UTC", "2026-07-15T10:00:00Z"),
            // An offset in the text wins over the time zone.
            ("2026-07-15T10:00:00-07:00", "Europe/Berlin", "2026-07-15T10:00:00-07:00"),
            // 02:00 to 03:00 does not exist on this day: moved forward by the gap.
            ("2026-03-29T02:30:00", "Europe/Berlin", "2026-03-29T03:30:00+02:00"),
            // 02:00 to 03:00 occurs twice on this day: the first one.
            ("2026-10-25T02:30:00", "Europe/Berlin", "2026-10-25T02:30:00+02:00"),
            // Local mean time was 53 minutes and 28 seconds ahead; the instant is kept, the offset written in
            // minutes.
            ("1850-01-01T12:00:00", "Europe/Berlin", "1850-01-01T11:59:32+00:53"),
        ];
        for (text, zone, expected) in rows {
            assert_eq!(written(Time::parse_event(text, zone)), Ok(expected.into()), "{text} {zone}");
        }
    }

    /// R-FWK-95: time zone names are IANA; another name is rejected with the nearest one.
    #[test]
    fn an_unknown_zone_is_rejected_with_the_nearest_name() {
        let rows = [
            ("Europe/Berln", Some("did you mean `Europe/Berlin`?")),
            ("Berlin", Some("did you mean `Europe/Berlin`?")),
            ("America/NewYork", Some("did you mean `America/New_York`?")),
            ("", Some("use an IANA name such as `Europe/Berlin` or `UTC`")),
        ];
        for (zone, help) in rows {
            let error = Time::parse_event("2026-07-15T10:00:00Z", zone).expect_err("unknown");
            assert_eq!((error.message, error.help.as_deref()), (format!("unknown time zone `{zone}`"), help));
        }
    }

    #[test]
    fn times_compare_by_instant_and_not_by_text() {
        let parse = |text| Time::parse(text).expect("a time");
        let berlin = parse("2026-07-01T10:00:00+02:00");
        assert_eq!(berlin, parse("2026-07-01T08:00:00Z"));
        assert!(berlin < parse("2026-07-01T09:00:00Z"));
        assert_eq!(berlin.as_unix_micros(), 1_782_892_800_000_000);
        assert_eq!(berlin.in_zone("UTC").expect("a known name").to_string(), "2026-07-01T08:00:00Z");
        assert!(berlin.in_zone("Nowhere/Atall").is_err());
        assert!(Time::from_unix_micros(i64::MAX).is_err());
    }

    /// R-FWK-50: a time survives JSON, and text without offset is interpreted as UTC there.
    #[test]
    fn a_time_is_text_in_json() {
        let time: Time = serde_json::from_str("\"2026-03-01T09:30:00.5\"").expect("a time");
        assert_eq!(serde_json::to_string(&time).expect("text"), "\"2026-03-01T09:30:00.5Z\"");
        assert!(serde_json::from_str::<Time>("\"soon\"").is_err());
        assert!(serde_json::from_str::<Time>("17").is_err());
    }

    proptest! {
        /// R-FWK-50, R-FWK-95: any time, in any time zone's offset, is parsed back from its text without loss.
        #[test]
        fn every_time_survives_its_own_text(
            micros in -62_000_000_000_000_000i64..253_000_000_000_000_000,
            zone in prop::sample::select(vec!["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia"]),
        ) {
            let time = Time::from_unix_micros(micros)?.in_zone(zone)?;
            let text = time.to_string();
            let reparsed = Time::parse(&text)?;
            prop_assert_eq!(reparsed.as_unix_micros(), micros);
            prop_assert_eq!(reparsed.to_string(), text);
        }

        #[test]
        fn no_text_makes_a_time_panic(text in "\\PC{0,40}|[0-9TZ:.+-]{0,30}") {
            let _ = (Time::parse(&text), Time::parse_system(&text), Time::parse_event(&text, &text));
        }
    }
}
