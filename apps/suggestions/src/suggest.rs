//! From a post to suggestions: runs the graph, and searches directly where the model fails.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use superstep::model::{ModelInfo, ModelKind};
use superstep::{Code, Compiled, Error, Outcome, Result, Run};

use crate::context::{Context, Report};
use crate::direct::{self, direct};
use crate::planner;
use crate::state::{Suggestions, SuggestionsUpdate};
use crate::types::CombinedSuggestionsResponse;

/// What is suggested, and how it came about.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggested {
    /// The suggestions.
    pub response: CombinedSuggestionsResponse,
    /// Who decided what to search for.
    pub model: ModelInfo,
    /// The same for people: rules are never called a model.
    pub label: String,
    /// What was searched for.
    pub queries: Vec<Query>,
    /// What was let pass but should be known.
    pub warnings: Vec<String>,
    /// Why sources were not available.
    pub reasons: BTreeMap<String, String>,
}

/// One search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Query {
    /// The tool.
    pub tool: String,
    /// What was searched for.
    pub query: String,
    /// How much was found.
    pub found: usize,
}

/// Suggestions for a post.
///
/// # Errors
/// When the post has no text, the context has no tools, or somebody stopped the run. A model or a source that fails is no
/// error: then there is less to suggest.
pub async fn suggest(
    graph: &Compiled<Suggestions, Context>,
    context: &Context,
    text: &str,
    tags: &[String],
) -> Result<Suggested> {
    let asking = Asking::new(context, text, tags)?;
    match asking.run(graph) {
        Some(run) => {
            let result = run.await;
            asking.conclude(result).await
        }
        None => Ok(asking.directly(None).await),
    }
}

/// A post that is asked about, for whoever watches the run on the way.
pub struct Asking {
    context: Context,
    text: String,
    input: SuggestionsUpdate,
}

impl Asking {
    /// Prepares a run.
    ///
    /// # Errors
    /// When the post has no text, or the context no tools.
    pub fn new(context: &Context, text: &str, tags: &[String]) -> Result<Self> {
        let input = Suggestions::open(text, tags, context.language())?;
        context.check()?;
        Ok(Self { context: context.for_one_run(), text: text.trim().to_owned(), input })
    }

    /// The run, to be awaited or streamed; none without a model. Give what comes of it to [`conclude`](Self::conclude).
    #[must_use]
    pub fn run(&self, graph: &Compiled<Suggestions, Context>) -> Option<Run<Suggestions, Context>> {
        self.context.decider()?;
        let run = graph.run(self.input.clone()).context(self.context.clone());
        Some(run.timeout(self.context.bounds().run))
    }

    /// What is suggested after a run. One that failed is followed by a direct search.
    ///
    /// # Errors
    /// As [`suggest`].
    pub async fn conclude(&self, result: Result<Outcome<Suggestions>>) -> Result<Suggested> {
        let error = match result {
            Ok(outcome) => match outcome.state.response.clone() {
                Some(response) => return Ok(self.suggested(response, self.context.report())),
                None => Error::new(Code::OutputInvalid, "the run ended without a response"),
            },
            Err(error) => error,
        };
        match error.code() {
            Code::InputInvalid | Code::MissingContext | Code::Cancelled => Err(error),
            _ => Ok(self.directly(Some(&error)).await),
        }
    }

    /// What is suggested without a model, because there is none or because of this error.
    pub async fn directly(&self, error: Option<&Error>) -> Suggested {
        let (response, mut report) = direct(&self.context, &self.text).await;
        let why = error.map(|error| format!("searched without the model: {}", error.message()));
        report.warnings.splice(0..0, why);
        self.suggested(response, report)
    }

    fn suggested(&self, response: CombinedSuggestionsResponse, report: Report) -> Suggested {
        let Report { queries, warnings, reasons, model } = report;
        let asked = || self.context.decider().map(|model| model.info());
        let model = model.or_else(asked).unwrap_or_else(|| ModelInfo::new("local", "direct", ModelKind::Rules));
        let label = match (model.kind, &*model.provider, &*model.name) {
            (ModelKind::Rules, "local", "rules") => planner::LABEL.to_owned(),
            (ModelKind::Rules, "local", "direct") => direct::LABEL.to_owned(),
            _ => model.to_string(),
        };
        Suggested { response, model, label, queries, warnings, reasons }
    }
}
