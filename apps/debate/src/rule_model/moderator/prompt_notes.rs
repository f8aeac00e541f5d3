//! Notes in the moderator's prompt: verdicts of claims, and an early end by the user.

use super::super::citation::nested;

/// Parsed notes of a turn prompt.
pub(super) struct PromptNotes {
    checked: Vec<CheckedClaim>,
    ended: Option<Option<u32>>,
    others: Vec<String>,
}

struct CheckedClaim {
    claim: String,
    verdict: &'static str,
    sources: String,
}

impl PromptNotes {
    /// Parses notes; a note of another kind is kept unchanged.
    pub(super) fn parse(notes: &[String]) -> Self {
        let mut parsed = Self { checked: Vec::new(), ended: None, others: Vec::new() };
        for note in notes {
            let lower = note.to_lowercase();
            if let Some(checked) = parse_checked_claim(note) {
                parsed.checked.push(checked);
            } else if lower.contains("ended") && (lower.contains("user") || lower.contains("round")) {
                parsed.ended = Some(lower.split("round").nth(1).and_then(leading_number));
            } else {
                parsed.others.push(note.clone());
            }
        }
        parsed
    }

    /// Returns the round after which the user ended the debate; `last` if the note does not name it.
    pub(super) fn ended_after_round(&self, last: u32) -> Option<u32> {
        self.ended.map(|round| round.unwrap_or(last))
    }

    /// Returns the weight that verdicts add to a sentence with the claim.
    pub(super) fn weight(&self, sentence: &str) -> i32 {
        let weight_of = |checked: &CheckedClaim| match checked.verdict {
            "true" => 5,
            "false" => -20,
            _ => 0,
        };
        let is_about = |checked: &&CheckedClaim| checked.claim.contains(sentence) || sentence.contains(&checked.claim);
        self.checked.iter().filter(is_about).map(weight_of).sum()
    }

    /// Counts the claims by verdict, and names the false ones.
    pub(super) fn verdicts(&self) -> Option<String> {
        let total = self.checked.len();
        let counts = ["true", "false", "unverifiable"].map(|verdict| {
            let count = self.checked.iter().filter(|checked| checked.verdict == verdict).count();
            (count > 0).then(|| format!("{count} {verdict}"))
        });
        let counts = counts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let summary = match total {
            0 => return None,
            1 => format!("Fact check of 1 claim: {counts}."),
            _ => format!("Fact check of {total} claims: {counts}."),
        };
        let false_claims: Vec<String> =
            self.checked.iter().filter(|checked| checked.verdict == "false").map(CheckedClaim::quoted).collect();
        Some(if false_claims.is_empty() { summary } else { format!("{summary} False: {}.", false_claims.join("; ")) })
    }

    /// Returns the other notes as a sentence.
    pub(super) fn other_notes(&self) -> Option<String> {
        let quoted_notes: Vec<String> = self.others.iter().map(|note| format!("“{}”", bare(note))).collect();
        (!quoted_notes.is_empty()).then(|| format!("It was also noted: {}.", quoted_notes.join("; ")))
    }
}

impl CheckedClaim {
    /// Returns the claim with its sources, shortened, because the debate has the full text.
    fn quoted(&self) -> String {
        const WORDS: usize = 16;
        let claim = bare(&self.claim);
        let words: Vec<&str> = claim.split(' ').collect();
        let excerpt = words[..words.len().min(WORDS)].join(" ");
        let dots = if words.len() > WORDS { " …" } else { "" };
        let sources = if self.sources.is_empty() { String::new() } else { format!(" ({})", self.sources) };
        format!("“{excerpt}{dots}”{sources}")
    }
}

fn bare(text: &str) -> String {
    nested(text.trim()).trim_end_matches('.').to_owned()
}

fn leading_number(text: &str) -> Option<u32> {
    let digits: String = text.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Parses `the claim "x" is false (file.md#a)`.
fn parse_checked_claim(note: &str) -> Option<CheckedClaim> {
    let is_mark = |letter: char| matches!(letter, '"' | '“' | '”');
    let (start, end) = (note.find(is_mark)?, note.rfind(is_mark)?);
    let opening = note[start..].chars().next()?.len_utf8();
    let closing = note[end..].chars().next()?.len_utf8();
    if !note[..start].to_lowercase().contains("claim") || end < start + opening {
        return None;
    }
    let (claim, after) = (&note[start + opening..end], &note[end + closing..]);
    let verdict = ["unverifiable", "false", "true"].into_iter().find(|verdict| after.contains(verdict))?;
    let sources = after.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')).map_or("", |(inner, _)| inner);
    Some(CheckedClaim { claim: claim.to_owned(), verdict, sources: sources.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-DEB-43: verdicts are counted, and false claims are named with their sources.
    #[test]
    fn notes_become_sentences() {
        let notes = PromptNotes::parse(&[
            "the claim \"It said “so” in 1999.\" is false (a.md#b, c.md#d)".to_owned(),
            "the claim \"x\" is unverifiable".to_owned(),
            "the claim \"y\" is unverifiable".to_owned(),
            "ended by the user after round 2".to_owned(),
            "Please be kind.".to_owned(),
        ]);
        let expected = "Fact check of 3 claims: 1 false, 2 unverifiable. \
            False: “It said ‘so’ in 1999” (a.md#b, c.md#d).";
        assert_eq!(notes.verdicts().as_deref(), Some(expected));
        assert_eq!(notes.other_notes().as_deref(), Some("It was also noted: “Please be kind”."));
        assert_eq!((notes.ended_after_round(9), notes.weight("It said “so” in 1999.")), (Some(2), -20));
        assert_eq!(PromptNotes::parse(&["the user ended the debate".to_owned()]).ended_after_round(3), Some(3));
        assert!(PromptNotes::parse(&[]).verdicts().is_none());
    }
}
