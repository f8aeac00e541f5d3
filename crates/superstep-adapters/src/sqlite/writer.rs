//! The one connection that writes, on a thread of its own.
//!
//! Takes whatever is waiting, does it in one transaction, and answers when that is on the disk: so many runs share one
//! sync. What only concerns leases needs no sync: it is worth nothing once the processes that hold them are gone.
//! Never answers before the transaction has ended.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use rusqlite::Connection;
use superstep_core::error::{Code, Error, Result};
use superstep_core::id::{RunId, ThreadId};
use tokio::sync::oneshot;

use super::holder::{Holder, Watch};
use super::lease;
use super::open::Place;
use super::owed::{Debt, LINGER, Loan, Owed};
use super::trouble::{Answer, Trouble, spoils_connection};
use super::{Options, Synchronous};
use crate::log::Taken;

/// The most that goes into one transaction.
const LARGEST_BATCH: usize = 512;
/// A holder of threads says this often, while a lease lasts, that it is alive.
const BEATS: u32 = 3;

/// What is left of something once it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It must be on the disk before anybody is told.
    Durable,
    /// It need not survive a power cut.
    Fleeting,
}

/// Something to be done in a transaction. Done again from the start when the transaction was taken back.
trait Work: Send {
    fn effect(&self) -> Effect;
    /// Does it. After `Trouble::Database` the transaction is taken back; any other trouble has left it as it was.
    fn run(&mut self, desk: &mut Desk) -> std::result::Result<(), rusqlite::Error>;
    /// Tells whoever waits; `failure` when it came to nothing with the whole transaction.
    fn tell(self: Box<Self>, failure: Option<&Error>);
}

/// The one kind of work: a function, and somebody who waits for what it gives.
struct Task<F, T> {
    effect: Effect,
    work: F,
    given: Option<Answer<T>>,
    reply: oneshot::Sender<Answer<T>>,
}

impl<F: FnMut(&mut Desk) -> Answer<T> + Send, T: Send> Work for Task<F, T> {
    fn effect(&self) -> Effect {
        self.effect
    }

    fn run(&mut self, desk: &mut Desk) -> std::result::Result<(), rusqlite::Error> {
        match (self.work)(desk) {
            Err(Trouble::Database(error)) => Err(error),
            given => {
                self.given = Some(given);
                Ok(())
            }
        }
    }

    fn tell(self: Box<Self>, failure: Option<&Error>) {
        let given = match failure {
            Some(failure) => Err(Trouble::Refused(failure.clone())),
            None => self.given.unwrap_or_else(|| Err(Trouble::Refused(Error::internal("work was told and not done")))),
        };
        // Nobody may wait any longer: a run that was dropped. What is saved is saved.
        drop(self.reply.send(given));
    }
}

/// What works find on the thread that writes.
pub(super) struct Desk {
    pub(super) connection: Connection,
    holder: Holder,
    /// The greatest fence that was given here.
    fence: u64,
    /// How many threads are held.
    held: usize,
    pub(super) owed: Owed,
}

impl Desk {
    /// The row of this process among the holders.
    pub(super) fn holder(&mut self) -> Answer<i64> {
        self.holder.row(&self.connection)
    }

    /// Gives back what is to be given back.
    fn settle(&mut self, owed: &[Debt]) -> Answer<()> {
        if let [_, ..] = owed {
            let holder = self.holder()?;
            owed.iter().try_for_each(|debt| lease::release(&self.connection, debt.row, debt.fence, holder))?;
        }
        Ok(())
    }
}

/// The way to the thread that writes.
pub(super) struct Writer {
    place: Place,
    watch: Watch,
    works: Option<Sender<Box<dyn Work>>>,
    owed: Owed,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(place: Place, options: &Options) -> Result<Self> {
        let watch = Watch::new(&place, options.lapse);
        let connection = place.open_writer(options.busy)?;
        watch.sweep(&connection).map_err(|trouble| trouble.into_error(&place.name()))?;
        let owed = Owed::default();
        let desk = Desk { connection, holder: Holder::new(&place)?, fence: 0, held: 0, owed: owed.clone() };
        let (works, inbox) = channel();
        let mut room = Room { place: place.clone(), options: options.clone(), syncs: true, desk, is_spoilt: false };
        let thread =
            std::thread::Builder::new()
                .name("superstep-sqlite".to_owned())
                .spawn(move || room.work(&inbox))
                .map_err(|error| Error::new(Code::StoreUnavailable, format!("no thread for the store: {error}")))?;
        Ok(Self { place, watch, works: Some(works), owed, thread: Some(thread) })
    }

    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    pub(super) fn watch(&self) -> Watch {
        self.watch.clone()
    }

