//! Evaluation on the sample: counts questions whose expected document is among the first three hits, with and
//! without query expansion.

use serde::Serialize;
use superstep::Result;

use crate::sample::{self, EvalQuestion};
use crate::sources::{SourceUnavailable, Sources, encoded, fuse};
use crate::types::McpSuggestion;

/// Number of hits that are checked for an expected document.
const FIRST: usize = 3;

/// Result of an evaluation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EvalScore {
    /// Number of questions with an expected document among the first three hits.
    pub right: usize,
    /// Total number of questions.
    #[serde(rename = "of")]
    pub total: usize,
    /// Same count as `right`, with the unexpanded question as the query.
    pub plain_right: usize,
    /// Number of questions whose document ranks higher with expansion than without.
    pub better_than_plain: usize,
    /// Number of questions whose document ranks lower with expansion than without.
    pub worse_than_plain: usize,
    /// One row per question.
    pub rows: Vec<EvalRow>,
}

/// Result of one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EvalRow {
    /// Id of the question.
    pub id: String,
    /// Text of the question.
    pub question: String,
    /// Paths of the expected documents. Any of them counts as right.
    pub expected: Vec<String>,
    /// Queries after expansion.
    pub queries: Vec<String>,
    /// Rank of the first expected document, starting at 1. `None` if it is not among the first three.
    #[serde(rename = "place")]
    pub rank: Option<usize>,
    /// Same rank for the unexpanded question.
    #[serde(rename = "plainPlace")]
    pub unexpanded_rank: Option<usize>,
    /// Documents that were found, best first.
    pub found: Vec<String>,
}

/// Evaluates the questions of the sample.
///
/// # Errors
/// Returns an error if the documents cannot be searched.
pub async fn eval(sources: &Sources) -> Result<EvalScore> {
    eval_with(sources, &sample::questions()?).await
}

/// Evaluates a custom list of questions.
///
/// # Errors
/// Returns an error if the documents cannot be searched.
pub async fn eval_with(sources: &Sources, questions: &[EvalQuestion]) -> Result<EvalScore> {
    let mut score = EvalScore { total: questions.len(), ..EvalScore::default() };
    for question in questions {
        let row = row(sources, question).await.map_err(|unavailable| {
            superstep::Error::new(superstep::ErrorCode::ConfigInvalid, unavailable.to_string())
        })?;
        let rank = |place: Option<usize>| place.unwrap_or(usize::MAX);
        score.right += usize::from(row.rank.is_some());
        score.plain_right += usize::from(row.unexpanded_rank.is_some());
        score.better_than_plain += usize::from(rank(row.rank) < rank(row.unexpanded_rank));
        score.worse_than_plain += usize::from(rank(row.rank) > rank(row.unexpanded_rank));
        score.rows.push(row);
    }
    Ok(score)
}

async fn row(sources: &Sources, question: &EvalQuestion) -> Result<EvalRow, SourceUnavailable> {
    let plain = sources.search_docs(&question.question).await?;
    let queries = sources.queries(&question.question).await?;
    let mut lists = Vec::new();
    for query in &queries {
        lists.push(sources.search_docs(query).await?);
    }
    let mut found = fuse(lists);
    found.truncate(FIRST);
    Ok(EvalRow {
        id: question.id.clone(),
        question: question.question.clone(),
        expected: question.expected.clone(),
        queries,
        rank: place(&found, &question.expected),
        unexpanded_rank: place(&plain, &question.expected),
        found: found.into_iter().map(|found| found.url).collect(),
    })
}

fn place(found: &[McpSuggestion], expected: &[String]) -> Option<usize> {
    let is_right = |found: &McpSuggestion| {
        let document = found.url.split_once('#').map_or(found.url.as_str(), |(document, _)| document);
        let mut expected = expected.iter().map(|path| encoded(path));
        expected.any(|path| document == path || document.ends_with(&format!("/{path}")))
    };
    found.iter().take(FIRST).position(is_right).map(|place| place + 1)
}
