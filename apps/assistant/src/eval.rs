//! How well the rules do: questions with known answers, asked of the real graph with the real tools.
//!
//! An answer that says it does not know is never wrong. One that states something else than what is known is, and that is
//! what must not happen.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::store::MemoryStore;
use superstep::{Code, Error, Memory, Result};
use superstep_documents::Documents;

use crate::data::Data;
use crate::policy::Policy;
use crate::profile::Profiles;
use crate::rules::{Synonyms, rules};
use crate::tools::{ToolSettings, tools};
use crate::{Assistant, Desk, graph, sample};

/// Who asks, and on which day.
const ASKED: (&str, &str) = ("ana", "2026-11-02");

/// A question with its known answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Its name.
    pub id: String,
    /// What is asked.
    pub question: String,
    /// Texts and numbers that the answer must have.
    #[serde(default)]
    pub expected: Vec<Value>,
    /// Texts that it must not have.
    #[serde(default)]
    pub absent: Vec<String>,
    /// Nobody can know: the answer must say so.
    #[serde(default)]
    pub dont_know: bool,
}

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// It was answered, or rightly not.
    Right,
    /// Something else was stated as the answer.
    Wrong,
    /// The answer says that it is not known, and it could be.
    Unknown,
}

/// A question and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The name of the question.
    pub id: String,
    /// What was asked.
    pub question: String,
    /// How it went.
    pub verdict: Mark,
    /// What was answered.
    pub answer: String,
}

/// How it went, all together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Score {
    /// How many were right.
    pub right: usize,
    /// How many were wrong, with confidence.
    pub wrong: usize,
    /// How many were not known.
    pub unknown: usize,
    /// How many there are.
    pub of: usize,
    /// One by one.
    pub rows: Vec<Row>,
}

/// The questions of the sample.
///
/// # Errors
/// When they cannot be read.
pub fn questions() -> Result<Vec<Question>> {
    let text = sample::text("questions.json").unwrap_or_default();
    serde_json::from_str(&text).map_err(|cause| broken(&format!("the questions cannot be read: {cause}")))
}

/// Asks questions about the sample, which lies in this folder (see [`sample::unpack`]), each in a conversation of its own.
///
/// # Errors
/// When the sample cannot be read, or a run fails.
pub async fn eval(folder: &Path, questions: &[Question]) -> Result<Score> {
    let folder = folder.to_owned();
    // Loads the tables of the sample.
    let desk = tokio::task::spawn_blocking(move || desk(&folder)).await;
    let desk = desk.map_err(|_| broken("the sample could not be read"))??;
    let graph = graph(Memory::new(), MemoryStore::new())?;
    let mut score = Score { of: questions.len(), ..Score::default() };
    for asked in questions {
        let input = Assistant::open(&desk, ASKED.0, &asked.question)?;
        let outcome = graph.run(input).thread(asked.id.as_str()).context(desk.clone()).await?;
        let said = || outcome.state.messages.last().map(|message| message.text().into_owned()).unwrap_or_default();
        // Whoever asks back has not answered.
        let back = outcome.questions().first().map(|back| back.value["question"].as_str().unwrap_or_default());
        let answer = back.map_or_else(said, |back| format!("I do not know yet. {back}"));
        let verdict = mark(asked, &answer);
        match verdict {
            Mark::Right => score.right += 1,
            Mark::Wrong => score.wrong += 1,
            Mark::Unknown => score.unknown += 1,
        }
        score.rows.push(Row { id: asked.id.clone(), question: asked.question.clone(), verdict, answer });
    }
    Ok(score)
}

/// The desk of the sample, with rules in place of a language model.
///
/// # Errors
/// When the sample cannot be read.
pub fn desk(folder: &Path) -> Result<Desk> {
    let data = Arc::new(Data::sample()?);
    let synonyms = Synonyms::parse(&sample::text("synonyms.txt").unwrap_or_default())?;
    let model = rules(data.catalog().clone(), synonyms);
    let documents = Some(Arc::new(Documents::open(&folder.join("handbook"))?));
    let settings = ToolSettings { documents, ..ToolSettings::new(data) };
    let policy = Policy::parse(&sample::text("policy.toml").unwrap_or_default())?;
    let profiles = Profiles::parse(&sample::text("profiles.json").unwrap_or_default())?;
    Ok(Desk::new(model, tools(&settings)?, policy, profiles).today(ASKED.1))
}

/// What an answer is worth.
#[must_use]
pub fn mark(asked: &Question, answer: &str) -> Mark {
    let lower = answer.to_lowercase();
    let says_unknown = ["i do not know", "i could not find", "i cannot"].iter().any(|words| lower.contains(words));
    if asked.dont_know {
        return if says_unknown { Mark::Right } else { Mark::Wrong };
    }
    let numbers = numbers(answer);
    let has = |wanted: &Value| match wanted {
        Value::String(text) => lower.contains(&text.to_lowercase()),
        number => number.as_f64().is_some_and(|wanted| numbers.iter().any(|found| (found - wanted).abs() < 0.006)),
    };
    let is_right =
        asked.expected.iter().all(has) && !asked.absent.iter().any(|text| lower.contains(&text.to_lowercase()));
    match (is_right, says_unknown) {
        (true, _) => Mark::Right,
        (false, true) => Mark::Unknown,
        (false, false) => Mark::Wrong,
    }
}

/// The numbers in a text, but for references.
fn numbers(text: &str) -> Vec<f64> {
    static NUMBER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\[\d+\]|-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?").expect("a pattern"));
    let found = NUMBER.find_iter(text).map(|found| found.as_str()).filter(|found| !found.starts_with('['));
    found.filter_map(|found| found.replace(',', "").parse().ok()).collect()
}

fn broken(fact: &str) -> Error {
    Error::new(Code::ConfigInvalid, fact)
}
