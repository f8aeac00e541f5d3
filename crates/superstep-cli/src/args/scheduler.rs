//! Arguments of the scheduler: the demo, and a family of one's own in place of the sample.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

/// Whose calendar it is.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FamilyArgs {
    /// Family of the scheduler, JSON with family, members, calendars, resources and rules; a sample unless told
    #[arg(long, value_name = "FILE", env = "SUPERSTEP_FAMILY", hide_short_help = true)]
    pub(crate) family: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DemoScheduler {
    /// What is said
    #[arg(long, value_name = "TEXT", default_value = "When is everyone free this weekend?",
          value_parser = NonEmptyStringValueParser::new())]
    pub(crate) say: String,
    /// Who says it; the sample knows mom, dad and emma
    #[arg(long, default_value = "mom")]
    pub(crate) user: String,
    /// Who reads it: local (rules), or beside them a model of superstep.toml, or one such as groq/llama-3.1-8b-instant
    #[arg(long, default_value = "local")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) household: FamilyArgs,
}