    /// Whether everything that was sent here is done, so that readers see it.
    pub(super) fn is_idle(&self) -> bool {
        self.owed.is_idle()
    }

    /// Does something in a transaction and waits until it is done.
    pub(super) async fn perform<T: Send + 'static>(
        &self,
        effect: Effect,
        mut work: impl FnMut(&Connection) -> Answer<T> + Send + 'static,
    ) -> Result<T> {
        let answer = self.ask(effect, move |desk: &mut Desk| work(&desk.connection)).await;
        answer.map_err(|trouble| trouble.into_error(&self.place.name()))
    }

    /// As `perform`, with everything that is on the desk and every kind of trouble.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        effect: Effect,
        work: impl FnMut(&mut Desk) -> Answer<T> + Send + 'static,
    ) -> Answer<T> {
        let (reply, answer) = oneshot::channel();
        self.send(Box::new(Task { effect, work, given: None, reply }));
        answer.await.unwrap_or_else(|_| Err(Trouble::Refused(closed(&self.place.name()))))
    }

    fn send(&self, work: Box<dyn Work>) {
        if let Some(works) = &self.works {
            self.owed.has_sent();
            // When the thread is gone nobody replies, and whoever waits is told so.
            drop(works.send(work));
        }
    }

    /// Takes a thread. `known` is its row and the fence it was last given back with here.
    pub(super) async fn acquire(&self, thread: ThreadId, run: RunId, known: Option<(i64, u64)>) -> Result<Taken> {
        if let Some(taken) = known.and_then(|known| self.owed.take_back(known, run)) {
            return Ok(taken);
        }
        let watch = self.watch.clone();
        let taken = self.ask(Effect::Fleeting, move |desk| {
            let mine = (desk.holder()?, desk.fence);
            let run_of = |row| desk.owed.run_of(row).map(|(run, _)| run);
            let taken = lease::acquire(&desk.connection, (&thread, run), mine, (&watch, &run_of))?;
            desk.owed.is_written(taken.row);
            desk.fence = desk.fence.max(taken.fence);
            desk.held += 1;
            Ok(Loan::new(taken, &desk.owed))
        });
        let taken = taken.await.map(Loan::keep).map_err(|trouble| trouble.into_error(&self.place.name()))?;
        // The row knows the first of the fences that were given here.
        let last = known.filter(|(row, fence)| *row == taken.row && lease::written(*fence) == taken.before);
        Ok(Taken { before: last.map_or(taken.before, |(_, fence)| fence), ..taken })
    }

    /// Gives a thread back, without waiting.
    pub(super) fn release(&self, row: i64, fence: u64) {
        // Every transaction begins with what is owed. Right after one the next is waited for, as a run that ends is often
        // followed by another; later somebody has to wake the thread.
        if self.owed.give(row, fence) {
            let (reply, _) = oneshot::channel();
            self.send(Box::new(Task { effect: Effect::Fleeting, work: |_: &mut Desk| Ok(()), given: None, reply }));
        }
    }
}

/// What is on its way is still done.
impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.works.take());
        if let Some(thread) = self.thread.take() {
            // A panic was told to whoever waited.
            drop(thread.join());
        }
    }
}

fn closed(name: &str) -> Error {
    Error::new(Code::StoreUnavailable, format!("the store `{name}` is closed"))
        .help("what was told is saved, this may not be; open the store anew")
}

/// The thread that writes.
struct Room {
    place: Place,
    options: Options,
    /// Whether the connection waits for the disk at the end of a transaction.
    syncs: bool,
    desk: Desk,
    /// The connection failed and must not be used again.
    is_spoilt: bool,
}

