//! Evaluation on the sample: counts questions whose expected document is among the first three hits, with and
//! without query expansion.

use serde::Serialize;
use superstep::Result;

use crate::sample::{self, EvalQuestion};
use crate::sources::{SourceUnavailable, Sources, encoded, fuse};
use crate::types::McpSuggestion;

/// Number of hits that are checked for an expected document.
const MAX_CHECKED_HITS: usize = 3;

/// Result of an evaluation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchEvalScore {
    /// Number of questions with an expected document among the first three hits.
    #[serde(rename = "right")]
    pub correct: usize,
    /// Total number of questions.
    #[serde(rename = "of")]
    pub total: usize,
    /// Same count as `correct`, but with the unexpanded question as the query.
    #[serde(rename = "plainRight")]
    pub baseline_correct: usize,
    /// Number of questions whose document ranks higher with expansion than without.
    #[serde(rename = "betterThanPlain")]
    pub improved: usize,
    /// Number of questions whose document ranks lower with expansion than without.
    #[serde(rename = "worseThanPlain")]
    pub regressed: usize,
    /// One row per question.
    pub rows: Vec<SearchEvalRow>,
}

/// Result of one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SearchEvalRow {
    /// Id of the question.
    pub id: String,
    /// Text of the question.
    pub question: String,
    /// Paths of the expected documents. Any of them counts as correct.
    pub expected: Vec<String>,
    /// Queries after expansion.
    pub queries: Vec<String>,
    /// Rank of the first expected document, starting at 1. `None` if it is not among the first three.
    #[serde(rename = "place")]
    pub rank: Option<usize>,
    /// Same rank, but for the unexpanded question.
    #[serde(rename = "plainPlace")]
    pub unexpanded_rank: Option<usize>,
    /// Documents that were found, best first.
    #[serde(rename = "found")]
    pub urls: Vec<String>,
}

/// Evaluates the questions of the sample.
///
/// # Errors
/// Returns an error if the documents cannot be searched.
pub async fn eval(sources: &Sources) -> Result<SearchEvalScore> {
    eval_with(sources, &sample::questions()?).await
}

/// Evaluates a custom list of questions.
///
/// # Errors
/// Returns an error if the documents cannot be searched.
pub async fn eval_with(sources: &Sources, questions: &[EvalQuestion]) -> Result<SearchEvalScore> {
    let mut score = SearchEvalScore { total: questions.len(), ..SearchEvalScore::default() };
    for question in questions {
        let row = row(sources, question).await.map_err(|unavailable| {
            superstep::Error::new(superstep::ErrorCode::ConfigInvalid, unavailable.to_string())
        })?;
        let rank = |position: Option<usize>| position.unwrap_or(usize::MAX);
        score.correct += usize::from(row.rank.is_some());
        score.baseline_correct += usize::from(row.unexpanded_rank.is_some());
        score.improved += usize::from(rank(row.rank) < rank(row.unexpanded_rank));
        score.regressed += usize::from(rank(row.rank) > rank(row.unexpanded_rank));
        score.rows.push(row);
    }
    Ok(score)
}

async fn row(sources: &Sources, question: &EvalQuestion) -> Result<SearchEvalRow, SourceUnavailable> {
    let plain = sources.search_docs(&question.question).await?;
    let queries = sources.queries(&question.question).await?;
    let mut lists = Vec::new();
    for query in &queries {
        lists.push(sources.search_docs(query).await?);
    }
    let mut fused = fuse(lists);
    fused.truncate(MAX_CHECKED_HITS);
    Ok(SearchEvalRow {
        id: question.id.clone(),
        question: question.question.clone(),
        expected: question.expected.clone(),
        queries,
        rank: find_rank(&fused, &question.expected),
        unexpanded_rank: find_rank(&plain, &question.expected),
        urls: fused.into_iter().map(|suggestion| suggestion.url).collect(),
    })
}

fn find_rank(suggestions: &[McpSuggestion], expected: &[String]) -> Option<usize> {
    let is_expected = |suggestion: &McpSuggestion| {
        let document = suggestion.url.split_once('#').map_or(suggestion.url.as_str(), |(document, _)| document);
        let mut expected = expected.iter().map(|path| encoded(path));
        expected.any(|path| document == path || document.ends_with(&format!("/{path}")))
    };
    suggestions.iter().take(MAX_CHECKED_HITS).position(is_expected).map(|index| index + 1)
}
