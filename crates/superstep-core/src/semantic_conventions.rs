//! The version of the semantic conventions that the names of span attributes follow.
//!
//! The attributes `gen_ai.*` and `error.type` are those of OpenTelemetry's semantic conventions; attributes of this
//! project are called `superstep.*`. Exporters send the schema URL along, so that a backend can interpret the
//! names.

/// Version of OpenTelemetry's semantic conventions that defines the attribute names.
///
/// The last version that contains the conventions for generative AI together with all others.
pub const VERSION: &str = "1.41.1";

/// Schema URL of this version, as sent by exporters.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_of_the_version() {
        assert_eq!(SCHEMA_URL.rsplit('/').next(), Some(VERSION));
    }
}
