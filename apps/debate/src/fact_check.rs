//! Fact checks: claims of a debate, compared with the evidence folder.
//!
//! Conservative by design: a claim is true or false only if a sentence of the evidence says the same, or the same with
//! another number or with a negation. Every other claim is unverifiable; without evidence, all claims are.

mod claims;
mod compare;
mod quantity;
pub mod result;
mod sentences;
mod statement;

pub use claims::claims;
pub(crate) use sentences::sentences;

use crate::evidence::Evidence;
use crate::fact_check::result::{FactCheckResult, Verdict};
use compare::{Relation, compare};
use statement::Statement;

/// Maximum number of passages compared with a claim.
const MAX_PASSAGES: usize = 12;

/// Checks a claim against the evidence.
///
/// ```
/// use superstep_debate::fact_check::result::Verdict;
/// use superstep_debate::fact_check::check;
///
/// let result = check("The reactor in Chernobyl exploded in 1986.", None);
/// assert_eq!((result.verdict, result.sources.len()), (Verdict::Unverifiable, 0));
/// ```
#[must_use]
pub fn check(claim: &str, evidence: Option<&Evidence>) -> FactCheckResult {
    let (mut supports, mut contradicts) = (Vec::new(), Vec::new());
    if let Some((evidence, claim_text)) = evidence.zip(extract_claim_text(claim)) {
        let statement = Statement::parse(claim_text);
        for passage in evidence.passages(claim_text, MAX_PASSAGES) {
            for sentence in sentences(&passage.text) {
                let sources = match compare(&statement, &Statement::parse(sentence)) {
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

/// Returns the text of a sentence that claims something: the quote from a source, if there is one; `None` for a
/// sentence about the words of another agent.
fn extract_claim_text(claim: &str) -> Option<&str> {
    let Some((_, rest)) = claim.split_once('“') else {
        return (!claim.contains(['"', '?'])).then_some(claim);
    };
    let (quoted, after) = rest.rsplit_once('”')?;
    let is_sourced = after.trim_start().starts_with('(') && after.contains('#');
    (is_sourced && !quoted.contains('“')).then_some(quoted)
}
