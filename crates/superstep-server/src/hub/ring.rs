//! What is held of one thread: told in the order of the numbers, and kept until it is stored.
//!
//! A reader that comes back is answered by the store and then by the ring, so the ring may let go of what is stored, and of
//! previews, which never are. What is not stored yet stays, up to a hard limit; past that the ring remembers what it owes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::{BATCH, Found, Told};
use crate::config::RingSize;

/// How many times its size a ring grows for what is not stored yet.
const UNSAVED: usize = 16;

pub(super) struct Ring {
    told: VecDeque<Held>,
    /// What came before something with a lower number that is still to come.
    early: BTreeMap<u64, Arc<Told>>,
    /// Of both.
    bytes: usize,
    /// Everything above this was told here; nothing before the first event.
    from: Option<u64>,
    /// The last that was told.
    last: Option<u64>,
    /// The last that the ring has let go of.
    let_go: u64,
    /// The last that is known to be stored. Whatever has a lower number is stored too, or never will be.
    stored: u64,
    /// The last that the ring has let go of although it was not stored.
    owed: u64,
    size: RingSize,
}

struct Held {
    told: Arc<Told>,
    /// What comes right before it was not told here: the store knows whether there is anything.
    follows_gap: bool,
}

/// What the store alone has.
#[derive(Clone, Copy)]
pub(super) struct Below {
    /// Everything up to here.
    pub(super) floor: u64,
    /// Up to here not yet; 0 when it has everything.
    pub(super) owed: u64,
}

impl Ring {
    pub(super) fn new(size: RingSize) -> Self {
        let (told, early) = (VecDeque::new(), BTreeMap::new());
        Self { told, early, bytes: 0, from: None, last: None, let_go: 0, stored: 0, owed: 0, size }
    }

    /// Takes an event. One that others have to come before waits for them; a run that begins waits for nothing, since what
    /// is missing before it is of another one.
    pub(super) fn take(&mut self, told: Arc<Told>, is_start: bool) {
        let next = self.last.map_or(told.number, |last| last + 1);
        if told.number < next {
            // Its place was passed: it is in the store, or whole in a later event.
            return;
        }
        self.bytes += told.text.len();
        if told.number == next || is_start {
            let follows_gap = told.number > next;
            self.push(told, follows_gap);
            self.catch_up();
        } else {
            self.early.insert(told.number, told);
        }
        self.make_room();
    }

    /// Everything up to a number is stored.
    pub(super) fn stored(&mut self, number: u64) {
        self.stored = self.stored.max(number);
        self.make_room();
    }

    /// Whether something waits for an event that has not come.
    pub(super) fn holds_back(&self) -> bool {
        !self.early.is_empty()
    }

    /// Lets go on what waits, where the store has all that is missing before it: readers find it there.
    pub(super) fn pass_stored(&mut self) {
        while self.early.first_key_value().is_some_and(|(first, _)| *first <= self.stored + 1) {
            self.pass_gap();
        }
    }

    /// Nothing comes any more, and what is not stored by now never will be.
    pub(super) fn end(&mut self) {
        while self.holds_back() {
            self.pass_gap();
        }
        self.owed = 0;
        self.make_room();
    }

    /// The server stops in the middle: readers come back, and find what waits here behind what it waits for.
    pub(super) fn cut(&mut self) {
        self.bytes -= self.early.values().map(|told| told.text.len()).sum::<usize>();
        self.early.clear();
    }

    /// What the store alone has; nothing when that is not known yet.
    pub(super) fn below(&self) -> Option<Below> {
        let owed = if self.owed > self.stored { self.owed } else { 0 };
        self.from.map(|from| Below { floor: from.max(self.let_go), owed })
    }

    /// What comes after a number; nothing where there is nothing yet.
    pub(super) fn after(&self, number: u64) -> Option<Found> {
        if self.let_go > number {
            return Some(Found::TooSlow);
        }
        let first = self.told.partition_point(|held| held.told.number <= number);
        let held = self.told.get(first)?;
        if held.follows_gap && held.told.number > number + 1 {
            return Some(Found::Gap(held.told.number - 1));
        }
        let rest = self.told.range(first + 1..).take_while(|held| !held.follows_gap);
        Some(Found::Events(std::iter::once(held).chain(rest).take(BATCH).map(|held| held.told.clone()).collect()))
    }

    fn push(&mut self, told: Arc<Told>, follows_gap: bool) {
        self.from.get_or_insert(told.number.saturating_sub(1));
        self.last = Some(told.number);
        self.told.push_back(Held { told, follows_gap });
    }

