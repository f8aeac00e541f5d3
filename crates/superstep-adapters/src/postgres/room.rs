//! The connections, and the thread that serves those who cannot keep their own going.
//!
//! That thread has a runtime of its own, so that the store can be asked from any executor, and a node that blocks for an
//! hour takes nothing from it. Whoever asks does so in its own task (`wire`). A connection is lent for one question and
//! comes back only when that ended well; where anything is in doubt it is closed, and the server takes back whatever was
//! not committed on it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use superstep_core::error::{Code, Error, Result};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_postgres::Client;

use super::address::Address;
use super::hints::Hints;
use super::trouble::{Answer, Remedy, Trouble, remedy};
use super::wire::{Wire, here};

/// A connection that was idle for longer may be gone without a word.
const FRESH: Duration = Duration::from_secs(30);
/// How long the server may take to show that such a connection still stands.
const SIGN: Duration = Duration::from_secs(2);
/// A question is given up after so long without an answer, or after `patience` when that is longer.
const SILENCE: Duration = Duration::from_secs(30);
/// The first and the longest pause before another try.
const PAUSES: (Duration, Duration) = (Duration::from_millis(25), Duration::from_secs(5));
/// How often a transaction that the server took back is done again.
const AGAIN: usize = 5;

/// The connections.
pub(super) struct Room {
    pub(super) address: Address,
    pub(super) handle: Handle,
    permits: Semaphore,
    most: usize,
    idle: Mutex<Vec<Wire>>,
    pub(super) hints: Hints,
}

/// A connection while somebody has it.
struct Lent<'a> {
    room: &'a Room,
    wire: Wire,
    client: Arc<Client>,
    _permit: SemaphorePermit<'a>,
}

impl Lent<'_> {
    /// Gives it back; dropped, it is closed.
    fn keep(mut self) {
        self.wire.since = Instant::now();
        self.room.idle().push(self.wire);
    }
}

