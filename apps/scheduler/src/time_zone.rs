//! Conversion between local times of a time zone and stored instants.
//!
//! Recurrence rules and requests use local times, as in "every Tuesday at five". A local time in a spring gap moves
//! forward by the gap; a local time that occurs twice in autumn is the first one.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};

/// A time zone with its IANA name.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTimeZone {
    name: String,
    rules: TimeZone,
}

impl NamedTimeZone {
    /// Returns the time zone with an IANA name, such as `America/New_York`.
    ///
    /// # Errors
    /// Returns an error if there is no such time zone. The help text suggests the nearest name.
    pub fn from_iana_name(name: &str) -> Result<Self> {
        // `Time` checks the name first, because its error has the better help text.
        let check = Time::from_unix_micros(0).and_then(|time| time.in_zone(name));
        check.map_err(|error| Error::new(ErrorCode::ConfigInvalid, error.to_string()))?;
        let rules = TimeZone::get(name).map_err(|error| Error::new(ErrorCode::ConfigInvalid, error.to_string()))?;
        Ok(Self { name: name.to_owned(), rules })
    }

    /// Returns the IANA name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Converts an instant to local time.
    #[must_use]
    pub fn to_local(&self, time: Time) -> DateTime {
        let instant = jiff::Timestamp::from_microsecond(time.as_unix_micros()).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        self.rules.to_datetime(instant)
    }

    /// Converts a local time to an instant with the offset of the time zone.
    ///
    /// # Errors
    /// Returns an error if the year is outside the supported range.
    pub fn to_instant(&self, local_time: DateTime) -> Result<Time> {
        let out_of_range =
            |_| Error::new(ErrorCode::TypeMismatch, format!("{local_time} is outside of the supported range of years"));
        let instant = self.rules.to_ambiguous_timestamp(local_time).compatible().map_err(out_of_range)?;
        let error = |error: superstep::core::validation_error::ValidationError| {
            Error::new(ErrorCode::TypeMismatch, error.to_string())
        };
        Time::from_unix_micros(instant.as_microsecond()).and_then(|time| time.in_zone(&self.name)).map_err(error)
    }

    /// Converts like [`NamedTimeZone::to_instant`], but to UTC. Half the work, for instants that are only compared.
    #[must_use]
    pub fn to_utc_instant(&self, local_time: DateTime) -> Option<Time> {
        let instant = self.rules.to_ambiguous_timestamp(local_time).compatible().ok()?;
        Time::from_unix_micros(instant.as_microsecond()).ok()
    }

    /// Returns the same instant with the offset of the time zone.
    ///
    /// # Errors
    /// Returns an error if the year is outside the supported range.
    pub fn with_local_offset(&self, time: Time) -> Result<Time> {
        time.in_zone(&self.name).map_err(|error| Error::new(ErrorCode::TypeMismatch, error.to_string()))
    }
}
