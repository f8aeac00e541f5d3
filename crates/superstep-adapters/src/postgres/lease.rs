//! Who may move a thread: one row for each thread, compared with every write, and one for each process that holds any.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use superstep_core::error::{Error, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{Lease, ThreadStatus};
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedSender;
use tokio_postgres::types::Type;

use super::keeper::Note;
use super::room::Room;
use super::trouble::{Answer, Trouble};
use crate::log::{self, Form, Held, Taken};

/// This process, or one store within it.
pub(super) struct Holder {
    pub(super) id: i64,
    pub(super) lapse: Duration,
    pub(super) held: Held,
    /// Threads that are about to be taken, and the runs that want them.
    claims: Mutex<BTreeMap<ThreadId, RunId>>,
    /// Rows of threads that were given back and of which the server has not heard yet, with their fences.
    given: Mutex<BTreeMap<i64, u64>>,
    /// The greatest fence that was given here.
    fence: AtomicU64,
    notes: UnboundedSender<Note>,
}

/// Nobody else in this process takes the thread meanwhile, so what is known of it here is settled.
pub(super) struct Claim<'a>(&'a Holder, ThreadId);

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.0.claims().remove(&self.1);
    }
}

/// A lease on its way to whoever asked for it; given back when nobody takes it.
struct Parcel(Option<Lease>, Arc<Holder>);

impl Drop for Parcel {
    fn drop(&mut self) {
        if let Some(lease) = self.0.take() {
            self.1.release(&lease);
        }
    }
}

impl Holder {
    pub(super) fn new((lapse, form): (Duration, Form), notes: UnboundedSender<Note>) -> Result<Self> {
        let mut bits = [0_u8; 8];
        getrandom::fill(&mut bits).map_err(|error| Error::internal(format!("no randomness: {error}")))?;
        let id = (u64::from_le_bytes(bits) >> 1).cast_signed();
        let (held, claims, given) = (Held::new(form), Mutex::default(), Mutex::default());
        Ok(Self { id, lapse, held, claims, given, fence: AtomicU64::new(0), notes })
    }

    /// How long it may be silent, in microseconds.
    pub(super) fn lapse(&self) -> i64 {
        i64::try_from(self.lapse.as_micros()).unwrap_or(i64::MAX)
    }

    fn claims(&self) -> std::sync::MutexGuard<'_, BTreeMap<ThreadId, RunId>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps others in this process from taking a thread at the same time.
    pub(super) fn claim(&self, thread: &ThreadId, run: RunId) -> Result<Claim<'_>> {
        let mut claims = self.claims();
        if let Some(other) = claims.get(thread) {
            return Err(log::busy(thread, *other));
        }
        claims.insert(thread.clone(), run);
        Ok(Claim(self, thread.clone()))
    }

    /// The fence a thread is held with, 0 when it is not.
    pub(super) fn fence_of(&self, thread: &ThreadId) -> Option<i64> {
        Some(self.held.fence_of(thread).unwrap_or(0).cast_signed())
    }

    /// As `fence_of`, for whoever has no claim; `None` when the thread may be taken at this moment.
    fn settled_fence_of(&self, thread: &ThreadId) -> Option<i64> {
        let claims = self.claims();
        if claims.contains_key(thread) { None } else { self.fence_of(thread) }
    }

    pub(super) fn has_any(&self) -> bool {
        self.held.has_any()
    }

    /// Whether the server may know of it.
    pub(super) fn is_known(&self) -> bool {
        self.fence.load(Ordering::Relaxed) > 0
    }

    /// Gives a thread back, without waiting.
    pub(super) fn release(&self, lease: &Lease) {
        if let Some(row) = self.held.give_back(lease) {
            let mut given = self.given_back();
            let is_noted = !given.is_empty();
            given.insert(row, lease.fence);
            drop(given);
            if !is_noted {
                // When nobody reads notes any longer the process ends, and its leases with it.
                drop(self.notes.send(Note::Given));
            }
        }
    }

    fn given_back(&self) -> std::sync::MutexGuard<'_, BTreeMap<i64, u64>> {
        self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_given(&self) -> bool {
        !self.given_back().is_empty()
    }

    /// Threads that were given back, with their fences.
    pub(super) fn given(&self) -> BTreeMap<i64, u64> {
        self.given_back().clone()
    }

    /// The server has heard of these.
    pub(super) fn told(&self, heard: &BTreeMap<i64, u64>) {
        let mut given = self.given_back();
        given.retain(|row, fence| heard.get(row) != Some(fence));
        if !given.is_empty() {
            drop(self.notes.send(Note::Given));
        }
    }

    /// A thread that was taken anew is not given back any longer.
    fn taken(&self, thread: &ThreadId, taken: Taken) -> Lease {
        self.fence.fetch_max(taken.fence, Ordering::Relaxed);
        let lease = self.held.take(thread, taken);
        self.given_back().remove(&taken.row);
        lease
    }

    pub(super) fn close(&self) {
        drop(self.notes.send(Note::Close));
    }
}