impl Room {
    pub(super) fn new(address: Address, handle: Handle, connections: usize) -> Self {
        let most = connections.max(1);
        Self { address, handle, permits: Semaphore::new(most), most, idle: Mutex::default(), hints: Hints::default() }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Wire>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks until there is an answer. A question is asked again on another connection when the first was lost: it must
    /// be one that may be asked twice.
    pub(super) async fn ask<T, F>(&self, mut question: impl FnMut(Arc<Client>) -> F) -> Answer<T>
    where
        F: Future<Output = Answer<T>>,
    {
        let (begun, mut tries, mut again) = (Instant::now(), 0, 0);
        loop {
            let left = self.address.patience.saturating_sub(begun.elapsed());
            let trouble = match self.try_ask(&mut question, left).await {
                Err(Trouble::Database(error)) => error,
                answer => return answer,
            };
            match remedy(&trouble) {
                Remedy::Again if again < AGAIN => again += 1,
                // What took one connection away has most probably taken the others too.
                Remedy::Reconnect | Remedy::FindWriter if begun.elapsed() < self.address.patience => self.forget(),
                _ => return Err(Trouble::Database(trouble)),
            }
            let left = self.address.patience.saturating_sub(begun.elapsed());
            self.sleep(pause(tries).min(left)).await;
            tries += 1;
        }
    }

    async fn try_ask<T, F>(&self, question: &mut impl FnMut(Arc<Client>) -> F, patience: Duration) -> Answer<T>
    where
        F: Future<Output = Answer<T>>,
    {
        let mut lent = self.lend(patience).await?;
        // A server that stands still keeps its connections: nothing but time tells.
        let time = self.address.patience.max(SILENCE);
        let asked = question(lent.client.clone());
        let Ok(answer) = self.within(time, lent.wire.drive(asked)).await else {
            return Err(Trouble::Silent(silent(&self.address, time)));
        };
        if !matches!(answer, Err(Trouble::Database(_))) {
            lent.keep();
        }
        answer
    }

    /// Asks of one state of the tables: with one statement, and where that is not enough, told by `false`, in a
    /// transaction, told by `true`. Its beginning and end are sent along and not waited for.
    pub(super) async fn read<T, F>(&self, mut question: impl FnMut(Arc<Client>, bool) -> F) -> Result<T>
    where
        F: Future<Output = Answer<T>>,
    {
        let mut answer = self.ask(|client| question(client, false)).await;
        if matches!(answer, Err(Trouble::Torn)) {
            let asking = self.ask(|client| {
                let asked = question(client.clone(), true);
                async move {
                    send(&client, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await;
                    let answer = asked.await;
                    send(&client, "COMMIT").await;
                    answer
                }
            });
            // Seldom, and long: whoever asks does not carry it about.
            answer = Box::pin(asking).await;
        }
        answer.map_err(|trouble| trouble.into_error(&self.address))
    }

    /// A connection, once somebody gives one back: as long as a server that is away would be waited for.
    async fn lend(&self, patience: Duration) -> Answer<Lent<'_>> {
        let _permit = match self.permits.try_acquire() {
            Ok(permit) => permit,
            Err(_) => match self.within(patience, self.permits.acquire()).await {
                Ok(Ok(permit)) => permit,
                _ => return Err(Trouble::Refused(exhausted(&self.address))),
            },
        };
        while let Some(mut wire) = self.known() {
            let is_fresh = wire.since.elapsed() < FRESH;
            wire.look().await;
            if let Some(client) = wire.client()
                && (is_fresh || self.stands(&mut wire, &client).await)
            {
                return Ok(Lent { room: self, wire, client, _permit });
            }
        }
        let wire = self.connect().await?;
        let client = wire.client().ok_or_else(|| closed(&self.address))?;
        Ok(Lent { room: self, wire, client, _permit })
    }

    /// A connection that nobody has, of the runtime of whoever asks. Those of others give way when there are too many.
    fn known(&self) -> Option<Wire> {
        let here = here();
        let mut idle = self.idle();
        if let Some(place) = idle.iter().rposition(|wire| wire.is_of(here)) {
            return Some(idle.swap_remove(place));
        }
        let lent = self.most - self.permits.available_permits().min(self.most);
        let spare = self.most.saturating_sub(lent);
        let given_up = if idle.len() > spare { idle.split_off(spare) } else { Vec::new() };
        drop(idle);
        drop(given_up);
        None
    }

    fn forget(&self) {
        let forgotten = std::mem::take(&mut *self.idle());
        drop(forgotten);
    }

    async fn stands(&self, wire: &mut Wire, client: &Client) -> bool {
        matches!(self.within(SIGN, wire.drive(client.check_connection())).await, Ok(Ok(())))
    }

    /// A new connection.
    pub(super) async fn connect(&self) -> Answer<Wire> {
        let connected = Wire::connect(&self.address, &self.handle).await?;
        connected.ok_or_else(|| Trouble::Refused(closed(&self.address)))
    }

    /// Time passes on the thread of the room, whoever waits.
    fn sleep(&self, time: Duration) -> tokio::time::Sleep {
        let _entered = self.handle.enter();
        tokio::time::sleep(time)
    }

    fn within<F: Future>(&self, time: Duration, future: F) -> tokio::time::Timeout<F> {
        let _entered = self.handle.enter();
        tokio::time::timeout(time, future)
    }
}

/// Sends a statement without waiting for its answer: what follows on the connection is answered after it.
async fn send(client: &Client, statement: &str) {
    let mut sending = std::pin::pin!(client.batch_execute(statement));
    std::future::poll_fn(|context| {
        // A failure shows in what follows.
        let _ = sending.as_mut().poll(context);
        std::task::Poll::Ready(())
    })
    .await;
}

/// How long to wait before the next try: about twice as long each time, and not at the same moment as everybody else.
pub(super) fn pause(tries: u32) -> Duration {
    let (first, longest) = PAUSES;
    let pause = first.saturating_mul(2_u32.saturating_pow(tries)).min(longest);
    let mut bits = [0_u8; 4];
    // Without randomness everybody comes at once, which only takes longer.
    let _ = getrandom::fill(&mut bits);
    pause.mul_f64(0.5 + f64::from(u32::from_le_bytes(bits)) / f64::from(u32::MAX) / 2.0)
}

fn exhausted(address: &Address) -> Error {
    let time = address.patience;
    Error::new(Code::StoreUnavailable, format!("all connections to PostgreSQL at {address} were in use for {time:?}"))
        .help("nothing of this was saved; try again, or allow more with `connections`")
}

fn silent(address: &Address, time: Duration) -> Error {
    Error::new(Code::StoreUnavailable, format!("PostgreSQL at {address} has not answered for {time:?}"))
        .help("what was told is saved, this may not be; look at the server, then go on with the thread")
}

fn closed(address: &Address) -> Error {
    Error::new(Code::StoreUnavailable, format!("the store at {address} is closed"))
        .help("what was told is saved, this may not be; connect anew")
}
