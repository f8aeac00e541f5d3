//! Removing values that nobody refers to any more.
//!
//! Somebody may refer to one again at any moment, so it takes two rounds. The first says of a value that it is doomed:
//! from then on nobody refers to it anew, and whoever has that value puts another copy. The second, when whoever had just
//! put it has long saved its reference, removes what is doomed and still not referred to; that it is gone is said for a while
//! longer, for whoever found it there a moment before.

use std::collections::BTreeSet;
use std::time::Duration;

use superstep_core::error::Result;
use superstep_core::id::ThreadId;
use superstep_core::port::{Checkpointer, EventsQuery, HistoryQuery, KeyValue, Put, ThreadsQuery};

use super::reference::{DOOMED, Reference, Up, VALUES, WAITING};
use super::{Spilled, event_up, pass_up};

/// How many keys, threads or checkpoints are looked at in one go.
const PAGE: usize = 64;

/// What a round of [`Spilled::collect`] did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    /// Values that checkpoints refer to.
    pub referred_to: usize,
    /// Values that nobody refers to, which will be removed by a round that comes after the time of waiting.
    pub doomed: usize,
    /// Values that were removed.
    pub removed: usize,
}

/// What is said of a value: that it will go, and that it has gone.
const DOOM: &[u8] = b"doomed";
const GONE: &[u8] = b"gone";

fn lasting(time: Duration) -> Put {
    Put { only_new: false, lasts: Some(time) }
}

impl<C: Checkpointer, K: KeyValue> Spilled<C, K> {
    /// Looks through all threads and removes the values that nobody refers to and nobody did the last time.
    ///
    /// To be called now and then, for example once a day; calls may overlap, and a process that dies in between leaves
    /// nothing behind that the next call does not finish. `wait` is how long a value that nobody refers to stays at least,
    /// so it has to be longer than any commit and any such round takes; an hour is plenty.
    ///
    /// # Errors
    ///
    /// When a store cannot be reached or a checkpoint not be read. Nothing that is referred to was removed.
    pub async fn collect(&self, wait: Duration) -> Result<Collected> {
        let doomed = self.keys(DOOMED).await?;
        // Looked at before the checkpoints are: whoever put a value before its time was over has referred to it by then.
        let waiting = self.keys(WAITING).await?;
        let there = self.keys(VALUES).await?;
        let wanted = self.all_wanted().await?;
        let mut collected = Collected { referred_to: wanted.len(), ..Collected::default() };
        for reference in there {
            if wanted.contains(&reference) {
                if doomed.contains(&reference) {
                    self.values.delete(&[reference.doomed_key()]).await?;
                }
            } else if !doomed.contains(&reference) {
                self.values.put(&reference.waiting_key(), b"", lasting(wait)).await?;
                self.values.put(&reference.doomed_key(), DOOM, Put::default()).await?;
                collected.doomed += 1;
            } else if waiting.contains(&reference) {
                collected.doomed += 1;
            } else if self.values.get(&reference.doomed_key()).await?.as_deref() == Some(DOOM) {
                // From now on it is gone, and for a while nobody puts it there again: somebody may just have looked for it.
                self.values.put(&reference.doomed_key(), GONE, lasting(wait)).await?;
                self.values.delete(&[reference.key()]).await?;
                collected.removed += 1;
            }
        }
        Ok(collected)
    }

    async fn keys(&self, prefix: &str) -> Result<BTreeSet<Reference>> {
        let (mut found, mut after) = (BTreeSet::new(), None::<String>);
        loop {
            let keys = self.values.list(prefix, after.as_deref(), PAGE).await?;
            found.extend(keys.iter().filter_map(|key| Reference::from_key(key)));
            match keys.into_iter().last() {
                Some(last) => after = Some(last),
                None => return Ok(found),
            }
        }
    }

    /// Everything that any checkpoint or event of any thread refers to.
    async fn all_wanted(&self) -> Result<BTreeSet<Reference>> {
        let (mut wanted, mut query) = (BTreeSet::new(), ThreadsQuery { after: None, limit: Some(PAGE) });
        loop {
            let threads = self.store.threads(&query).await?;
            for thread in &threads {
                self.wanted_of(thread, &mut wanted).await?;
                self.wanted_by_events(thread, &mut wanted).await?;
            }
            match threads.into_iter().last() {
                Some(last) => query.after = Some(last),
                None => return Ok(wanted),
            }
        }
    }

    async fn wanted_by_events(&self, thread: &ThreadId, wanted: &mut BTreeSet<Reference>) -> Result<()> {
        let mut query = EventsQuery { limit: Some(PAGE), ..EventsQuery::default() };
        loop {
            let mut events = self.store.events(thread, &query).await?;
            let seek = Up::seek();
            events.iter_mut().try_for_each(|event| event_up(&seek, thread, event))?;
            wanted.extend(seek.into_wanted().unwrap_or_default());
            match events.last() {
                Some(last) => query.after = Some(last.number),
                None => return Ok(()),
            }
        }
    }

    async fn wanted_of(&self, thread: &ThreadId, wanted: &mut BTreeSet<Reference>) -> Result<()> {
        for namespace in self.store.namespaces(thread).await? {
            let mut query = HistoryQuery { limit: Some(PAGE), ..HistoryQuery::default() };
            loop {
                let mut listed = self.store.history(thread, &namespace, &query).await?;
                let seek = Up::seek();
                listed.iter_mut().try_for_each(|loaded| pass_up(&seek, thread, loaded))?;
                wanted.extend(seek.into_wanted().unwrap_or_default());
                match listed.last() {
                    Some(last) => query.before = Some(last.checkpoint.id),
                    None => break,
                }
            }
        }
        Ok(())
    }
}
