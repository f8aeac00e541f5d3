//! Arguments of the scheduler: the demo, and a family file that replaces the sample.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

/// Options of the family scheduler.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FamilyArgs {
    /// JSON file with family, members, calendars, resources and rules; default: a sample family
    #[arg(long, value_name = "FILE", env = "SUPERSTEP_FAMILY", hide_short_help = true)]
    pub(crate) family: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DemoScheduler {
    /// Request to the scheduler
    #[arg(long = "say", value_name = "TEXT", default_value = "When is everyone free this weekend?",
          value_parser = NonEmptyStringValueParser::new())]
    pub(crate) message: String,
    /// User id of the request; the sample has mom, dad and emma
    #[arg(long, default_value = "mom")]
    pub(crate) user: String,
    /// Model that parses the request: local (only rules), a model of superstep.toml, or one such as
    /// groq/llama-3.1-8b-instant
    #[arg(long, default_value = "local")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) family: FamilyArgs,
}
