//! The check on the sample: is the right document among the first three, and does expansion help?

use serde::Serialize;
use superstep::Result;

use crate::sample::{self, Question};
use crate::sources::{Sources, Unavailable, encoded, fuse};
use crate::types::McpSuggestion;

/// How many of the first hits count.
const FIRST: usize = 3;

/// What came of the questions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Score {
    /// Questions with the right document among the first three.
    pub right: usize,
    /// Questions asked.
    pub of: usize,
    /// As `right`, when the question is searched for as it stands.
    pub plain_right: usize,
    /// Questions whose document stands higher with expansion than without.
    pub better_than_plain: usize,
    /// Questions whose document stands lower with expansion than without.
    pub worse_than_plain: usize,
    /// One for each question.
    pub rows: Vec<Row>,
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Its name.
    pub id: String,
    /// What is asked.
    pub question: String,
    /// The documents that are right.
    pub expected: Vec<String>,
    /// What was searched for.
    pub queries: Vec<String>,
    /// The place of a right document, from 1; none when it is not among the first three.
    pub place: Option<usize>,
    /// The same for the question as it stands.
    pub plain_place: Option<usize>,
    /// What was found, the best first.
    pub found: Vec<String>,
}

/// Asks the questions of the sample.
///
/// # Errors
/// When the documents cannot be searched.
pub async fn eval(sources: &Sources) -> Result<Score> {
    eval_with(sources, &sample::questions()?).await
}

/// Asks questions of one's own.
///
/// # Errors
/// When the documents cannot be searched.
pub async fn eval_with(sources: &Sources, questions: &[Question]) -> Result<Score> {
    let mut score = Score { of: questions.len(), ..Score::default() };
    for question in questions {
        let row = row(sources, question)
            .await
            .map_err(|unavailable| superstep::Error::new(superstep::Code::ConfigInvalid, unavailable.to_string()))?;
        let rank = |place: Option<usize>| place.unwrap_or(usize::MAX);
        score.right += usize::from(row.place.is_some());
        score.plain_right += usize::from(row.plain_place.is_some());
        score.better_than_plain += usize::from(rank(row.place) < rank(row.plain_place));
        score.worse_than_plain += usize::from(rank(row.place) > rank(row.plain_place));
        score.rows.push(row);
    }
    Ok(score)
}

async fn row(sources: &Sources, question: &Question) -> Result<Row, Unavailable> {
    let plain = sources.search_docs(&question.question).await?;
    let queries = sources.queries(&question.question).await?;
    let mut lists = Vec::new();
    for query in &queries {
        lists.push(sources.search_docs(query).await?);
    }
    let mut found = fuse(lists);
    found.truncate(FIRST);
    Ok(Row {
        id: question.id.clone(),
        question: question.question.clone(),
        expected: question.expected.clone(),
        queries,
        place: place(&found, &question.expected),
        plain_place: place(&plain, &question.expected),
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
