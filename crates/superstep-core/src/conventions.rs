//! Which names spans have outside of this program: the published conventions they follow, and of which version.
//!
//! The attributes `gen_ai.*` and `error.type` are those of OpenTelemetry's semantic conventions; everything of ours is
//! called `superstep.*`. Said once, here: an exporter sends the address along, so that a reader knows what it reads.

/// The version of OpenTelemetry's semantic conventions that the names of attributes are from.
///
/// The last one that has the conventions for generative AI among all others.
pub const VERSION: &str = "1.41.1";

/// Where this version is described, as exporters say it.
pub const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_of_the_version() {
        assert_eq!(SCHEMA_URL.rsplit('/').next(), Some(VERSION));
    }
}
