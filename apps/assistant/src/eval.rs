//! Evaluation of the rule model: runs questions with known answers on the real graph with the real tools.
//!
//! A refusal is [`Grade::Unknown`] for a question that the data answers, and [`Grade::Correct`] for one that it does
//! not. A refusal next to another number is [`Grade::Incorrect`]; so is every other answer without the expected facts,
//! and this must not happen.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::store::MemoryStore;
use superstep::{Error, ErrorCode, MemoryCheckpointer, Result};
use superstep_documents::Documents;

use crate::data::Dataset;
use crate::nodes::RULES_PREFIX;
use crate::policy::Policy;
use crate::profile::Profiles;
use crate::rule_model::{Synonyms, rules};
use crate::tools::{ToolSettings, tools};
use crate::{AgentState, AssistantContext, create_assistant_graph, sample};

/// Starts of a statement that the answer is not known.
const UNKNOWN_PHRASES: [&str; 5] = ["i do not know", "i don't know", "i could not find", "i cannot", "i know nothing"];
/// Start of an answer with partial results, which is not a refusal: it states facts.
const PARTIAL_ANSWER: &str = "i could not find everything";
/// Maximum difference between an expected number and the same number in an answer.
const TOLERANCE: f64 = 0.006;
/// Prefix of an answer that is a clarification question.
const CLARIFICATION_PREFIX: &str = "I do not know yet. ";
/// User and date of the evaluation.
const USER_AND_DATE: (&str, &str) = ("ana", "2026-11-02");

/// A question with its expected answer.
///
/// It has either expected facts or `dont_know`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvalQuestion {
    /// Id of the question.
    pub id: String,
    /// Text of the question.
    pub question: String,
    /// Texts and numbers that the answer must contain. At least one of them must not be in the question, because an
    /// answer may repeat the words of the question.
    #[serde(default)]
    pub expected: Vec<Value>,
    /// Texts that the answer must not contain.
    #[serde(default)]
    pub absent: Vec<String>,
    /// True if the data cannot answer the question, so that the answer must say so.
    #[serde(default)]
    pub dont_know: bool,
    /// Kind of question, such as `count`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Query that returns the expected facts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sql: Option<String>,
    /// Document and section with the expected facts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Remark for readers of the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl EvalQuestion {
    /// Checks that a correct answer can be distinguished from an incorrect one.
    ///
    /// # Errors
    /// Returns an error if the question has neither or both of `expected` and `dont_know`, if it contains all expected
    /// facts itself, or if an expected fact is neither a text nor a number.
    pub fn validate(&self) -> Result<()> {
        let problem = match (self.expected.is_empty(), self.dont_know) {
            (true, false) => "has neither `expected` nor `dont_know`",
            (false, true) => "has both `expected` and `dont_know`",
            (true, true) => return Ok(()),
            (false, false) if self.expected.iter().any(|fact| ExpectedFact::parse(fact).is_none()) => {
                "has an `expected` fact that is neither a text nor a number"
            }
            (false, false) if !self.adds_facts() => "contains everything of `expected` itself",
            (false, false) => return Ok(()),
        };
        Err(config_error(&format!("the question `{}` {problem}", self.id)))
    }

    /// Returns true if a fact is expected that the question does not contain.
    fn adds_facts(&self) -> bool {
        let mut facts = self.expected.iter().filter_map(ExpectedFact::parse);
        facts.any(|fact| !has_all_facts(&self.question, vec![fact]))
    }
}

/// Grade of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// Correct answer, or a correct statement that the answer is not known.
    #[serde(rename = "right")]
    Correct,
    /// The answer states something else.
    #[serde(rename = "wrong")]
    Incorrect,
    /// The answer says that it is not known although the data has it, or asks a question.
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
    #[serde(rename = "verdict")]
    pub grade: Grade,
    /// Text of the answer.
    pub answer: String,
}

