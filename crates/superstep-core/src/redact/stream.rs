//! Text that comes in pieces, redacted before all of it is there.

use super::scan::{Hit, What};
use super::{Counts, Kind, Redaction, pem};

/// What is held back before it is looked at closely, in bytes.
const PATIENCE: usize = 256;

/// The longest hit with blanks inside, in bytes; a private key is longer, and is held back whole.
const LONGEST_WITH_BLANKS: usize = 80;

/// Stands for a number before what is held; no hit begins with it.
const NUMBER: &str = "0 ";

/// Stands for a number after what is let go; no hit ends with it.
const NO_GROUP: &str = "0x";

/// Redacts text that comes in pieces: what may be the beginning of a hit is held back until that is known.
///
/// What comes out, joined, is the redacted whole, as long as no hit and no word is longer than 64 KB
/// ([`RedactionStream::BOUND`]): then what is held back is let go. Patterns of the user are looked for within lines.
///
/// ```
/// use superstep_core::redact::{Redaction, RedactionStream};
///
/// let mut stream = RedactionStream::new(Redaction::default());
/// assert_eq!(stream.push("mail to ada@exa"), "mail to ");
/// assert_eq!(stream.push("mple.com now"), "[REDACTED:mail] ");
/// assert_eq!(stream.finish(), "now");
/// ```
#[derive(Debug, Clone)]
pub struct RedactionStream {
    redaction: Redaction,
    /// What is held back, after the context.
    held: String,
    /// How many bytes of what is held only say what stood before it: a number, or no line's end.
    context: usize,
    counts: Counts,
}

impl RedactionStream {
    /// How much is held back at most, in bytes.
    pub const BOUND: usize = pem::LONGEST;

    /// Begins a text.
    pub fn new(redaction: Redaction) -> Self {
        Self { redaction, held: String::new(), context: 0, counts: Counts::default() }
    }

    /// Takes the next piece, and gives what is certain by now.
    #[must_use]
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        match self.cut() {
            cut if cut > self.context => self.let_go(cut),
            _ => String::new(),
        }
    }

    /// Ends the text, and gives what was held back. Another text may begin.
    #[must_use]
    pub fn finish(&mut self) -> String {
        let redacted = self.let_go(self.held.len());
        (self.held, self.context) = (String::new(), 0);
        redacted
    }

    /// What was found so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    fn let_go(&mut self, cut: usize) -> String {
        let rest = self.held.split_off(cut);
        let mut whole = std::mem::take(&mut self.held);
        // Whether a number stands before or after others is known to the whole, so it must be known to its parts.
        let goes_on = ends_with_number(&whole) && rest.starts_with(|sign: char| sign.is_ascii_digit());
        let is_hit = || self.redaction.find(&rest).first().is_some_and(|hit| hit.start == 0);
        let after = if goes_on && !is_hit() { NO_GROUP } else { "" };
        whole.push_str(after);
        let redacted = self.redaction.text_counted(&whole, &mut self.counts);
        let redacted = redacted[self.context..redacted.len() - after.len()].to_owned();
        let context = match ends_with_number(&redacted) {
            true => NUMBER,
            false if redacted.ends_with([' ', '\t']) => " ",
            false => "",
        };
        (self.held, self.context) = (format!("{context}{rest}"), context.len());
        redacted
    }

    /// Up to where no hit can reach over the end of what is held.
    fn cut(&self) -> usize {
        let text = self.held.as_str();
        if text.len() > Self::BOUND {
            return text.len();
        }
        let hits = self.redaction.find(text);
        let end = self.open_key(&hits).unwrap_or(text.len());
        let is_free = |at: &usize| !hits.iter().any(|hit| hit.start <= *at && *at < self.reach(hit));
        let by_lines = !self.redaction.0.own.is_empty();
        let blanks = text[..end].rmatch_indices([' ', '\t', '\n']);
        let mut blanks = blanks.filter(|(_, blank)| !by_lines || *blank == "\n").map(|(at, _)| at).filter(is_free);
        // Of what has so much after it, everything is known; but `Bearer` is no part of its hit.
        let is_known = |at: usize| text.len() > PATIENCE && at + LONGEST_WITH_BLANKS < text.len();
        let is_sure = |at: usize| !follows_bearer(text, at) && (is_known(at) || !follows_group(text, at));
        blanks.find(|at| is_sure(*at)).map_or(0, |at| at + 1)
    }

    /// How far one must not cut after the beginning of a hit: the line after a key that was cut off says that it was.
    fn reach(&self, hit: &Hit) -> usize {
        let (text, rest) = (self.held.as_str(), &self.held[hit.end..]);
        let is_open = hit.what == What::Known(Kind::PrivateKey) && !text[hit.start..hit.end].contains(pem::END);
        let line = text.len() - rest.trim_start().len();
        match is_open {
            true => text[line..].find('\n').map_or(text.len(), |end| line + end),
            false => hit.end,
        }
    }

    /// Where a private key begins that may go on: its last line may come, or the rest of its label.
    fn open_key(&self, hits: &[Hit]) -> Option<usize> {
        let text = self.held.as_str();
        let begins = text.rfind(pem::BEGIN).filter(|_| self.redaction.0.kinds.has(Kind::PrivateKey))?;
        let is_told =
            text[begins + pem::BEGIN.len()..].contains(pem::LINE) || text.len() - begins >= LONGEST_WITH_BLANKS;
        let key = hits.iter().rev().find(|hit| text[hit.start..hit.end].contains(pem::BEGIN));
        let open = key.filter(|key| !text[key.start..key.end].contains(pem::END)).map(|key| key.start);
        open.or((!is_told).then_some(begins))
    }
}

/// Whether a text ends with a number and one blank.
fn ends_with_number(text: &str) -> bool {
    matches!(text.as_bytes(), [.., b'0'..=b'9', b' '])
}

/// Whether a hit may have this blank between groups of digits.
fn follows_group(text: &str, at: usize) -> bool {
    let last = text[..at].trim_end_matches([' ', '\t']).as_bytes().last().copied().unwrap_or(b'\n');
    let is_group = last.is_ascii_digit() || last.is_ascii_uppercase() || last == b')';
    is_group && !text[at..].starts_with('\n')
}

fn follows_bearer(text: &str, at: usize) -> bool {
    let tail = text[..at].trim_end_matches([' ', '\t']).as_bytes().last_chunk::<6>();
    tail.is_some_and(|word| word.eq_ignore_ascii_case(b"bearer")) && !text[at..].starts_with('\n')
}
