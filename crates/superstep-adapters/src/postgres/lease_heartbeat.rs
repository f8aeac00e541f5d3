//! Background work on leases: heartbeats of this process, and the release of leases.
//!
//! Uses a connection of its own, so that concurrent runs cannot delay it. A release is repeated until the server has
//! it: as long as this process sends heartbeats, no other process may take over a thread whose lease it seems to
//! hold. Releases are delayed briefly: a process often acquires a thread again immediately, and then nothing has to
//! be sent.

use std::sync::Arc;
use std::time::Duration;

use superstep_core::id::{RunId, ThreadId};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, MissedTickBehavior, timeout};
use tokio_postgres::types::Type;

use super::connection::Connection;
use super::error::PgResult;
use super::lease::LeaseHolder;
use super::pool::{ConnectionPool, backoff_delay};

/// Maximum interval between two heartbeats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);
/// Limits of the timeout of one round; it is a third of the lease timeout within these limits.
const ROUND_TRIP_TIMEOUT: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(5));
/// Delay of a release, to send it together with others.
const RELEASE_BATCH_DELAY: Duration = Duration::from_millis(5);
/// Time limit of the remaining work when the checkpointer is dropped.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// A command to the background thread.
pub(super) enum LeaseCommand {
    /// Leases were released.
    Released,
    /// The outcome of acquiring this thread is unknown, and the caller has received an error.
    UncertainAcquire(ThreadId),
    /// Shut down.
    Close,
}

pub(super) struct LeaseHeartbeat {
    pub(super) pool: Arc<ConnectionPool>,
    pub(super) holder: Arc<LeaseHolder>,
    connection: Option<Connection>,
    uncertain_acquires: Vec<ThreadId>,
    attempts: u32,
}

impl LeaseHeartbeat {
    pub(super) fn new(pool: Arc<ConnectionPool>, holder: Arc<LeaseHolder>) -> Self {
        Self { pool, holder, connection: None, uncertain_acquires: Vec::new(), attempts: 0 }
    }

    /// Runs until the checkpointer is closed.
    pub(super) async fn run(mut self, mut commands: UnboundedReceiver<LeaseCommand>) {
        let period = HEARTBEAT_INTERVAL.min(self.holder.lease_timeout / 3).max(Duration::from_millis(1));
        let mut interval = tokio::time::interval(period);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut retry, mut is_open) = (None, true);
        while is_open {
            let waiting = retry.unwrap_or_else(|| Instant::now() + HEARTBEAT_INTERVAL);
            let is_heartbeat_due = tokio::select! {
                command = commands.recv() => {
                    is_open = self.handle_command(command);
                    while let (true, Ok(command)) = (is_open, commands.try_recv()) {
                        is_open = self.handle_command(Some(command));
                    }
                    retry.get_or_insert_with(|| Instant::now() + RELEASE_BATCH_DELAY);
                    false
                }
                _ = interval.tick() => true,
                () = tokio::time::sleep_until(waiting) => false,
            };
            if is_open && (is_heartbeat_due || retry.is_none_or(|at| at <= Instant::now())) {
                retry = self.perform(is_heartbeat_due && self.holder.has_any()).await;
            }
        }
        // If this fails, other processes wait until the lease expires.
        drop(timeout(SHUTDOWN_TIMEOUT, self.release_all()).await);
    }

    /// Handles a command; returns false if the checkpointer is closed.
    fn handle_command(&mut self, command: Option<LeaseCommand>) -> bool {
        match command {
            Some(LeaseCommand::Released) => {}
            Some(LeaseCommand::UncertainAcquire(thread)) => self.uncertain_acquires.push(thread),
            Some(LeaseCommand::Close) | None => return false,
        }
        true
    }

    /// Runs one round; returns the time of the next attempt if it failed.
    async fn perform(&mut self, with_heartbeat: bool) -> Option<Instant> {
        if !with_heartbeat && !self.holder.has_unconfirmed_releases() && self.uncertain_acquires.is_empty() {
            return None;
        }
        let done = timeout(
            (self.holder.lease_timeout / 3).clamp(ROUND_TRIP_TIMEOUT.0, ROUND_TRIP_TIMEOUT.1),
            self.round_trip(with_heartbeat),
        )
        .await;
        if matches!(done, Ok(Ok(()))) {
            self.attempts = 0;
            return None;
        }
        self.connection = None;
        self.attempts = self.attempts.saturating_add(1);
        Some(Instant::now() + backoff_delay(self.attempts))
    }

    async fn round_trip(&mut self, with_heartbeat: bool) -> PgResult<()> {
        let address = self.pool.address.clone();
        let holder = self.holder.clone();
        let connection = match self.connection.take().filter(|connection| connection.client().is_some()) {
            Some(connection) => connection,
            None => self.pool.connect().await?,
        };
        let Some(client) = self.connection.insert(connection).client() else { return Ok(()) };
        if with_heartbeat {
            let heartbeat = address.fill("SELECT @schema@.beat($1, $2)");
            client
                .execute_typed(&heartbeat, &[(&holder.id, Type::INT8), (&holder.lease_timeout_micros(), Type::INT8)])
                .await?;
        }
        let releases = holder.releases_to_confirm();
        if !releases.is_empty() {
            let (rows, fences): (Vec<i64>, Vec<i64>) =
                releases.iter().map(|(row, fence)| (*row, fence.cast_signed())).unzip();
            let release = address.fill("SELECT @schema@.release($1, $2, $3)");
            let arguments =
                [(&rows as _, Type::INT8_ARRAY), (&fences as _, Type::INT8_ARRAY), (&holder.id as _, Type::INT8)];
            client.execute_typed(&release, &arguments).await?;
            holder.confirm_releases(&releases);
        }
        while let Some(thread) = self.uncertain_acquires.last() {
            // If another run of this process acquires the thread now, its result replaces the unknown one.
            if let Ok(_claim) = holder.begin_acquire(thread, RunId::from_bits(0))
                && holder.fence_of(thread) == Some(0)
            {
                let abandon = address.fill("SELECT @schema@.abandon($1, $2)");
                let thread = thread.as_str();
                client.execute_typed(&abandon, &[(&thread, Type::TEXT), (&holder.id, Type::INT8)]).await?;
            }
            self.uncertain_acquires.pop();
        }
        Ok(())
    }

    /// Releases all leases and deletes the row of this process.
    async fn release_all(&mut self) -> PgResult<()> {
        let may_have_row = self.holder.may_have_row();
        if !may_have_row && !self.holder.has_unconfirmed_releases() {
            return Ok(());
        }
        self.round_trip(false).await?;
        if let Some(client) = self.connection.as_ref().and_then(Connection::client) {
            let delete_holder = self.pool.address.fill("DELETE FROM @schema@.holder WHERE id = $1");
            client.execute_typed(&delete_holder, &[(&self.holder.id, Type::INT8)]).await?;
        }
        Ok(())
    }
}
