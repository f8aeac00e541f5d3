//! What is known of a server besides its answers, for the text of an error: what it wrote to its standard error, what it
//! wrote where a message belongs, how it ended.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::JoinHandle;

/// How much of its standard error is kept.
const LAST_WORDS: usize = 2048;
/// How much of a line that is no message is kept.
const NONSENSE: usize = 120;
/// How long somebody who has ended may take to be heard.
const HEARING: Duration = Duration::from_millis(500);

/// The notes on one server, and the task that belongs to it.
#[derive(Default)]
pub(super) struct Notes {
    words: Arc<Mutex<VecDeque<u8>>>,
    nonsense: Mutex<Option<String>>,
    end: Mutex<Option<String>>,
    /// What reads its standard error, or, in this program, is the server.
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Notes {
    /// On a server that is a task of this program and ends with these notes.
    pub(super) fn of(server: JoinHandle<()>) -> Arc<Self> {
        let notes = Self::default();
        *lock(&notes.task) = Some(server);
        Arc::new(notes)
    }

    /// On a program that says something besides its answers.
    pub(super) fn listening(mut besides: impl AsyncRead + Unpin + Send + 'static) -> Arc<Self> {
        let notes = Self::default();
        let words = Arc::clone(&notes.words);
        let task = tokio::spawn(async move {
            let mut piece = [0; 1024];
            while let Ok(length @ 1..) = besides.read(&mut piece).await {
                let mut words = lock(&words);
                words.extend(&piece[..length]);
                let surplus = words.len().saturating_sub(LAST_WORDS);
                words.drain(..surplus);
            }
        });
        *lock(&notes.task) = Some(task);
        Arc::new(notes)
    }

    /// A line that is no message. The first is kept: what follows is often a consequence.
    pub(super) fn nonsense(&self, line: &[u8]) {
        let shown = plain(&String::from_utf8_lossy(&line[..line.len().min(NONSENSE)]));
        lock(&self.nonsense).get_or_insert(format!("wrote `{shown}` where a message belongs"));
    }

    /// It went too far, and is not heard any more.
    pub(super) fn refused(&self, why: &str) {
        lock(&self.nonsense).replace(why.to_owned());
    }

    /// How it ended.
    pub(super) fn ended(&self, how: String) {
        lock(&self.end).get_or_insert(how);
    }

    /// Waits a moment for the last words of a server that has ended.
    pub(super) async fn settle(&self) {
        let task = lock(&self.task).take();
        if let Some(mut task) = task
            && tokio::time::timeout(HEARING, &mut task).await.is_err()
        {
            task.abort();
        }
    }

    /// All of it as the end of a sentence; empty when there is nothing to say.
    pub(super) fn tail(&self) -> String {
        let mut tail = String::new();
        if let Some(end) = &*lock(&self.end) {
            tail += &format!("; it ended with {end}");
        }
        if let Some(nonsense) = &*lock(&self.nonsense) {
            tail += &format!("; it {nonsense}");
        }
        let words: Vec<u8> = lock(&self.words).iter().copied().collect();
        let words = plain(String::from_utf8_lossy(&words).trim());
        if !words.is_empty() {
            tail += &format!("; its last words: {words}");
        }
        tail
    }
}

impl Drop for Notes {
    fn drop(&mut self) {
        if let Some(task) = lock(&self.task).take() {
            task.abort();
        }
    }
}

/// A text that cannot play tricks on a terminal: no control characters but the end of a line, none that turn the writing
/// round.
pub(super) fn plain(text: &str) -> String {
    let tricks = |letter: char| {
        (letter.is_control() && letter != '\n')
            || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars().map(|letter| if tricks(letter) { '\u{fffd}' } else { letter }).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-82: what a server says in an error text cannot steer a terminal.
    #[test]
    fn tricks_are_taken_out_of_a_text() {
        assert_eq!(plain("a\u{1b}[31mb\u{202e}c\n"), "a\u{fffd}[31mb\u{fffd}c\n");
    }
}
