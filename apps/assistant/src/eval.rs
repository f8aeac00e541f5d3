//! Evaluation of the rule model: runs questions with known answers on the real graph with the real tools.
//!
//! An answer that admits not to know is never counted as wrong, unless it states a number to a question that the data
//! cannot answer. An answer that states something else than the expected facts is wrong, and this must not happen.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::store::MemoryStore;
use superstep::{Error, ErrorCode, MemoryCheckpointer, Result};
use superstep_documents::Documents;

use crate::data::Dataset;
use crate::policy::Policy;
use crate::profile::Profiles;
use crate::rule_model::{Synonyms, rules};
use crate::tools::{ToolSettings, tools};
use crate::{AgentState, AssistantContext, create_assistant_graph, sample};

/// Prefix of an answer that is a clarification question.
const CLARIFICATION_PREFIX: &str = "I do not know yet. ";
/// User and date of the evaluation.
const USER_AND_DATE: (&str, &str) = ("ana", "2026-11-02");

/// A question with its expected answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvalQuestion {
    /// Id of the question.
    pub id: String,
    /// Text of the question.
    pub question: String,
    /// Texts and numbers that the answer must contain.
    #[serde(default)]
    pub expected: Vec<Value>,
    /// Texts that the answer must not contain.
    #[serde(default)]
    pub absent: Vec<String>,
    /// True if the data cannot answer the question, so that the answer must say so.
    #[serde(default)]
    pub dont_know: bool,
}

/// Grade of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Correct answer, or a correct statement that the answer is not known.
    Right,
    /// Another fact was stated as the answer.
    #[serde(rename = "wrong")]
    Incorrect,
    /// The answer says that it is not known, although the data has it.
    Unknown,
}

/// Result of one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerEvalRow {
    /// Id of the question.
    pub id: String,
    /// Text of the question.
    pub question: String,
    /// Grade of the answer.
    pub verdict: Grade,
    /// Text of the answer.
    pub answer: String,
}

/// Results of an evaluation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerEvalScore {
    /// Number of correct answers.
    pub right: usize,
    /// Number of wrong answers that were stated with confidence.
    #[serde(rename = "wrong")]
    pub incorrect: usize,
    /// Number of answers that say they do not know.
    pub unknown: usize,
    /// Number of questions.
    pub of: usize,
    /// Results per question.
    pub rows: Vec<AnswerEvalRow>,
}

/// Returns the questions of the sample.
///
/// # Errors
/// Returns an error if the embedded file cannot be parsed.
pub fn questions() -> Result<Vec<EvalQuestion>> {
    let text = sample::text("questions.json").unwrap_or_default();
    serde_json::from_str(&text).map_err(|cause| broken(&format!("the questions cannot be read: {cause}")))
}

/// Runs questions about the sample in this folder (see [`sample::unpack`]), each on its own thread.
///
/// # Errors
/// Returns an error if the sample cannot be read, or if a run fails.
pub async fn eval(folder: &Path, questions: &[EvalQuestion]) -> Result<AnswerEvalScore> {
    let folder = folder.to_owned();
    // Loads the tables of the sample, which blocks.
    let context = tokio::task::spawn_blocking(move || sample_context(&folder)).await;
    let context = context.map_err(|_| broken("the sample could not be read"))??;
    let graph = create_assistant_graph(MemoryCheckpointer::new(), MemoryStore::new())?;
    let mut score = AnswerEvalScore { of: questions.len(), ..AnswerEvalScore::default() };
    for question in questions {
        let input = AgentState::open(&context, USER_AND_DATE.0, &question.question)?;
        let outcome = graph.invoke(input).thread(question.id.as_str()).context(context.clone()).await?;
        let last_message =
            || outcome.state.messages.last().map(|message| message.text().into_owned()).unwrap_or_default();
        // A clarification question does not count as an answer.
        let back = outcome.interrupts().first().map(|back| back.value["question"].as_str().unwrap_or_default());
        let answer = back.map_or_else(last_message, |back| format!("{CLARIFICATION_PREFIX}{back}"));
        let verdict = grade(question, &answer);
        match verdict {
            Grade::Right => score.right += 1,
            Grade::Incorrect => score.incorrect += 1,
            Grade::Unknown => score.unknown += 1,
        }
        score.rows.push(AnswerEvalRow {
            id: question.id.clone(),
            question: question.question.clone(),
            verdict,
            answer,
        });
    }
    Ok(score)
}

