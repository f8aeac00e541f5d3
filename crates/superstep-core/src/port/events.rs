//! Journaled events of runs: numbered within a thread, so that a client that reconnects misses nothing.
//!
//! Defines such an event, the filter for events, and the order of the events of a commit. The engine creates and
//! numbers events; a checkpointer stores them.

use super::{Commit, errors};
use crate::error::{Error, Result};
use crate::id::RunId;
use crate::value::AnyValue;

/// One journaled event of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEvent {
    /// Number of the event within the thread: assigned by the lease holder, from 1, increasing, possibly with gaps.
    pub number: u64,
    /// The run that published the event.
    pub run: RunId,
    /// Content of the event.
    pub payload: AnyValue,
}

/// A filter for the events of a thread; ascending by number.
#[derive(Debug, Clone, Default)]
pub struct EventsQuery {
    /// Only events with a higher number than this.
    pub after: Option<u64>,
    /// Only events of this run.
    pub run: Option<RunId>,
    /// Maximum number of events.
    pub limit: Option<usize>,
}

impl EventsQuery {
    /// Returns true if an event matches, without regard to the limit.
    #[must_use]
    pub fn matches(&self, number: u64, run: RunId) -> bool {
        self.after.is_none_or(|after| number > after) && self.run.is_none_or(|expected| expected == run)
    }
}

/// Returns the events of nested commits, in the order of their numbers; the numbers of the commits may interleave.
///
/// # Errors
/// Returns an error if a number is 0 or occurs twice.
pub fn sort_events<'a>(commits: impl IntoIterator<Item = &'a Commit>) -> Result<Vec<&'a StoredEvent>> {
    let mut events: Vec<&StoredEvent> = commits.into_iter().flat_map(|commit| &commit.events).collect();
    events.sort_by_key(|event| event.number);
    if events.first().is_some_and(|first| first.number == 0) {
        return Err(Error::internal("invalid event number 0: numbers start with 1"));
    }
    match events.windows(2).find(|pair| pair[0].number == pair[1].number) {
        Some(pair) => Err(Error::internal(format!("two events of one commit have the number {}", pair[0].number))),
        None => Ok(events),
    }
}

/// Returns the number of events of a commit, by their increasing `numbers`, that a checkpointer skips because it
/// has them already.
///
/// `last` is the last number ever stored. In a repeated commit, which a checkpointer recognises by one of its
/// checkpoints (`is_repeat`), the events up to `last` are skipped. In a commit without a checkpoint, all or none
/// are skipped: all only if `is_stored` returns true for each.
///
/// # Errors
/// Returns an error if the first number is not above `last` and the commit is not a repeated one, or if `is_stored`
/// fails.
pub fn count_duplicates<E: From<Error>>(
    numbers: impl ExactSizeIterator<Item = u64>,
    last: u64,
    is_repeat: bool,
    mut is_stored: impl FnMut(usize) -> std::result::Result<bool, E>,
) -> std::result::Result<usize, E> {
    let (count, mut stored, mut first) = (numbers.len(), 0, 0);
    for number in numbers.take_while(|number| *number <= last) {
        first = if stored == 0 { number } else { first };
        stored += 1;
    }
    if stored == 0 || is_repeat {
        return Ok(stored);
    }
    let mut all_stored = stored == count;
    for index in 0..stored {
        all_stored = all_stored && is_stored(index)?;
    }
    if all_stored { Ok(stored) } else { Err(errors::event_out_of_order(first, last).into()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::ErrorCode;

    fn duplicates(numbers: &[u64], last: u64, is_repeat: bool, stored: &[u64]) -> Option<usize> {
        let count =
            count_duplicates(numbers.iter().copied(), last, is_repeat, |index| Ok(stored.contains(&numbers[index])));
        count.map_err(|error: Error| assert_eq!(error.code(), ErrorCode::Internal)).ok()
    }

    /// Numbers, the last stored number, true for a repeated commit, the stored numbers, and the expected count of
    /// skipped events.
    type Row<'a> = (&'a [u64], u64, bool, &'a [u64], Option<usize>);

    /// R-FWK-33: new events are stored, existing ones skipped, and other late ones rejected.
    #[test]
    fn events_are_new_or_known_or_late() {
        let rows: [Row<'_>; 9] = [
            (&[], 5, false, &[], Some(0)),
            (&[6, 9], 5, false, &[], Some(0)),
            (&[4, 5], 5, false, &[4, 5], Some(2)),
            (&[4, 5], 5, false, &[4], None),
            (&[4, 5], 5, false, &[], None),
            (&[5, 6], 5, false, &[5], None),
            (&[5, 6], 5, true, &[], Some(1)),
            (&[4, 5], 5, true, &[], Some(2)),
            (&[6, 7], 5, true, &[], Some(0)),
        ];
        for (numbers, last, is_repeat, stored, expected) in rows {
            assert_eq!(duplicates(numbers, last, is_repeat, stored), expected, "{numbers:?} after {last}");
        }
    }

    proptest! {
        /// R-FWK-33: a reader that requests pages after its last number misses no event and gets none twice,
        /// however the events were distributed over commits that may have been repeated.
        #[test]
        fn nothing_is_missed_or_doubled(sizes in proptest::collection::vec((1_u64..4, any::<bool>()), 1..20)) {
            let (mut journal, mut last) = (Vec::new(), 0);
            for (size, is_repeated) in sizes {
                let numbers: Vec<u64> = (last + 1..=last + size).collect();
                for _ in 0..=usize::from(is_repeated) {
                    let skipped = duplicates(&numbers, last, false, &journal);
                    prop_assert!(skipped.is_some());
                    journal.extend(&numbers[skipped.unwrap_or(0)..]);
                    last = journal.last().copied().unwrap_or(0);
                }
            }
            prop_assert_eq!(journal, (1..=last).collect::<Vec<u64>>());
        }
    }
}