/// Results of an evaluation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerEvalScore {
    /// Number of correct answers.
    #[serde(rename = "right")]
    pub correct: usize,
    /// Number of incorrect answers.
    #[serde(rename = "wrong")]
    pub incorrect: usize,
    /// Number of answers that say that the answer is not known although the data has it, or that ask a question.
    pub unknown: usize,
    /// Number of questions.
    #[serde(rename = "of")]
    pub total: usize,
    /// Results per question.
    pub rows: Vec<AnswerEvalRow>,
}

/// Returns the questions of the sample.
///
/// # Errors
/// Returns an error if the embedded file cannot be parsed, or if a question is invalid.
pub fn questions() -> Result<Vec<EvalQuestion>> {
    let text = sample::text("questions.json").unwrap_or_default();
    let questions: Vec<EvalQuestion> =
        serde_json::from_str(&text).map_err(|cause| config_error(&format!("the questions cannot be read: {cause}")))?;
    questions.iter().try_for_each(EvalQuestion::validate)?;
    Ok(questions)
}

/// Runs questions about the sample in this folder (see [`sample::unpack`]), each on its own thread.
///
/// # Errors
/// Returns an error if a question is invalid, if the sample cannot be read, or if a run fails.
pub async fn eval(folder: &Path, questions: &[EvalQuestion]) -> Result<AnswerEvalScore> {
    questions.iter().try_for_each(EvalQuestion::validate)?;
    let folder = folder.to_owned();
    // Loads the tables of the sample, which blocks.
    let context = tokio::task::spawn_blocking(move || sample_context(&folder)).await;
    let context = context.map_err(|_| config_error("the sample could not be read"))??;
    let graph = create_assistant_graph(MemoryCheckpointer::new(), MemoryStore::new())?;
    let mut score = AnswerEvalScore { total: questions.len(), ..AnswerEvalScore::default() };
    for question in questions {
        let input = AgentState::turn_input(&context, USER_AND_DATE.0, &question.question)?;
        let outcome = graph.invoke(input).thread(question.id.as_str()).context(context.clone()).await?;
        let last_message =
            || outcome.state.messages.last().map(|message| message.text().into_owned()).unwrap_or_default();
        // A clarification question does not count as an answer.
        let clarification = outcome.interrupts().first().map(|interrupt| interrupt.value["question"].as_str());
        let answer = clarification
            .map_or_else(last_message, |question| format!("{CLARIFICATION_PREFIX}{}", question.unwrap_or_default()));
        let grade = grade(question, &answer);
        match grade {
            Grade::Correct => score.correct += 1,
            Grade::Incorrect => score.incorrect += 1,
            Grade::Unknown => score.unknown += 1,
        }
        score.rows.push(AnswerEvalRow { id: question.id.clone(), question: question.question.clone(), grade, answer });
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
///
/// An answer that says anywhere that something is not known is never correct for a question that the data answers.
#[must_use]
pub fn grade(question: &EvalQuestion, answer: &str) -> Grade {
    // A clarification question may name the expected facts as choices.
    if answer.starts_with(CLARIFICATION_PREFIX) {
        return Grade::Unknown;
    }
    let lower = answer.strip_prefix(RULES_PREFIX).unwrap_or(answer).to_lowercase();
    let says_unknown = UNKNOWN_PHRASES.iter().any(|words| lower.contains(words));
    let starts_with_unknown = UNKNOWN_PHRASES.iter().any(|words| lower.starts_with(words));
    let is_unknown =
        starts_with_unknown && !lower.starts_with(PARTIAL_ANSWER) && !states_number(&question.question, &lower);
    match (question.dont_know, says_unknown, has_facts(question, &lower)) {
        (true, ..) if is_unknown => Grade::Correct,
        (true, ..) => Grade::Incorrect,
        (false, false, true) => Grade::Correct,
        (false, true, true) => Grade::Unknown,
        (false, _, false) if is_unknown => Grade::Unknown,
        (false, _, false) => Grade::Incorrect,
    }
}

/// Returns true if the answer has all expected facts, at least one of them not from the question, and no absent text.
fn has_facts(question: &EvalQuestion, answer: &str) -> bool {
    let Some(facts) = question.expected.iter().map(ExpectedFact::parse).collect() else { return false };
    let is_absent = |text: &String| !answer.contains(&text.to_lowercase());
    question.adds_facts() && question.absent.iter().all(is_absent) && has_all_facts(answer, facts)
}

/// A fact that an answer must contain.
#[derive(Debug, Clone, PartialEq)]
enum ExpectedFact {
    Number(f64),
    /// Text in lower case.
    Text(String),
}

impl ExpectedFact {
    /// Parses a text or a number. A text such as `29` is a number, so that `129` does not contain it.
    fn parse(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) if text.trim().is_empty() => None,
            Value::String(text) => Some(match text.trim().parse() {
                Ok(number) => Self::Number(number),
                Err(_) => Self::Text(text.to_lowercase()),
            }),
            number => number.as_f64().map(Self::Number),
        }
    }
}

