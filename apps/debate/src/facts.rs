//! Claims of a debate, and what the evidence folder says about them.
//!
//! Careful by design: a claim is true or false only where a sentence of the evidence says the same, or the same with another
//! number or the opposite sign. Everything else is unverifiable, and without evidence everything is.

mod claims;
mod compare;
mod quantity;
mod sentences;
mod statement;

pub use claims::claims;
pub(crate) use sentences::sentences;

use crate::evidence::Evidence;
use crate::fact::{FactCheckResult, Verdict};
use compare::{Relation, compare};
use statement::Statement;

/// How many passages a claim is held against.
const PASSAGES: usize = 12;

/// Holds a claim against the evidence.
///
/// ```
/// use superstep_debate::fact::Verdict;
/// use superstep_debate::facts::check;
///
/// let result = check("The reactor in Chernobyl exploded in 1986.", None);
/// assert_eq!((result.verdict, result.sources.len()), (Verdict::Unverifiable, 0));
/// ```
#[must_use]
pub fn check(claim: &str, evidence: Option<&Evidence>) -> FactCheckResult {
    let (mut supports, mut contradicts) = (Vec::new(), Vec::new());
    if let Some((evidence, said)) = evidence.zip(what_is_claimed(claim)) {
        let statement = Statement::read(said);
        for passage in evidence.passages(said, PASSAGES) {
            for sentence in sentences(&passage.text) {
                let sources = match compare(&statement, &Statement::read(sentence)) {
                    Relation::Supports => &mut supports,
                    Relation::Contradicts => &mut contradicts,
                    Relation::Neither => continue,
                };
                if !sources.contains(&passage.source) {
                    sources.push(passage.source.clone());
                }
            }
        }
    }
    let (verdict, sources) = match (contradicts.is_empty(), supports.is_empty()) {
        (false, _) => (Verdict::False, contradicts),
        (true, false) => (Verdict::True, supports),
        (true, true) => (Verdict::Unverifiable, Vec::new()),
    };
    FactCheckResult { claim: claim.to_owned(), verdict, sources }
}

/// What a sentence claims: what it quotes from a source; nothing where it talks about the words of another.
fn what_is_claimed(claim: &str) -> Option<&str> {
    let Some((_, rest)) = claim.split_once('“') else {
        return (!claim.contains(['"', '?'])).then_some(claim);
    };
    let (quoted, after) = rest.rsplit_once('”')?;
    let is_sourced = after.trim_start().starts_with('(') && after.contains('#');
    (is_sourced && !quoted.contains('“')).then_some(quoted)
}
