//! Whether a small model may take the place of rules: only where it passes the application's own check better, and only
//! with its size, its data and its kind in sight.

use std::fmt;

use superstep_core::error::{Code, Error, Result};
use superstep_core::port::SharedModel;

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Score {
    /// How many were right.
    pub right: u32,
    /// How many there were.
    pub of: u32,
}

impl Score {
    /// So many of so many.
    #[must_use]
    pub fn new(right: u32, of: u32) -> Self {
        Self { right, of }
    }

    /// Whether a larger part was right.
    #[must_use]
    pub fn is_better_than(self, other: Self) -> bool {
        u64::from(self.right) * u64::from(other.of) > u64::from(other.right) * u64::from(self.of)
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.right, self.of)
    }
}

/// A small model that may take the place of rules, and what people are shown of it.
#[derive(Clone)]
pub struct Candidate {
    /// The model.
    pub model: SharedModel,
    /// The bytes of its weights.
    pub size: u64,
    /// What it was made from.
    pub data: String,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mebibytes = self.size as f64 / f64::from(1 << 20);
        write!(f, "{}, {mebibytes:.1} MiB, made from {}", self.model.info(), self.data)
    }
}

/// Which model an application uses, and why.
#[derive(Clone)]
pub struct Verdict {
    /// The one to use.
    pub model: SharedModel,
    /// How the rules did.
    pub rules: Score,
    /// How the candidate did.
    pub candidate: Score,
    /// Whether the candidate takes the place of the rules.
    pub is_replaced: bool,
    shown: String,
}

/// One line for people: who answers, and how both did.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} right, rules {}", self.shown, self.candidate, self.rules)?;
        if self.is_replaced { Ok(()) } else { f.write_str("; the rules stay") }
    }
}

/// Puts rules and a candidate to the same check. The candidate is used only when more of it is right.
///
/// ```
/// use superstep::model::{Candidate, ModelExt, Score, Scripted, SharedModel, put_to_test};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> superstep::Result<()> {
/// let rules: SharedModel = Scripted::new(["4", "6"]).into(); // in your program: `Rules`
/// let candidate = Candidate {
///     model: Scripted::new(["4", "9"]).into(), // in your program: `superstep_weights::Weights`
///     size: 1 << 20,
///     data: "a table of squares".to_owned(),
/// };
/// let verdict = put_to_test(rules, candidate, async |model: SharedModel| {
///     let mut right = 0;
///     for (question, answer) in [("2 * 2", "4"), ("3 * 3", "9")] {
///         right += u32::from(model.complete(question).await?.message.text() == answer);
///     }
///     Ok(Score::new(right, 2))
/// })
/// .await?;
/// assert!(verdict.is_replaced);
/// assert!(verdict.to_string().ends_with("1.0 MiB, made from a table of squares: 2 of 2 right, rules 1 of 2"));
/// # Ok(()) }
/// ```
///
/// # Errors
/// When the check itself fails, has nothing in it, or the candidate does not say what it was made from.
pub async fn put_to_test(
    rules: impl Into<SharedModel>,
    candidate: Candidate,
    check: impl AsyncFn(SharedModel) -> Result<Score>,
) -> Result<Verdict> {
    if candidate.data.trim().is_empty() || candidate.size == 0 {
        return Err(Error::new(Code::ConfigInvalid, "a model in place of rules must say its size and its data")
            .help("people see both, beside what kind of model answers"));
    }
    let rules = rules.into();
    let scores = (check(rules.clone()).await?, check(candidate.model.clone()).await?);
    if scores.0.of == 0 || scores.1.of == 0 {
        return Err(Error::new(Code::ConfigInvalid, "a check without questions decides nothing"));
    }
    let is_replaced = scores.1.is_better_than(scores.0);
    let shown = candidate.to_string();
    let model = if is_replaced { candidate.model } else { rules };
    Ok(Verdict { model, rules: scores.0, candidate: scores.1, is_replaced, shown })
}