impl Room {
    fn work(&mut self, inbox: &Receiver<Box<dyn Work>>) {
        let (mut beaten, beat) = (Instant::now(), (self.options.lapse / BEATS).max(LINGER));
        let mut is_lingering = false;
        loop {
            let wait = beat.saturating_sub(beaten.elapsed());
            match inbox.recv_timeout(if is_lingering { wait.min(LINGER) } else { wait }) {
                Ok(first) => {
                    let mut batch = vec![first];
                    batch.extend(inbox.try_iter().take(LARGEST_BATCH - 1));
                    self.desk.owed.wake();
                    self.perform(batch);
                    is_lingering = true;
                }
                Err(RecvTimeoutError::Timeout) => is_lingering = !self.fall_asleep(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if beaten.elapsed() >= beat {
                beaten = Instant::now();
                self.beat();
            }
        }
        self.fall_asleep();
        if !self.is_spoilt {
            let Desk { connection, holder, .. } = &mut self.desk;
            holder.leave(connection);
        }
    }

    /// Writes what is owed. True when there is nothing more to be done about it: whoever owes something new has to wake
    /// this thread, and what could not be written is tried again with every beat.
    fn fall_asleep(&mut self) -> bool {
        let before = self.desk.owed.list();
        if !before.is_empty() {
            self.perform(Vec::new());
        }
        self.desk.owed.sleep_unless_new(&before)
    }

    /// One that cannot be told is taken over; its writes are then refused.
    fn beat(&mut self) {
        if !self.desk.owed.list().is_empty() {
            self.perform(Vec::new());
        }
        if self.desk.held > 0 && self.restore().is_ok() && self.set_syncs(Effect::Fleeting).is_ok() {
            drop(self.desk.holder.beat(&self.desk.connection));
        }
    }

    fn perform(&mut self, mut batch: Vec<Box<dyn Work>>) {
        let owed = self.desk.owed.collect();
        let done = self.transact(&mut batch, &owed);
        match &done {
            Ok(()) => self.desk.held = self.desk.held.saturating_sub(owed.len()),
            Err(_) => self.desk.owed.put_back(owed),
        }
        let failure = match done {
            Ok(()) => None,
            Err((_, true)) if batch.len() > 1 && !self.is_spoilt => {
                // One of them is at fault; the others need not suffer for it.
                return batch.into_iter().for_each(|work| self.perform(vec![work]));
            }
            Err((trouble, _)) => Some(trouble.into_error(&self.place.name())),
        };
        self.desk.owed.has_ended(batch.len());
        batch.into_iter().for_each(|work| work.tell(failure.as_ref()));
    }

    /// Does everything in one transaction, or says why not, and whether one of the works was at fault.
    fn transact(&mut self, batch: &mut [Box<dyn Work>], owed: &[Debt]) -> std::result::Result<(), (Trouble, bool)> {
        self.restore().map_err(|trouble| (trouble, false))?;
        let is_durable = batch.iter().any(|work| work.effect() == Effect::Durable);
        let mut is_at_work = false;
        let done = self.set_syncs(if is_durable { Effect::Durable } else { Effect::Fleeting }).and_then(|()| {
            self.desk.connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
            if let Err(Trouble::Database(error)) = self.desk.settle(owed) {
                return Err(error);
            }
            is_at_work = true;
            for work in batch {
                work.run(&mut self.desk)?;
            }
            is_at_work = false;
            self.desk.connection.prepare_cached("COMMIT")?.execute([])?;
            Ok(())
        });
        if let Err(error) = &done {
            self.is_spoilt = spoils_connection(error);
            // SQLite takes some transactions back by itself, and complains about a second time.
            if !self.is_spoilt && !self.desk.connection.is_autocommit() {
                self.is_spoilt = self.desk.connection.execute_batch("ROLLBACK").is_err();
            }
            // The row of this holder may have gone with the transaction.
            self.desk.holder.is_written = false;
        }
        done.map_err(|error| (Trouble::Database(error), is_at_work))
    }

    /// A connection that failed is replaced: what the system kept of a failed write only a new one can tell.
    fn restore(&mut self) -> Answer<()> {
        if self.is_spoilt {
            if self.place.path().is_none() {
                return Err(Trouble::Refused(closed(&self.place.name())));
            }
            self.desk.connection = self.place.connect_writer(self.options.busy)?;
            (self.is_spoilt, self.syncs) = (false, true);
        }
        Ok(())
    }

    fn set_syncs(&mut self, effect: Effect) -> rusqlite::Result<()> {
        let syncs = effect == Effect::Durable && self.options.synchronous == Synchronous::Full;
        if syncs != self.syncs {
            let pragma = if syncs { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" };
            self.desk.connection.execute_batch(pragma)?;
            self.syncs = syncs;
        }
        Ok(())
    }
}
