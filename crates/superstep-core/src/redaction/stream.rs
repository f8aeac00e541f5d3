//! Redaction of streamed text, before all of it is received.

use super::scan::{Match, MatchKind};
use super::{Redaction, RedactionCounts, SecretKind, pem};

/// Number of held bytes above which the text before the last `MAX_LENGTH_WITH_BLANKS` bytes counts as decided.
const SCAN_THRESHOLD_BYTES: usize = 256;

/// Maximum length of a match with spaces inside, in bytes; a private key is longer, and is held as a whole.
const MAX_LENGTH_WITH_BLANKS: usize = 80;

/// Represents a number before the held text; no match begins with it.
const NUMBER: &str = "0 ";

/// Represents a number after the emitted text; no match ends with it.
const NO_GROUP: &str = "0x";

/// Redacts text that arrives in chunks: text that may be the beginning of a match is held until that is decided.
///
/// The joined output equals the redacted whole, as long as no match and no word is longer than 64 KB
/// ([`RedactionStream::MAX_HELD_BYTES`]): then the held text is emitted. Custom patterns are matched within lines.
///
/// ```
/// use superstep_core::redaction::{Redaction, RedactionStream};
///
/// let mut stream = RedactionStream::new(Redaction::default());
/// assert_eq!(stream.push("mail to ada@exa"), "mail to ");
/// assert_eq!(stream.push("mple.com now"), "[REDACTED:mail] ");
/// assert_eq!(stream.finish(), "now");
/// ```
#[derive(Debug, Clone)]
pub struct RedactionStream {
    redaction: Redaction,
    /// The held text, after the context.
    held: String,
    /// Number of held bytes that only represent the text before: a number, or text that is not the end of a line.
    context: usize,
    counts: RedactionCounts,
}

impl RedactionStream {
    /// Maximum number of held bytes.
    pub const MAX_HELD_BYTES: usize = pem::MAX_KEY_LENGTH;

    /// Starts a text.
    pub fn new(redaction: Redaction) -> Self {
        Self { redaction, held: String::new(), context: 0, counts: RedactionCounts::default() }
    }

    /// Adds a chunk, and returns the text that is decided.
    #[must_use]
    pub fn push(&mut self, chunk: &str) -> String {
        self.held.push_str(chunk);
        match self.safe_cut() {
            cut if cut > self.context => self.emit(cut),
            _ => String::new(),
        }
    }

    /// Ends the text, and returns the held rest. Another text may begin.
    #[must_use]
    pub fn finish(&mut self) -> String {
        let redacted = self.emit(self.held.len());
        (self.held, self.context) = (String::new(), 0);
        redacted
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn counts(&self) -> &RedactionCounts {
        &self.counts
    }

    fn emit(&mut self, cut: usize) -> String {
        let rest = self.held.split_off(cut);
        let mut text = std::mem::take(&mut self.held);
        // A number before or after a group of digits matters in the whole text, so the parts must include it too.
        let continues = ends_with_number(&text) && rest.starts_with(|sign: char| sign.is_ascii_digit());
        let is_hit = || self.redaction.find(&rest).first().is_some_and(|hit| hit.start == 0);
        let after = if continues && !is_hit() { NO_GROUP } else { "" };
        text.push_str(after);
        let redacted = self.redaction.redact_text_counted(&text, &mut self.counts);
        let redacted = redacted[self.context..redacted.len() - after.len()].to_owned();
        let context = match ends_with_number(&redacted) {
            true => NUMBER,
            false if redacted.ends_with([' ', '\t']) => " ",
            false => "",
        };
        (self.held, self.context) = (format!("{context}{rest}"), context.len());
        redacted
    }

    /// Returns the position before which no match can extend beyond the end of the held text.
    fn safe_cut(&self) -> usize {
        let text = self.held.as_str();
        if text.len() > Self::MAX_HELD_BYTES {
            return text.len();
        }
        let hits = self.redaction.find(text);
        let end = self.open_key(&hits).unwrap_or(text.len());
        let is_free = |at: &usize| !hits.iter().any(|hit| hit.start <= *at && *at < self.reach(hit));
        let by_lines = !self.redaction.0.custom_patterns.is_empty();
        let blanks = text[..end].rmatch_indices([' ', '\t', '\n']);
        let mut blanks = blanks.filter(|(_, blank)| !by_lines || *blank == "\n").map(|(at, _)| at).filter(is_free);
        // With this much text after it, everything is decided; but `Bearer` is not part of its match.
        let is_decided = |at: usize| text.len() > SCAN_THRESHOLD_BYTES && at + MAX_LENGTH_WITH_BLANKS < text.len();
        let can_cut = |at: usize| !follows_bearer(text, at) && (is_decided(at) || !follows_group(text, at));
        blanks.find(|at| can_cut(*at)).map_or(0, |at| at + 1)
    }

    /// Returns the end of the range after a match in which the text must not be cut: the line after a truncated key
    /// is needed to recognise the truncation.
    fn reach(&self, hit: &Match) -> usize {
        let (text, rest) = (self.held.as_str(), &self.held[hit.end..]);
        let is_open =
            hit.kind == MatchKind::BuiltIn(SecretKind::PrivateKey) && !text[hit.start..hit.end].contains(pem::END);
        let line = text.len() - rest.trim_start().len();
        match is_open {
            true => text[line..].find('\n').map_or(text.len(), |end| line + end),
            false => hit.end,
        }
    }

    /// Returns the start of a private key that may continue: its last line may follow, or the rest of its label.
    fn open_key(&self, hits: &[Match]) -> Option<usize> {
        let text = self.held.as_str();
        let start = text.rfind(pem::BEGIN).filter(|_| self.redaction.0.kinds.has(SecretKind::PrivateKey))?;
        let is_decided =
            text[start + pem::BEGIN.len()..].contains(pem::DASHES) || text.len() - start >= MAX_LENGTH_WITH_BLANKS;
        let key = hits.iter().rev().find(|hit| text[hit.start..hit.end].contains(pem::BEGIN));
        let open = key.filter(|key| !text[key.start..key.end].contains(pem::END)).map(|key| key.start);
        open.or((!is_decided).then_some(start))
    }
}

/// Returns true if a text ends with a number and one space.
fn ends_with_number(text: &str) -> bool {
    matches!(text.as_bytes(), [.., b'0'..=b'9', b' '])
}

/// Returns true if a match may have this space between groups of digits.
fn follows_group(text: &str, at: usize) -> bool {
    let last = text[..at].trim_end_matches([' ', '\t']).as_bytes().last().copied().unwrap_or(b'\n');
    let is_group = last.is_ascii_digit() || last.is_ascii_uppercase() || last == b')';
    is_group && !text[at..].starts_with('\n')
}

fn follows_bearer(text: &str, at: usize) -> bool {
    let tail = text[..at].trim_end_matches([' ', '\t']).as_bytes().last_chunk::<6>();
    tail.is_some_and(|word| word.eq_ignore_ascii_case(b"bearer")) && !text[at..].starts_with('\n')
}
