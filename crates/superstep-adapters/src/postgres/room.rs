//! The thread that keeps connections going, and the connections.
//!
//! A runtime of its own, so that the store can be asked from any executor, and a node that blocks for an hour takes
//! nothing from it. Whoever asks does so in its own task and waits only for the answer. A connection is lent for one
//! question and comes back only when that ended well; where anything is in doubt it is closed, and the server takes back
//! whatever was not committed on it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use superstep_core::error::{Code, Error, Result};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_postgres::{Client, NoTls};

use super::address::Address;
use super::trouble::{Answer, Remedy, Trouble, remedy};

/// How long a connection is waited for while others have all of them.
const WAIT: Duration = Duration::from_secs(2);
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
    idle: Mutex<Vec<(Arc<Client>, Instant)>>,
}

/// A connection while somebody has it.
struct Lent<'a> {
    room: &'a Room,
    client: Arc<Client>,
    _permit: SemaphorePermit<'a>,
}

impl Lent<'_> {
    /// Gives it back; dropped, it is closed.
    fn keep(self) {
        if !self.client.is_closed() {
            self.room.idle().push((self.client.clone(), Instant::now()));
        }
    }
}

impl Room {
    pub(super) fn new(address: Address, handle: Handle, connections: usize) -> Self {
        Self { address, handle, permits: Semaphore::new(connections.max(1)), idle: Mutex::default() }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<(Arc<Client>, Instant)>> {
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
            let trouble = match self.try_ask(&mut question).await {
                Err(Trouble::Database(error)) => error,
                answer => return answer,
            };
            match remedy(&trouble) {
                Remedy::Again if again < AGAIN => again += 1,
                Remedy::Reconnect if begun.elapsed() < self.address.patience => {}
                Remedy::FindWriter if begun.elapsed() < self.address.patience => self.idle().clear(),
                _ => return Err(Trouble::Database(trouble)),
            }
            let left = self.address.patience.saturating_sub(begun.elapsed());
            self.sleep(pause(tries).min(left)).await;
            tries += 1;
        }
    }

    async fn try_ask<T, F>(&self, question: &mut impl FnMut(Arc<Client>) -> F) -> Answer<T>
    where
        F: Future<Output = Answer<T>>,
    {
        let lent = self.lend().await?;
        // A server that stands still keeps its connections: nothing but time tells.
        let time = self.address.patience.max(SILENCE);
        let Ok(answer) = self.within(time, question(lent.client.clone())).await else {
            return Err(Trouble::Refused(silent(&self.address, time)));
        };
        if !matches!(answer, Err(Trouble::Database(_))) {
            lent.keep();
        }
        answer
    }

    /// Asks several things of one state of the tables. Beginning and end are sent along and not waited for.
    pub(super) async fn read<T, F>(&self, mut question: impl FnMut(Arc<Client>) -> F) -> Result<T>
    where
        F: Future<Output = Answer<T>>,
    {
        let answer = self.ask(|client| {
            let asked = question(client.clone());
            async move {
                send(&client, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await;
                let answer = asked.await;
                send(&client, "COMMIT").await;
                answer
            }
        });
        answer.await.map_err(|trouble| trouble.into_error(&self.address))
    }

    async fn lend(&self) -> Answer<Lent<'_>> {
        let waiting = self.within(WAIT, self.permits.acquire());
        let Ok(Ok(permit)) = waiting.await else { return Err(Trouble::Refused(exhausted(&self.address))) };
        loop {
            let known = self.idle().pop();
            let Some((client, since)) = known else { break };
            let is_fit = !client.is_closed() && (since.elapsed() < FRESH || self.stands(&client).await);
            if is_fit {
                return Ok(Lent { room: self, client, _permit: permit });
            }
        }
        let client = Arc::new(self.connect().await?);
        Ok(Lent { room: self, client, _permit: permit })
    }

    async fn stands(&self, client: &Client) -> bool {
        matches!(self.within(SIGN, client.check_connection()).await, Ok(Ok(())))
    }

    /// A new connection, kept going on the thread of the room.
    pub(super) async fn connect(&self) -> Answer<Client> {
        let (config, handle) = (self.address.config.clone(), self.handle.clone());
        let connecting = self.handle.spawn(async move {
            let (client, connection) = config.connect(NoTls).await?;
            // How it ended is told to whoever asks on it.
            handle.spawn(async move { drop(connection.await) });
            Ok::<_, tokio_postgres::Error>(client)
        });
        match connecting.await {
            Ok(client) => Ok(client?),
            Err(_) => Err(Trouble::Refused(closed(&self.address))),
        }
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
    Error::new(Code::StoreUnavailable, format!("all connections to PostgreSQL at {address} were in use for {WAIT:?}"))
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
