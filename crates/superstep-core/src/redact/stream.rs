//! Text that comes in pieces, redacted before all of it is there.

use super::scan::{Hit, What};
use super::{Counts, Kind, Redaction, pem};

/// What is held back before it is looked at closely, in bytes.
const PATIENCE: usize = 256;

/// The longest hit with blanks inside, in bytes; a private key is longer, and is held back whole.
const LONGEST_WITH_BLANKS: usize = 80;

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
    held: String,
    counts: Counts,
}

impl RedactionStream {
    /// How much is held back at most, in bytes.
    pub const BOUND: usize = pem::LONGEST;

    /// Begins a text.
    pub fn new(redaction: Redaction) -> Self {
        Self { redaction, held: String::new(), counts: Counts::default() }
    }

    /// Takes the next piece, and gives what is certain by now.
    #[must_use]
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let cut = self.cut();
        let rest = self.held.split_off(cut);
        self.let_go(rest)
    }

    /// Ends the text, and gives what was held back. Another text may begin.
    #[must_use]
    pub fn finish(&mut self) -> String {
        self.let_go(String::new())
    }

    /// What was found so far.
    #[must_use]
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    fn let_go(&mut self, rest: String) -> String {
        let whole = std::mem::replace(&mut self.held, rest);
        self.redaction.text_counted(&whole, &mut self.counts).into_owned()
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

    /// Where a private key begins that may go on.
    fn open_key(&self, hits: &[Hit]) -> Option<usize> {
        let text = self.held.as_str();
        let begins = text.rfind(pem::BEGIN).filter(|_| self.redaction.0.kinds.has(Kind::PrivateKey))?;
        if !text[begins + pem::BEGIN.len()..].contains(pem::LINE) {
            return (text.len() - begins < LONGEST_WITH_BLANKS).then_some(begins);
        }
        let key = hits.iter().find(|hit| hit.start <= begins && begins < hit.end)?;
        let rest = text[key.end..].trim_start();
        let ends = rest.strip_prefix(pem::END).map_or(pem::END.starts_with(rest), |label| !label.contains(pem::LINE));
        (ends && !text[begins..key.end].contains(pem::END)).then_some(key.start)
    }
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