    /// Tells what waited for the event that has just come.
    fn catch_up(&mut self) {
        while let Some(entry) = self.early.first_entry()
            && self.last.is_none_or(|last| *entry.key() == last + 1)
        {
            let told = entry.remove();
            self.push(told, false);
        }
    }

    /// Tells what waits for the first event that is missing.
    fn pass_gap(&mut self) {
        if let Some((_, told)) = self.early.pop_first() {
            self.push(told, true);
            self.catch_up();
        }
    }

    fn make_room(&mut self) {
        while self.is_over(1) && self.told.len() + self.early.len() > 1 {
            let is_far_over = self.is_over(UNSAVED);
            match self.told.front() {
                Some(first) if is_far_over || self.is_free(&first.told) => self.let_go_of_first(),
                None if is_far_over => self.give_up_gap(),
                _ => return,
            }
        }
    }

    fn is_over(&self, times: usize) -> bool {
        let held = self.told.len() + self.early.len();
        held > self.size.events.saturating_mul(times) || self.bytes > self.size.bytes.saturating_mul(times)
    }

    /// Whether a reader that comes back does not need it from here.
    fn is_free(&self, told: &Told) -> bool {
        told.is_preview || told.number <= self.stored
    }

    fn let_go_of_first(&mut self) {
        let Some(Held { told, .. }) = self.told.pop_front() else { return };
        (self.bytes, self.let_go) = (self.bytes - told.text.len(), told.number);
        if !self.is_free(&told) {
            self.owed = told.number;
        }
    }

    /// More waits for a missing event than can be held: readers get it from the store, once it is there.
    fn give_up_gap(&mut self) {
        let Some((first, _)) = self.early.first_key_value() else { return };
        self.let_go = first - 1;
        self.owed = self.let_go;
        self.pass_gap();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;

    fn ring(events: usize) -> Ring {
        Ring::new(RingSize { events, ..RingSize::default() })
    }

    fn tell(ring: &mut Ring, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            let told = Told { number, is_preview: false, text: String::new(), event: OnceLock::new() };
            ring.take(Arc::new(told), number == 1);
        }
    }

    fn after(ring: &Ring, number: u64) -> Vec<u64> {
        match ring.after(number) {
            Some(Found::Events(told)) => told.iter().map(|told| told.number).collect(),
            _ => Vec::new(),
        }
    }

    /// R-SRV-9: what waits for a missing event is told with it, or once the store has it; readers are sent there then.
    #[test]
    fn a_missing_event_is_waited_for_until_it_is_told_or_stored() {
        let mut ring = ring(100);
        tell(&mut ring, [1, 2, 5, 4]);
        ring.pass_stored();
        assert_eq!((after(&ring, 0), ring.holds_back()), (vec![1, 2], true));
        tell(&mut ring, [3, 8, 9]);
        assert_eq!(after(&ring, 0), [1, 2, 3, 4, 5]);
        // 6 is stored, and 7 is on its way.
        ring.stored(6);
        ring.pass_stored();
        assert!(ring.holds_back());
        ring.stored(7);
        ring.pass_stored();
        assert_eq!(after(&ring, 0), [1, 2, 3, 4, 5]);
        assert!(matches!(ring.after(5), Some(Found::Gap(7))));
        assert_eq!(after(&ring, 7), [8, 9]);
        // Told after all: whoever came past has it from the store.
        tell(&mut ring, [6, 7, 10]);
        assert_eq!(after(&ring, 7), [8, 9, 10]);
    }

    /// R-SRV-9, R-SRV-18: a reader of a server that stops is not led past an event that is still being saved.
    #[test]
    fn what_waits_is_not_told_when_the_server_stops() {
        let mut ring = ring(100);
        tell(&mut ring, [1, 2, 4, 5]);
        ring.cut();
        assert_eq!((after(&ring, 0), ring.holds_back()), (vec![1, 2], false));
        assert!(ring.after(2).is_none());
    }

    /// R-SRV-9: more than can be held is owed until it is stored, whether it was told or waits for a missing event.
    #[test]
    fn what_cannot_be_held_is_owed_until_it_is_stored() {
        let mut ring = ring(2);
        ring.stored(1);
        tell(&mut ring, 1..=20);
        assert_eq!(ring.below().map(|below| (below.floor, below.owed)), Some((1, 0)));
        assert_eq!(after(&ring, 1).len(), 19);
        tell(&mut ring, 30..=80);
        let below = ring.below().unwrap();
        assert!(below.floor >= 29 && below.owed == below.floor, "{} {}", below.floor, below.owed);
        assert!(matches!(ring.after(20), Some(Found::TooSlow)));
        ring.stored(80);
        assert_eq!(ring.below().map(|below| (below.floor, below.owed)), Some((78, 0)));
        assert_eq!(after(&ring, 78), [79, 80]);
    }
}
