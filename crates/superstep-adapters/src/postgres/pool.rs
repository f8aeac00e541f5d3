//! The connection pool, and the thread that drives connections of callers without a tokio runtime.
//!
//! The thread has a runtime of its own, so that the checkpointer works with any executor and is not affected by a node
//! that blocks. A caller on tokio drives its connection in its own task (`connection`). A connection is lent for one
//! request and returned only if the request ended normally; in any other case it is closed, and the server rolls back
//! uncommitted changes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use superstep_core::error::{Error, ErrorCode, Result};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_postgres::Client;

use super::config::PgConfig;
use super::connection::{Connection, current_runtime_id};
use super::error::{PgError, PgResult, PgRetryAction, retry_action};
use super::read_hints::ReadHints;

/// Idle time after which a connection may have been dropped without notice.
const IDLE_CHECK_AFTER: Duration = Duration::from_secs(30);
/// Timeout of the check of such a connection.
const LIVENESS_TIMEOUT: Duration = Duration::from_secs(2);
/// Minimum timeout of a request; a longer `timeout` replaces it.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// First and longest delay before a retry.
const BACKOFF_RANGE: (Duration, Duration) = (Duration::from_millis(25), Duration::from_secs(5));
/// Maximum number of retries of a transaction that the server rolled back.
const MAX_TRANSACTION_RETRIES: usize = 5;

/// The connection pool.
pub(super) struct ConnectionPool {
    pub(super) address: PgConfig,
    pub(super) handle: Handle,
    permits: Semaphore,
    max_connections: usize,
    idle: Mutex<Vec<Connection>>,
    pub(super) hints: ReadHints,
}

/// A connection that is in use.
struct PooledConnection<'a> {
    pool: &'a ConnectionPool,
    connection: Connection,
    client: Arc<Client>,
    _permit: SemaphorePermit<'a>,
}

impl PooledConnection<'_> {
    /// Returns the connection to the pool; it is closed if this is dropped instead.
    fn return_to_pool(mut self) {
        self.connection.last_used = Instant::now();
        self.pool.idle().push(self.connection);
    }
}

