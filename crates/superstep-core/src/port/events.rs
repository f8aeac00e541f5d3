//! What runs said and a store keeps: numbered within a thread, so that a reader that comes back misses nothing.
//!
//! Says what such an event is, which of them are asked for and which commits bring them in order. Who makes events and
//! numbers them is the engine's business; where they are kept, a store's.

use super::{Commit, refusal};
use crate::datum::Datum;
use crate::error::{Error, Result};
use crate::id::RunId;

/// One thing a run said that is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEvent {
    /// Its place among the events of the thread: given by whoever has the lease, from 1, rising, perhaps with gaps.
    pub number: u64,
    /// The run that said it.
    pub run: RunId,
    /// What it said.
    pub body: Datum,
}

/// Which events of a thread; ascending by number.
#[derive(Debug, Clone, Default)]
pub struct EventsQuery {
    /// Only events with a higher number than this.
    pub after: Option<u64>,
    /// Only events of this run.
    pub run: Option<RunId>,
    /// At most this many.
    pub limit: Option<usize>,
}

impl EventsQuery {
    /// Whether an event is one that is asked for, the limit aside.
    #[must_use]
    pub fn matches(&self, number: u64, run: RunId) -> bool {
        self.after.is_none_or(|after| number > after) && self.run.is_none_or(|wanted| wanted == run)
    }
}

/// The events of parts of a commit, in the order of their numbers; each part may have numbers between those of another.
///
/// # Errors
/// When a number is 0 or comes twice.
pub fn events_in_order<'a>(parts: impl IntoIterator<Item = &'a Commit>) -> Result<Vec<&'a StoredEvent>> {
    let mut events: Vec<&StoredEvent> = parts.into_iter().flat_map(|part| &part.events).collect();
    events.sort_by_key(|event| event.number);
    if events.first().is_some_and(|first| first.number == 0) {
        return Err(Error::internal("an event has the number 0: they begin with 1"));
    }
    match events.windows(2).find(|pair| pair[0].number == pair[1].number) {
        Some(pair) => Err(Error::internal(format!("two events of one commit have the number {}", pair[0].number))),
        None => Ok(events),
    }
}

/// How many events of a commit, by their rising `numbers`, a store leaves out because it has them already.
///
/// `last` is the last number that was ever kept. In a commit that is sent again, which a store knows by one of its
/// checkpoints (`is_repeat`), they are those up to it; in one without a checkpoint it is all or none of them, and all only
/// when `is_kept` says of each that it is there as it is.
///
/// # Errors
/// When the first of them is not above the last and the commit is not one that is sent again, or `is_kept` fails.
pub fn events_known<E: From<Error>>(
    numbers: impl ExactSizeIterator<Item = u64>,
    last: u64,
    is_repeat: bool,
    mut is_kept: impl FnMut(usize) -> std::result::Result<bool, E>,
) -> std::result::Result<usize, E> {
    let (count, mut known, mut first) = (numbers.len(), 0, 0);
    for number in numbers.take_while(|number| *number <= last) {
        first = if known == 0 { number } else { first };
        known += 1;
    }
    if known == 0 || is_repeat {
        return Ok(known);
    }
    let mut is_all = known == count;
    for place in 0..known {
        is_all = is_all && is_kept(place)?;
    }
    if is_all { Ok(known) } else { Err(refusal::late_event(first, last).into()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::Code;

    fn known(numbers: &[u64], last: u64, is_repeat: bool, kept: &[u64]) -> Option<usize> {
        let known = events_known(numbers.iter().copied(), last, is_repeat, |place| Ok(kept.contains(&numbers[place])));
        known.map_err(|error: Error| assert_eq!(error.code(), Code::Internal)).ok()
    }

    /// Numbers, the last that was kept, whether it is a repeat, which are kept, and how many are left out.
    type Row<'a> = (&'a [u64], u64, bool, &'a [u64], Option<usize>);

    /// R-FWK-33: new events are taken, known ones left out, and others that are late refused.
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
        for (numbers, last, is_repeat, kept, expected) in rows {
            assert_eq!(known(numbers, last, is_repeat, kept), expected, "{numbers:?} after {last}");
        }
    }

    proptest! {
        /// R-FWK-33: a reader that asks with its last number, page by page, misses nothing and gets nothing twice, however
        /// events were spread over commits that may have been sent again.
        #[test]
        fn nothing_is_missed_or_doubled(sizes in proptest::collection::vec((1_u64..4, any::<bool>()), 1..20)) {
            let (mut kept, mut last) = (Vec::new(), 0);
            for (size, is_sent_again) in sizes {
                let numbers: Vec<u64> = (last + 1..=last + size).collect();
                for _ in 0..=usize::from(is_sent_again) {
                    let skipped = known(&numbers, last, false, &kept);
                    prop_assert!(skipped.is_some());
                    kept.extend(&numbers[skipped.unwrap_or(0)..]);
                    last = kept.last().copied().unwrap_or(0);
                }
            }
            prop_assert_eq!(kept, (1..=last).collect::<Vec<u64>>());
        }
    }
}