/// Creates the run context of the sample, with the rule model in place of a language model.
///
/// # Errors
/// Returns an error if the sample cannot be read.
pub fn sample_context(folder: &Path) -> Result<AssistantContext> {
    let data = Arc::new(Dataset::sample()?);
    let synonyms = Synonyms::parse(&sample::text("synonyms.txt").unwrap_or_default())?;
    let model = rules(data.catalog().clone(), synonyms);
    let documents = Some(Arc::new(Documents::open(&folder.join("handbook"))?));
    let settings = ToolSettings { documents, ..ToolSettings::new(data) };
    let policy = Policy::parse(&sample::text("policy.toml").unwrap_or_default())?;
    let profiles = Profiles::parse(&sample::text("profiles.json").unwrap_or_default())?;
    Ok(AssistantContext::new(model, tools(&settings)?, policy, profiles).today(USER_AND_DATE.1))
}

/// Grades an answer.
#[must_use]
pub fn grade(question: &EvalQuestion, answer: &str) -> Grade {
    let lower = answer.to_lowercase();
    const REFUSALS: [&str; 3] = ["i do not know", "i could not find", "i cannot"];
    let says_unknown = REFUSALS.iter().any(|words| lower.contains(words));
    if question.dont_know {
        let states_unknown = says_unknown && !states_number(&question.question, answer);
        return if states_unknown { Grade::Right } else { Grade::Incorrect };
    }
    let numbers = numbers(answer);
    let has = |expected: &Value| match expected {
        Value::String(text) => lower.contains(&text.to_lowercase()),
        number => number.as_f64().is_some_and(|target| numbers.iter().any(|actual| (actual - target).abs() < 0.006)),
    };
    let has_facts =
        question.expected.iter().all(has) && !question.absent.iter().any(|text| lower.contains(&text.to_lowercase()));
    // A clarification question may name the expected facts as choices.
    let is_right = has_facts && !answer.starts_with(CLARIFICATION_PREFIX);
    // An answer that starts with a refusal states nothing; a refusal after a wrong number does not excuse the number.
    let is_refused = REFUSALS.iter().any(|words| lower.starts_with(words));
    match (is_right, says_unknown) {
        _ if is_refused => Grade::Unknown,
        (true, _) => Grade::Right,
        (false, true) if !states_number(&question.question, answer) => Grade::Unknown,
        (false, _) => Grade::Incorrect,
    }
}

/// Returns true if the answer states a number that is not in the question.
///
/// Quoted text and dates do not count: a refusal quotes example questions and names the days that the data covers.
fn states_number(question: &str, answer: &str) -> bool {
    static QUOTE_OR_DATE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#""[^"]*"|\d{4}-\d{2}-\d{2}"#).expect("a pattern"));
    let of_question = numbers(question);
    numbers(&QUOTE_OR_DATE.replace_all(answer, "")).iter().any(|number| !of_question.contains(number))
}

/// Returns the numbers in a text, except references.
fn numbers(text: &str) -> Vec<f64> {
    static NUMBER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\[\d+\]|-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?").expect("a pattern"));
    let literal = NUMBER.find_iter(text).map(|literal| literal.as_str()).filter(|literal| !literal.starts_with('['));
    literal.filter_map(|literal| literal.replace(',', "").parse().ok()).collect()
}

fn broken(fact: &str) -> Error {
    Error::new(ErrorCode::ConfigInvalid, fact)
}
