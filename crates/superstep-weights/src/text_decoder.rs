//! Decodes the bytes of tokens to text: complete characters only, and nothing that may be the start of a stop
//! sequence.

/// Decoder with its undelivered text.
#[derive(Debug, Default)]
pub(crate) struct TextDecoder {
    bytes: Vec<u8>,
    pending: String,
    stop_sequences: Vec<String>,
    has_stopped: bool,
}

impl TextDecoder {
    /// Creates a decoder that stops at these sequences.
    pub(crate) fn new(stop_sequences: &[String]) -> Self {
        Self {
            stop_sequences: stop_sequences.iter().filter(|stop| !stop.is_empty()).cloned().collect(),
            ..Self::default()
        }
    }

    /// Returns true if a stop sequence occurred; no text follows.
    pub(crate) fn has_stopped(&self) -> bool {
        self.has_stopped
    }

    /// Adds the bytes of a token; returns the text that can be delivered.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> String {
        self.bytes.extend_from_slice(bytes);
        let complete = complete_utf8_length(&self.bytes);
        let text_bytes: Vec<u8> = self.bytes.drain(..complete).collect();
        self.pending.push_str(&String::from_utf8_lossy(&text_bytes));
        self.deliver(false)
    }

    /// Returns the text that was held back, at the end of the response.
    pub(crate) fn finish(&mut self) -> String {
        let remaining = std::mem::take(&mut self.bytes);
        self.pending.push_str(&String::from_utf8_lossy(&remaining));
        self.deliver(true)
    }

    fn deliver(&mut self, is_last: bool) -> String {
        if self.has_stopped {
            return String::new();
        }
        if let Some(index) = self.stop_sequences.iter().filter_map(|stop| self.pending.find(stop.as_str())).min() {
            self.has_stopped = true;
            self.pending.truncate(index);
            return std::mem::take(&mut self.pending);
        }
        let held_back = if is_last { 0 } else { self.held_back_length() };
        let remaining = self.pending.split_off(self.pending.len() - held_back);
        std::mem::replace(&mut self.pending, remaining)
    }

    /// Returns the number of bytes at the end that may start a stop sequence.
    fn held_back_length(&self) -> usize {
        let overlap = |stop: &String| {
            let lengths = stop.char_indices().map(|(index, _)| index).skip(1);
            lengths.filter(|length| self.pending.ends_with(&stop[..*length])).last().unwrap_or(0)
        };
        self.stop_sequences.iter().map(overlap).max().unwrap_or(0)
    }
}

/// Returns the length of the prefix without an incomplete character. Invalid bytes count as complete.
fn complete_utf8_length(bytes: &[u8]) -> usize {
    let mut index = 0;
    loop {
        match std::str::from_utf8(&bytes[index..]) {
            Ok(_) => return bytes.len(),
            Err(error) => match error.error_len() {
                Some(invalid) => index += error.valid_up_to() + invalid,
                None => return index + error.valid_up_to(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(stop_sequences: &[&str], tokens: &[&[u8]]) -> (Vec<String>, bool) {
        let mut decoder = TextDecoder::new(&stop_sequences.iter().map(|&stop| stop.to_owned()).collect::<Vec<_>>());
        let mut chunks: Vec<String> = tokens.iter().map(|token| decoder.take(token)).collect();
        chunks.push(decoder.finish());
        (chunks, decoder.has_stopped())
    }

    fn check(stop_sequences: &[&str], tokens: &[&[u8]], chunks: &[&str], has_stopped: bool) {
        assert_eq!(
            decode(stop_sequences, tokens),
            (chunks.iter().map(|&chunk| chunk.to_owned()).collect(), has_stopped)
        );
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
