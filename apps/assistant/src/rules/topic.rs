//! What a question is about, which planning and answering both start from.

use jiff::civil::Date;

use super::Book;
use super::query::Query;
use super::reading::Reading;
use super::sums::calculation;
use super::talk::{Talk, talk};
use super::words::words;
use crate::prompt::Ask;

/// What a question is about.
pub(super) enum Topic {
    Talk(Talk),
    Calculation(String),
    Data(Box<Query>),
    /// What has not happened yet.
    Future,
    /// Whatever documents say about it.
    Text,
}

/// A question, read.
pub(super) struct Understood {
    /// As it is meant: with what the user said when asked, and with what a short question goes on from.
    pub(super) question: String,
    pub(super) reading: Reading,
    pub(super) topic: Topic,
}

/// How far back a question may go on from another.
const LONGEST_CHAIN: usize = 5;

impl Book {
    /// Reads a question.
    pub(super) fn understand(&self, ask: &Ask) -> Understood {
        let today = ask.today.parse().unwrap_or(Date::ZERO);
        let question = self.meant(ask, today);
        let reading = Reading::new(&self.lexicon, &question, today);
        let topic = self.topic(&question, &reading);
        Understood { question, reading, topic }
    }

    fn topic(&self, question: &str, reading: &Reading) -> Topic {
        if let Some(talk) = talk(question) {
            return Topic::Talk(talk);
        }
        if let Some(text) = calculation(question) {
            return Topic::Calculation(text);
        }
        let defines = is_definition(question);
        if reading.signs.is_future && !defines && (reading.signs.counts.is_some() || !reading.items.is_empty()) {
            return Topic::Future;
        }
        match self.query(reading).filter(|_| !defines) {
            Some(query) => Topic::Data(Box::new(query)),
            None => Topic::Text,
        }
    }

    /// The question with what the user meant, and with the question before where it only changes a part of that.
    fn meant(&self, ask: &Ask, today: Date) -> String {
        let mut question = ask.question.clone();
        for clarified in &ask.clarified {
            question = match find_ignoring_case(&question, &clarified.about) {
                Some(at) if !clarified.about.is_empty() => {
                    let (start, end) = (at, at + clarified.about.len());
                    format!("{}{}{}", &question[..start], clarified.answer, &question[end..])
                }
                _ => clarified.answer.clone(),
            };
        }
        let mine: Vec<&str> =
            ask.history.iter().filter(|said| said.role == "user").map(|said| said.text.as_str()).collect();
        let earlier = &mine[mine.len().saturating_sub(LONGEST_CHAIN)..];
        self.continued(&question, earlier, today).unwrap_or(question)
    }

    /// `And in September?`: the question before, with other days or other values.
    fn continued(&self, question: &str, earlier: &[&str], today: Date) -> Option<String> {
        let all = words(question);
        let skipped = match all.as_slice() {
            [first, ..] if first.is_in(&["and"]) => 1,
            [first, second, ..] if first.is_in(&["what", "how"]) && second.is_in(&["about"]) => 2,
            _ => return None,
        };
        let (last, before) = earlier.split_last()?;
        let before = self.continued(last, before, today).unwrap_or_else(|| (*last).to_owned());
        let added: Vec<&str> = all[skipped..].iter().map(|word| word.shown.as_str()).collect();
        let (old, new) =
            (Reading::new(&self.lexicon, &before, today), Reading::new(&self.lexicon, &added.join(" "), today));
        if !new.unknown.is_empty() || all.len() > 8 || (new.items.is_empty() && new.periods.is_empty()) {
            return None;
        }
        let mut dropped = vec![false; old.words.len()];
        let mut drop = |start: usize, end: usize| dropped[start..end].iter_mut().for_each(|dropped| *dropped = true);
        if !new.periods.is_empty() {
            old.periods.iter().for_each(|period| drop(period.start, period.end));
        }
        for item in &old.items {
            let same = |other: &super::lexicon::Item| {
                item.meanings.iter().any(|one| other.meanings.iter().any(|two| one.is_alike(two)))
            };
            if new.items.iter().any(same) {
                drop(item.start, item.end);
            }
        }
        let kept =
            old.words.iter().zip(&dropped).filter(|(_, dropped)| !**dropped).map(|(word, _)| word.shown.as_str());
        Some(kept.chain(added).collect::<Vec<_>>().join(" "))
    }
}

fn find_ignoring_case(text: &str, part: &str) -> Option<usize> {
    match text.is_ascii() {
        true => text.to_ascii_lowercase().find(&part.to_ascii_lowercase()),
        false => text.find(part),
    }
}

/// Whether a question asks what words mean.
fn is_definition(question: &str) -> bool {
    let lower = question.to_lowercase();
    let trimmed = lower.trim_end_matches(['?', '.', '!', ' ']);
    let ends = [" mean", " means", " defined", " stand for"].iter().any(|end| trimmed.ends_with(end));
    let begins = ["what is a ", "what is an ", "what's a ", "what's an "].iter().any(|begin| lower.starts_with(begin));
    ends || begins
        || ["definition of", "define ", "what is meant by", "do we call", "what do we mean", "explain "]
            .iter()
            .any(|part| lower.contains(part))
}
