//! Runs the graph for a post, and falls back to the search without a model if the run fails.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use superstep::models::{ModelInfo, ModelKind};
use superstep::{CompiledGraph, Error, ErrorCode, Outcome, Result, RunBuilder};

use crate::context::{RunReport, SuggestionsContext};
use crate::direct_search::{self, search_directly};
use crate::planner;
use crate::state::{SuggestionsState, SuggestionsStateUpdate};
use crate::types::CombinedSuggestionsResponse;

/// Suggestions for a post, with metadata of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct SuggestionResult {
    /// Suggestions.
    pub response: CombinedSuggestionsResponse,
    /// Model that chose the searches.
    pub model: ModelInfo,
    /// Label of the model for user interfaces. Rules are never labelled as a language model.
    pub label: String,
    /// Executed searches.
    pub queries: Vec<ExecutedQuery>,
    /// Warnings that did not prevent a response.
    pub warnings: Vec<String>,
    /// Reasons why sources were unavailable, by source.
    pub unavailable_reasons: BTreeMap<String, String>,
}

/// One executed search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExecutedQuery {
    /// Name of the tool.
    pub tool: String,
    /// Text of the query.
    pub query: String,
    /// Number of results.
    #[serde(rename = "found")]
    pub result_count: usize,
}

/// Returns suggestions for a post.
///
/// # Errors
/// Returns an error if the post has no text, the context has no tools, or the run is cancelled. A failing model or
/// source is not an error and only reduces the suggestions.
pub async fn suggest(
    graph: &CompiledGraph<SuggestionsState, SuggestionsContext>,
    context: &SuggestionsContext,
    text: &str,
    tags: &[String],
) -> Result<SuggestionResult> {
    let suggestion_run = SuggestionRun::new(context, text, tags)?;
    match suggestion_run.run(graph) {
        Some(run) => {
            let result = run.await;
            suggestion_run.finish(result).await
        }
        None => Ok(suggestion_run.search_without_model(None).await),
    }
}

/// A prepared suggestion run, for callers that stream its events.
pub struct SuggestionRun {
    context: SuggestionsContext,
    text: String,
    input: SuggestionsStateUpdate,
}

impl SuggestionRun {
    /// Prepares a run.
    ///
    /// # Errors
    /// Returns an error if the post has no text or the context has no tools.
    pub fn new(context: &SuggestionsContext, text: &str, tags: &[String]) -> Result<Self> {
        let input = SuggestionsState::initial_state(text, tags, context.language())?;
        context.check()?;
        Ok(Self { context: context.with_fresh_report(), text: text.trim().to_owned(), input })
    }

    /// Returns the run, to be awaited or streamed, or `None` if the context has no model. Pass its result to
    /// [`finish`](Self::finish).
    #[must_use]
    pub fn run(
        &self,
        graph: &CompiledGraph<SuggestionsState, SuggestionsContext>,
    ) -> Option<RunBuilder<SuggestionsState, SuggestionsContext>> {
        self.context.planner_model()?;
        let run = graph.invoke(self.input.clone()).context(self.context.clone());
        Some(run.timeout(self.context.run_timeouts().run))
    }

    /// Converts the result of a run into suggestions. After a failed run, searches without the model.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`suggest`].
    pub async fn finish(&self, result: Result<Outcome<SuggestionsState>>) -> Result<SuggestionResult> {
        let error = match result {
            Ok(outcome) => match outcome.state.response.clone() {
                Some(response) => return Ok(self.suggested(response, self.context.report())),
                None => Error::new(ErrorCode::OutputInvalid, "the run ended without a response"),
            },
            Err(error) => error,
        };
        match error.code() {
            ErrorCode::InputInvalid | ErrorCode::MissingContext | ErrorCode::Cancelled => Err(error),
            _ => Ok(self.search_without_model(Some(&error)).await),
        }
    }

    /// Searches without a model. If the fallback has a cause, the error is added to the warnings.
    pub async fn search_without_model(&self, error: Option<&Error>) -> SuggestionResult {
        let (response, mut report) = search_directly(&self.context, &self.text).await;
        let warning = error.map(|error| format!("searched without a model: {}", error.message()));
        report.warnings.splice(0..0, warning);
        self.suggested(response, report)
    }

    fn suggested(&self, response: CombinedSuggestionsResponse, report: RunReport) -> SuggestionResult {
        let RunReport { queries, warnings, unavailable_reasons: reasons, model } = report;
        let planner_info = || self.context.planner_model().map(|model| model.info());
        let model = model.or_else(planner_info).unwrap_or_else(|| ModelInfo::new("local", "direct", ModelKind::Rules));
        let label = match (model.kind, &*model.provider, &*model.name) {
            (ModelKind::Rules, "local", "rules") => planner::LABEL.to_owned(),
            (ModelKind::Rules, "local", "direct") => direct_search::LABEL.to_owned(),
            _ => model.to_string(),
        };
        SuggestionResult { response, model, label, queries, warnings, unavailable_reasons: reasons }
    }
}
