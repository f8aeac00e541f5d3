//! Evaluation of a small model against rules: the model replaces the rules only if it scores better in the
//! application's own check. Its size, training data and kind are always displayed.

use std::fmt;

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::port::SharedModel;

/// Score of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvaluationScore {
    /// Number of correct cases.
    pub correct: u32,
    /// Total number of cases.
    pub total: u32,
}

impl EvaluationScore {
    /// Creates a score of `correct` cases out of `total`.
    #[must_use]
    pub fn new(correct: u32, total: u32) -> Self {
        Self { correct, total }
    }

    /// Returns true if the share of correct cases is larger.
    #[must_use]
    pub fn is_better_than(self, other: Self) -> bool {
        u64::from(self.correct) * u64::from(other.total) > u64::from(other.correct) * u64::from(self.total)
    }
}

impl fmt::Display for EvaluationScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.correct, self.total)
    }
}

/// A small model that may replace rules, with the facts that are displayed about it.
#[derive(Clone)]
pub struct ModelCandidate {
    /// Model to evaluate.
    pub model: SharedModel,
    /// Size of its weights in bytes.
    pub size: u64,
    /// Description of its training data.
    pub data: String,
}

impl fmt::Display for ModelCandidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = self.size as f64 / f64::from(1 << 20);
        write!(f, "{}, {mebibytes:.1} MiB, trained on {}", self.model.info(), self.data)
    }
}

/// Result of comparing a candidate with the rules: the winner and both scores.
#[derive(Clone)]
pub struct EvaluationResult {
    /// The model to use.
    pub model: SharedModel,
    /// Score of the rules.
    pub rules: EvaluationScore,
    /// Score of the candidate.
    pub candidate: EvaluationScore,
    /// True if the candidate replaces the rules.
    pub candidate_wins: bool,
    candidate_name: String,
}

/// One line for display: the model in use, and both scores.
impl fmt::Display for EvaluationResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} correct, rules {}", self.candidate_name, self.candidate, self.rules)?;
        if self.candidate_wins { Ok(()) } else { f.write_str("; the rules stay in use") }
    }
}

/// Evaluates rules and a candidate with the same check. The candidate is selected only if its score is higher.
///
/// ```
/// use superstep::models::{ModelCandidate, ModelExt, EvaluationScore, ScriptedModel, SharedModel, evaluate_candidate};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// let rules: SharedModel = ScriptedModel::new(["4", "6"]).into(); // in your program: `Rules`
/// let candidate = ModelCandidate {
///     model: ScriptedModel::new(["4", "9"]).into(), // in your program: `superstep_weights::Weights`
///     size: 1 << 20,
///     data: "a table of squares".to_owned(),
/// };
/// let result = evaluate_candidate(rules, candidate, async |model: SharedModel| {
///     let mut correct = 0;
///     for (question, answer) in [("2 * 2", "4"), ("3 * 3", "9")] {
///         correct += u32::from(model.complete(question).await?.message.text() == answer);
///     }
///     Ok(EvaluationScore::new(correct, 2))
/// })
/// .await?;
/// assert!(result.candidate_wins);
/// assert!(result.to_string().ends_with("1.0 MiB, trained on a table of squares: 2 of 2 correct, rules 1 of 2"));
/// # Ok(()) }
/// ```
///
/// # Errors
/// Returns an error if the check fails or contains no case, or if size or training data of the candidate are missing.
pub async fn evaluate_candidate(
    rules: impl Into<SharedModel>,
    candidate: ModelCandidate,
    check: impl AsyncFn(SharedModel) -> Result<EvaluationScore>,
) -> Result<EvaluationResult> {
    if candidate.data.trim().is_empty() || candidate.size == 0 {
        return Err(Error::new(ErrorCode::ConfigInvalid, "a candidate model requires its size and its training data")
            .with_help("users see both next to the kind of the model"));
    }
    let rules = rules.into();
    let scores = (check(rules.clone()).await?, check(candidate.model.clone()).await?);
    if scores.0.total == 0 || scores.1.total == 0 {
        return Err(Error::new(ErrorCode::ConfigInvalid, "a check requires at least one case"));
    }
    let candidate_wins = scores.1.is_better_than(scores.0);
    let candidate_name = candidate.to_string();
    let model = if candidate_wins { candidate.model } else { rules };
    Ok(EvaluationResult { model, rules: scores.0, candidate: scores.1, candidate_wins, candidate_name })
}
