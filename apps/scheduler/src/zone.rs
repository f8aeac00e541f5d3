//! Between the time on a family's wall and the instants that are stored.
//!
//! Rules and words speak of wall times: "every Tuesday at five". A wall time that clocks skip in spring moves forward by
//! the gap, one that happens twice in autumn is the first.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use superstep::core::time::Time;
use superstep::{Code, Error, Result};

/// The rules of one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Zone {
    name: String,
    rules: TimeZone,
}

impl Zone {
    /// The zone with an IANA name, such as `America/New_York`.
    ///
    /// # Errors
    /// When there is none of that name; the advice names the nearest.
    pub fn named(name: &str) -> Result<Self> {
        // `Time` has the check with the better advice.
        let check = Time::from_unix_micros(0).and_then(|time| time.in_zone(name));
        check.map_err(|fault| Error::new(Code::ConfigInvalid, fault.to_string()))?;
        let rules = TimeZone::get(name).map_err(|error| Error::new(Code::ConfigInvalid, error.to_string()))?;
        Ok(Self { name: name.to_owned(), rules })
    }

    /// Its IANA name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the clock on the wall shows.
    #[must_use]
    pub fn wall(&self, time: Time) -> DateTime {
        let instant = jiff::Timestamp::from_microsecond(time.as_unix_micros()).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        self.rules.to_datetime(instant)
    }

    /// When the clock on the wall shows this, written with the offset of the place.
    ///
    /// # Errors
    /// When the year is beyond what can be written.
    pub fn instant(&self, wall: DateTime) -> Result<Time> {
        let out = |_| Error::new(Code::TypeMismatch, format!("{wall} is beyond the years that can be written"));
        let instant = self.rules.to_ambiguous_timestamp(wall).compatible().map_err(out)?;
        let fault = |fault: superstep::core::fault::Fault| Error::new(Code::TypeMismatch, fault.to_string());
        Time::from_unix_micros(instant.as_microsecond()).and_then(|time| time.in_zone(&self.name)).map_err(fault)
    }

    /// As [`Zone::instant`], but written in UTC: half the work, for where many moments are only compared.
    #[must_use]
    pub fn moment(&self, wall: DateTime) -> Option<Time> {
        let instant = self.rules.to_ambiguous_timestamp(wall).compatible().ok()?;
        Time::from_unix_micros(instant.as_microsecond()).ok()
    }

    /// The same instant, written with the offset of the place.
    ///
    /// # Errors
    /// When the year is beyond what can be written.
    pub fn written(&self, time: Time) -> Result<Time> {
        time.in_zone(&self.name).map_err(|fault| Error::new(Code::TypeMismatch, fault.to_string()))
    }
}