/// Returns true if a text contains all facts. A name that is part of a longer expected name must also occur alone.
fn has_all_facts(text: &str, mut facts: Vec<ExpectedFact>) -> bool {
    let numbers = numbers(text);
    let mut rest = text.to_lowercase();
    facts.sort_by_key(|fact| match fact {
        ExpectedFact::Number(_) => 0,
        ExpectedFact::Text(text) => usize::MAX - text.len(),
    });
    facts.into_iter().all(|fact| match fact {
        ExpectedFact::Number(expected) => numbers.iter().any(|actual| (actual - expected).abs() < TOLERANCE),
        ExpectedFact::Text(expected) => {
            let matches: Vec<_> = word_matches(&rest, &expected).map(|start| start..start + expected.len()).collect();
            for range in &matches {
                rest.replace_range(range.clone(), &" ".repeat(expected.len()));
            }
            !matches.is_empty()
        }
    })
}

/// Returns the positions of whole words: `30 days` is not in `130 days`, and not in `1,030 days`.
fn word_matches<'a>(text: &'a str, words: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_inside = |outer: &[char], edge: Option<char>| match (outer, edge) {
        ([next, ..], Some(edge)) if next.is_alphanumeric() && edge.is_alphanumeric() => true,
        (['.' | ',', digit, ..], Some(edge)) => digit.is_ascii_digit() && edge.is_ascii_digit(),
        _ => false,
    };
    text.match_indices(words).map(|(start, _)| start).filter(move |start| {
        let before: Vec<char> = text[..*start].chars().rev().take(2).collect();
        let after: Vec<char> = text[start + words.len()..].chars().take(2).collect();
        !is_inside(&before, words.chars().next()) && !is_inside(&after, words.chars().next_back())
    })
}

/// Returns true if the answer states a number that is not in the question.
///
/// Quoted text and questions do not count: a refusal quotes example questions and may ask what is meant.
fn states_number(question: &str, answer: &str) -> bool {
    static QUOTE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#""[^"]*""#).expect("a pattern"));
    static QUESTION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"[^.:;!?\n]*\?").expect("a pattern"));
    let question_numbers = numbers(question);
    let answer = QUOTE.replace_all(answer, "");
    numbers(&QUESTION.replace_all(&answer, "")).iter().any(|number| !question_numbers.contains(number))
}

/// Returns the numbers in a text, except references such as `[1, 2]` and dates.
fn numbers(text: &str) -> Vec<f64> {
    static REFERENCE_OR_DATE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\[\d+(?:\s*,\s*\d+)*\]|\b\d{4}-\d{2}-\d{2}\b").expect("a pattern"));
    static NUMBER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"-?\b\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\b\d+(?:\.\d+)?").expect("a pattern"));
    let text = REFERENCE_OR_DATE.replace_all(text, " ");
    NUMBER.find_iter(&text).filter_map(|literal| literal.as_str().replace(',', "").parse().ok()).collect()
}

fn config_error(message: &str) -> Error {
    Error::new(ErrorCode::ConfigInvalid, message)
}