/// Takes a thread for a run. Goes on to its end also when nobody waits any longer, so that it is known who has it.
pub(super) async fn acquire(room: &Arc<Room>, holder: &Arc<Holder>, thread: &ThreadId, run: RunId) -> Result<Lease> {
    let (own_room, holder, thread) = (room.clone(), holder.clone(), thread.clone());
    let taking = Box::pin(async move {
        let claim = holder.claim(&thread, run)?;
        let taken = take(&own_room, &holder, &thread, run).await;
        match taken {
            Ok(taken) => {
                let lease = holder.taken(&thread, taken);
                drop(claim);
                Ok(Parcel(Some(lease), holder))
            }
            Err(trouble) => {
                let is_doubtful = trouble.is_doubtful();
                drop(claim);
                if is_doubtful {
                    drop(holder.notes.send(Note::Doubt(thread)));
                }
                Err(trouble.into_error(&own_room.address))
            }
        }
    });
    let mut parcel = Persistent { work: Some(taking), handle: &room.handle }.await?;
    parcel.0.take().ok_or_else(|| Error::internal("a lease was given to nobody"))
}

/// Work that goes on elsewhere when nobody waits for it any longer.
struct Persistent<'a, T: Send + 'static> {
    work: Option<Pin<Box<dyn Future<Output = T> + Send>>>,
    handle: &'a Handle,
}

impl<T: Send + 'static> Future for Persistent<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Some(work) = &mut self.work else { return Poll::Pending };
        let done = work.as_mut().poll(context);
        if done.is_ready() {
            self.work = None;
        }
        done
    }
}

impl<T: Send + 'static> Drop for Persistent<'_, T> {
    fn drop(&mut self) {
        if let Some(work) = self.work.take() {
            self.handle.spawn(work);
        }
    }
}

async fn take(room: &Room, holder: &Holder, thread: &ThreadId, run: RunId) -> Answer<Taken> {
    let (acquire, bits) = (&room.address.statements.acquire, &run.bits().to_be_bytes()[..]);
    let (mine, least) = (holder.fence_of(thread), holder.fence.load(Ordering::Relaxed).cast_signed());
    let row = room.ask(|client| async move {
        let given = [
            (&thread.as_str() as _, Type::TEXT),
            (&bits as _, Type::BYTEA),
            (&holder.id as _, Type::INT8),
            (&holder.lapse() as _, Type::INT8),
            (&mine as _, Type::INT8),
            (&least as _, Type::INT8),
        ];
        Ok(client.query_typed_one(acquire, &given).await?)
    });
    let row = row.await?;
    let Some(taken) = row.try_get::<_, Option<i64>>(0)? else {
        return Err(Trouble::Refused(log::busy(thread, read_run(row.try_get(3)?))));
    };
    let number = |place: usize| row.try_get::<_, i64>(place).map(i64::cast_unsigned);
    Ok(Taken { row: taken, fence: number(1)?, before: number(2)?, is_new: false })
}

/// The run that moves a thread, as its row says.
pub(super) fn read_run(bits: Option<&[u8]>) -> RunId {
    RunId::from_bits(bits.and_then(|bits| bits.try_into().ok()).map_or(0, u128::from_be_bytes))
}

/// How a thread stands. Whoever died while moving it moves it no longer.
pub(super) async fn status(room: &Room, holder: &Holder, thread: &ThreadId) -> Answer<Option<ThreadStatus>> {
    let asked = room.address.fill(
        "SELECT status, status = $4 AND @schema@.is_moved(holder, fence, $2, $3) FROM @schema@.thread \
         WHERE name = $1 AND status IS NOT NULL",
    );
    let (asked, mine, busy) = (&asked, holder.settled_fence_of(thread), i16::from(ThreadStatus::Busy.number()));
    let row = room.ask(|client| async move {
        let given = [
            (&thread.as_str() as _, Type::TEXT),
            (&holder.id as _, Type::INT8),
            (&mine as _, Type::INT8),
            (&busy as _, Type::INT2),
        ];
        Ok(client.query_typed_opt(asked, &given).await?)
    });
    let Some(row) = row.await? else { return Ok(None) };
    let status = u8::try_from(row.try_get::<_, i16>(0)?).ok().and_then(ThreadStatus::from_number);
    let is_left = status == Some(ThreadStatus::Busy) && !row.try_get::<_, bool>(1)?;
    Ok(if is_left { Some(ThreadStatus::Idle) } else { status })
}

/// Removes everything of a thread. Refused while a run moves it.
pub(super) async fn delete_thread(room: &Room, holder: &Holder, thread: &ThreadId) -> Answer<()> {
    // Held over every try: nobody in this process takes the thread in between.
    let _claim = holder.claim(thread, RunId::from_bits(0))?;
    let (delete, mine) = (&room.address.fill("SELECT @schema@.delete_thread($1, $2, $3)"), holder.fence_of(thread));
    let row = room.ask(|client| async move {
        let given = [(&thread.as_str() as _, Type::TEXT), (&holder.id as _, Type::INT8), (&mine as _, Type::INT8)];
        Ok(client.query_typed_one(delete, &given).await?)
    });
    match row.await?.try_get::<_, Option<&[u8]>>(0)? {
        Some(run) => Err(Trouble::Refused(log::busy(thread, read_run(Some(run))))),
        None => Ok(()),
    }
}