impl ConnectionPool {
    pub(super) fn new(address: PgConfig, handle: Handle, connections: usize) -> Self {
        let max_connections = connections.max(1);
        Self {
            address,
            handle,
            permits: Semaphore::new(max_connections),
            max_connections,
            idle: Mutex::default(),
            hints: ReadHints::default(),
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a request until it succeeds. If the connection is lost, the request runs again on another one, so it must
    /// be idempotent.
    pub(super) async fn with_connection<T, F>(&self, mut operation: impl FnMut(Arc<Client>) -> F) -> PgResult<T>
    where
        F: Future<Output = PgResult<T>>,
    {
        let (started, mut attempts, mut retries) = (Instant::now(), 0, 0);
        loop {
            let remaining = self.address.retry_timeout.saturating_sub(started.elapsed());
            let error = match self.try_once(&mut operation, remaining).await {
                Err(PgError::Database(error)) => error,
                result => return result,
            };
            match retry_action(&error) {
                PgRetryAction::RetryTransaction if retries < MAX_TRANSACTION_RETRIES => retries += 1,
                // The event that broke one connection has probably broken the others as well.
                PgRetryAction::Reconnect | PgRetryAction::ReconnectToPrimary
                    if started.elapsed() < self.address.retry_timeout =>
                {
                    self.drop_idle()
                }
                _ => return Err(PgError::Database(error)),
            }
            let remaining = self.address.retry_timeout.saturating_sub(started.elapsed());
            self.sleep(backoff_delay(attempts).min(remaining)).await;
            attempts += 1;
        }
    }

    async fn try_once<T, F>(&self, operation: &mut impl FnMut(Arc<Client>) -> F, timeout: Duration) -> PgResult<T>
    where
        F: Future<Output = PgResult<T>>,
    {
        let mut pooled = self.checkout(timeout).await?;
        // A server that hangs keeps its connections open, so only a timeout detects it.
        let time = self.address.retry_timeout.max(RESPONSE_TIMEOUT);
        let request = operation(pooled.client.clone());
        let Ok(result) = self.with_timeout(time, pooled.connection.drive(request)).await else {
            return Err(PgError::Timeout(response_timeout(&self.address, time)));
        };
        if !matches!(result, Err(PgError::Database(_))) {
            pooled.return_to_pool();
        }
        result
    }

    /// Reads from one snapshot: first with a single statement (`false`); if that is not sufficient, inside a
    /// transaction (`true`), whose begin and commit are sent without waiting for their response.
    pub(super) async fn read<T, F>(&self, mut operation: impl FnMut(Arc<Client>, bool) -> F) -> Result<T>
    where
        F: Future<Output = PgResult<T>>,
    {
        let mut result = self.with_connection(|client| operation(client, false)).await;
        if matches!(result, Err(PgError::InconsistentRead)) {
            let transaction = self.with_connection(|client| {
                let request = operation(client.clone(), true);
                async move {
                    send(&client, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await;
                    let result = request.await;
                    send(&client, "COMMIT").await;
                    result
                }
            });
            // Rarely used and large, so it is boxed to keep the future of the caller small.
            result = Box::pin(transaction).await;
        }
        result.map_err(|error| error.into_error(&self.address))
    }

    /// Returns a connection, waiting for a free one for at most `timeout`.
    async fn checkout(&self, timeout: Duration) -> PgResult<PooledConnection<'_>> {
        let _permit = match self.permits.try_acquire() {
            Ok(permit) => permit,
            Err(_) => match self.with_timeout(timeout, self.permits.acquire()).await {
                Ok(Ok(permit)) => permit,
                _ => return Err(PgError::Rejected(pool_exhausted(&self.address))),
            },
        };
        while let Some(mut connection) = self.take_idle() {
            let is_recent = connection.last_used.elapsed() < IDLE_CHECK_AFTER;
            connection.poll_notices().await;
            if let Some(client) = connection.client()
                && (is_recent || self.is_alive(&mut connection, &client).await)
            {
                return Ok(PooledConnection { pool: self, connection, client, _permit });
            }
        }
        let connection = self.connect().await?;
        let client = connection.client().ok_or_else(|| closed(&self.address))?;
        Ok(PooledConnection { pool: self, connection, client, _permit })
    }

    /// Returns an idle connection that the runtime of the caller can use. Connections of other runtimes are closed if
    /// there are too many.
    fn take_idle(&self) -> Option<Connection> {
        let runtime_id = current_runtime_id();
        let mut idle = self.idle();
        if let Some(index) = idle.iter().rposition(|connection| connection.is_usable_on(runtime_id)) {
            return Some(idle.swap_remove(index));
        }
        let in_use = self.max_connections - self.permits.available_permits().min(self.max_connections);
        let spare = self.max_connections.saturating_sub(in_use);
        let closed = if idle.len() > spare { idle.split_off(spare) } else { Vec::new() };
        drop(idle);
        drop(closed);
        None
    }

    fn drop_idle(&self) {
        let closed = std::mem::take(&mut *self.idle());
        drop(closed);
    }

    async fn is_alive(&self, connection: &mut Connection, client: &Client) -> bool {
        matches!(self.with_timeout(LIVENESS_TIMEOUT, connection.drive(client.check_connection())).await, Ok(Ok(())))
    }

    /// Opens a connection.
    pub(super) async fn connect(&self) -> PgResult<Connection> {
        let connected = Connection::connect(&self.address, &self.handle).await?;
        connected.ok_or_else(|| PgError::Rejected(closed(&self.address)))
    }

    /// Timers run on the thread of the pool, whatever executor the caller uses.
    fn sleep(&self, time: Duration) -> tokio::time::Sleep {
        let _entered = self.handle.enter();
        tokio::time::sleep(time)
    }

    fn with_timeout<F: Future>(&self, time: Duration, future: F) -> tokio::time::Timeout<F> {
        let _entered = self.handle.enter();
        tokio::time::timeout(time, future)
    }
}

/// Sends a statement without waiting for its response; later requests on the connection are processed after it.
async fn send(client: &Client, statement: &str) {
    let mut sending = std::pin::pin!(client.batch_execute(statement));
    std::future::poll_fn(|context| {
        // An error shows in the next request.
        let _ = sending.as_mut().poll(context);
        std::task::Poll::Ready(())
    })
    .await;
}

/// Returns the delay before a retry: about twice as long each time, with jitter.
pub(super) fn backoff_delay(attempts: u32) -> Duration {
    let (first, longest) = BACKOFF_RANGE;
    let delay = first.saturating_mul(2_u32.saturating_pow(attempts)).min(longest);
    let mut bits = [0_u8; 4];
    // Without randomness there is no jitter, which only makes recovery slower.
    let _ = getrandom::fill(&mut bits);
    delay.mul_f64(0.5 + f64::from(u32::from_le_bytes(bits)) / f64::from(u32::MAX) / 2.0)
}

fn pool_exhausted(address: &PgConfig) -> Error {
    let time = address.retry_timeout;
    Error::new(
        ErrorCode::StoreUnavailable,
        format!("all connections to PostgreSQL at {address} were in use for {time:?}"),
    )
    .with_help("nothing was saved; try again, or raise `max_connections`")
}

fn response_timeout(address: &PgConfig, time: Duration) -> Error {
    Error::new(ErrorCode::StoreUnavailable, format!("PostgreSQL at {address} did not respond for {time:?}")).with_help(
        "this commit may be lost; all earlier acknowledged commits are saved; check the server, then continue the \
         thread",
    )
}

fn closed(address: &PgConfig) -> Error {
    Error::new(ErrorCode::StoreUnavailable, format!("the checkpointer for {address} is closed"))
        .with_help("this write may be lost; all earlier acknowledged writes are saved; create a new checkpointer")
}
