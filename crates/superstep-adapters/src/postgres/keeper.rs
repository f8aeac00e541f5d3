//! Keeps what this process holds: says every few seconds that it is alive, and gives threads back.
//!
//! Has a connection of its own, so that no crowd of runs can keep it from its work. Giving back is repeated until the
//! server has heard of it: as long as the process is seen, nobody else may take a thread that it seems to hold. It
//! waits for a moment: whoever gives a thread back often takes it again at once, and then there is nothing to tell.

use std::sync::Arc;
use std::time::Duration;

use superstep_core::id::{RunId, ThreadId};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, MissedTickBehavior, timeout};
use tokio_postgres::types::Type;

use super::lease::Holder;
use super::room::{Room, pause};
use super::trouble::Answer;
use super::wire::Wire;

/// The longest time between two signs of life.
const BEAT: Duration = Duration::from_secs(5);
/// How long one journey to the server may take; less where leases lapse sooner.
const JOURNEY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(5));
/// How long a thread that was given back waits for others, to be told together with them.
const MOMENT: Duration = Duration::from_millis(5);
/// How long the end of a store waits for the server.
const PARTING: Duration = Duration::from_secs(5);

/// What there is to do.
pub(super) enum Note {
    /// Threads were given back.
    Given,
    /// Nobody knows whether this thread was taken; whoever asked has given up.
    Doubt(ThreadId),
    /// The store ends.
    Close,
}

pub(super) struct Keeper {
    pub(super) room: Arc<Room>,
    pub(super) holder: Arc<Holder>,
    connection: Option<Wire>,
    doubts: Vec<ThreadId>,
    tries: u32,
}

impl Keeper {
    pub(super) fn new(room: Arc<Room>, holder: Arc<Holder>) -> Self {
        Self { room, holder, connection: None, doubts: Vec::new(), tries: 0 }
    }

    /// Works until the store ends.
    pub(super) async fn keep(mut self, mut notes: UnboundedReceiver<Note>) {
        let period = BEAT.min(self.holder.lapse / 3).max(Duration::from_millis(1));
        let mut beats = tokio::time::interval(period);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut retry, mut is_open) = (None, true);
        while is_open {
            let waiting = retry.unwrap_or_else(|| Instant::now() + BEAT);
            let is_beat = tokio::select! {
                note = notes.recv() => {
                    is_open = self.note(note);
                    while let (true, Ok(note)) = (is_open, notes.try_recv()) {
                        is_open = self.note(Some(note));
                    }
                    retry.get_or_insert_with(|| Instant::now() + MOMENT);
                    false
                }
                _ = beats.tick() => true,
                () = tokio::time::sleep_until(waiting) => false,
            };
            if is_open && (is_beat || retry.is_none_or(|at| at <= Instant::now())) {
                retry = self.perform(is_beat && self.holder.has_any()).await;
            }
        }
        // Whoever does not hear of it waits until the lease lapses.
        drop(timeout(PARTING, self.leave()).await);
    }

    fn note(&mut self, note: Option<Note>) -> bool {
        match note {
            Some(Note::Given) => {}
            Some(Note::Doubt(thread)) => self.doubts.push(thread),
            Some(Note::Close) | None => return false,
        }
        true
    }

    /// Does what there is to do; gives the time of the next try when it could not.
    async fn perform(&mut self, beats: bool) -> Option<Instant> {
        if !beats && !self.holder.has_given() && self.doubts.is_empty() {
            return None;
        }
        let done = timeout((self.holder.lapse / 3).clamp(JOURNEY.0, JOURNEY.1), self.journey(beats)).await;
        if matches!(done, Ok(Ok(()))) {
            self.tries = 0;
            return None;
        }
        self.connection = None;
        self.tries = self.tries.saturating_add(1);
        Some(Instant::now() + pause(self.tries))
    }

    async fn journey(&mut self, beats: bool) -> Answer<()> {
        let address = self.room.address.clone();
        let holder = self.holder.clone();
        let wire = match self.connection.take().filter(|wire| wire.client().is_some()) {
            Some(wire) => wire,
            None => self.room.connect().await?,
        };
        let Some(client) = self.connection.insert(wire).client() else { return Ok(()) };
        if beats {
            let beat = address.fill("SELECT @schema@.beat($1, $2)");
            client.execute_typed(&beat, &[(&holder.id, Type::INT8), (&holder.lapse(), Type::INT8)]).await?;
        }
        let given = holder.given();
        if !given.is_empty() {
            let (rows, fences): (Vec<i64>, Vec<i64>) =
                given.iter().map(|(row, fence)| (*row, fence.cast_signed())).unzip();
            let release = address.fill("SELECT @schema@.release($1, $2, $3)");
            let told =
                [(&rows as _, Type::INT8_ARRAY), (&fences as _, Type::INT8_ARRAY), (&holder.id as _, Type::INT8)];
            client.execute_typed(&release, &told).await?;
            holder.told(&given);
        }
        while let Some(thread) = self.doubts.last() {
            // Whoever takes it now settles the doubt.
            if let Ok(_claim) = holder.claim(thread, RunId::from_bits(0))
                && holder.fence_of(thread) == Some(0)
            {
                let abandon = address.fill("SELECT @schema@.abandon($1, $2)");
                let thread = thread.as_str();
                client.execute_typed(&abandon, &[(&thread, Type::TEXT), (&holder.id, Type::INT8)]).await?;
            }
            self.doubts.pop();
        }
        Ok(())
    }

    /// Gives everything back and leaves nothing behind.
    async fn leave(&mut self) -> Answer<()> {
        let is_known = self.holder.is_known();
        if !is_known && !self.holder.has_given() {
            return Ok(());
        }
        self.journey(false).await?;
        if let Some(client) = self.connection.as_ref().and_then(Wire::client) {
            let left = self.room.address.fill("DELETE FROM @schema@.holder WHERE id = $1");
            client.execute_typed(&left, &[(&self.holder.id, Type::INT8)]).await?;
        }
        Ok(())
    }
}
