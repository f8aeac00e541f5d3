//! Decodes the bytes of tokens to text: complete characters only, and nothing that may be the start of a stop
//! sequence.

/// Decoder with its undelivered text.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    pending: String,
    stops: Vec<String>,
    has_stopped: bool,
}

impl Outgoing {
    /// Creates a decoder that stops at these sequences.
    pub(crate) fn new(stops: &[String]) -> Self {
        Self { stops: stops.iter().filter(|stop| !stop.is_empty()).cloned().collect(), ..Self::default() }
    }

    /// Returns true if a stop sequence occurred; no text follows.
    pub(crate) fn has_stopped(&self) -> bool {
        self.has_stopped
    }

    /// Adds the bytes of a token; returns the text that can be delivered.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> String {
        self.bytes.extend_from_slice(bytes);
        let complete = whole_letters(&self.bytes);
        let letters: Vec<u8> = self.bytes.drain(..complete).collect();
        self.pending.push_str(&String::from_utf8_lossy(&letters));
        self.release(false)
    }

    /// Returns the text that was held back, at the end of the response.
    pub(crate) fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.bytes);
        self.pending.push_str(&String::from_utf8_lossy(&rest));
        self.release(true)
    }

    fn release(&mut self, is_last: bool) -> String {
        if self.has_stopped {
            return String::new();
        }
        if let Some(at) = self.stops.iter().filter_map(|stop| self.pending.find(stop.as_str())).min() {
            self.has_stopped = true;
            self.pending.truncate(at);
            return std::mem::take(&mut self.pending);
        }
        let back = if is_last { 0 } else { self.held_back() };
        let rest = self.pending.split_off(self.pending.len() - back);
        std::mem::replace(&mut self.pending, rest)
    }

    /// Returns the number of bytes at the end that may start a stop sequence.
    fn held_back(&self) -> usize {
        let overlap = |stop: &String| {
            let lengths = stop.char_indices().map(|(at, _)| at).skip(1);
            lengths.filter(|length| self.pending.ends_with(&stop[..*length])).last().unwrap_or(0)
        };
        self.stops.iter().map(overlap).max().unwrap_or(0)
    }
}

/// Returns the length of the prefix without an incomplete character. Invalid bytes count as complete.
fn whole_letters(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        match std::str::from_utf8(&bytes[at..]) {
            Ok(_) => return bytes.len(),
            Err(error) => match error.error_len() {
                Some(invalid) => at += error.valid_up_to() + invalid,
                None => return at + error.valid_up_to(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(stops: &[&str], tokens: &[&[u8]]) -> (Vec<String>, bool) {
        let mut outgoing = Outgoing::new(&stops.iter().map(|&stop| stop.to_owned()).collect::<Vec<_>>());
        let mut chunks: Vec<String> = tokens.iter().map(|token| outgoing.take(token)).collect();
        chunks.push(outgoing.finish());
        (chunks, outgoing.has_stopped())
    }

    fn check(stops: &[&str], tokens: &[&[u8]], chunks: &[&str], has_stopped: bool) {
        assert_eq!(out(stops, tokens), (chunks.iter().map(|&chunk| chunk.to_owned()).collect(), has_stopped));
    }

    #[test]
    fn only_complete_utf8_is_streamed() {
        check(&[], &[b"a\xf0\x9f", b"\x98", b"\x80b"], &["a", "", "😀b", ""], false);
        check(&[], &[b"a\xff", b"b\xe2\x82"], &["a\u{fffd}", "b", "\u{fffd}"], false);
    }

    #[test]
    fn stop_sequences_are_never_streamed() {
        check(&["END"], &[b"one EN", b"D two", b"x"], &["one ", "", "", ""], true);
        check(&["END"], &[b"one EN", b"Dless"], &["one ", "", ""], true);
        check(&["END"], &[b"one E", b"N", b"O"], &["one ", "", "ENO", ""], false);
        check(&["END"], &[b"one EN"], &["one ", "EN"], false);
        check(&["b", "ab"], &[b"xa", b"b"], &["x", "", ""], true);
        check(&["éé"], &["aé".as_bytes(), "b".as_bytes()], &["a", "éb", ""], false);
        check(&[""], &[b"a"], &["a", ""], false);
    }
}
