//! One connection and the task that drives it.
//!
//! On a tokio runtime, the caller drives the connection while it waits for a response, so that the response passes
//! through no other thread. Such a connection belongs to its runtime, because another runtime may not be polled when
//! the connection is needed. On other executors, the thread of the pool drives the connection.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, Id};
use tokio_postgres::{Client, Error};

use super::config::PgConfig;
use super::error::{PgError, PgResult};

/// Future that transfers the bytes of a connection.
pub(super) type ConnectionDriver = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// A connection.
pub(super) struct Connection {
    client: Option<Arc<Client>>,
    /// Driver of the connection; `None` if the thread of the pool drives it.
    driver: Option<ConnectionDriver>,
    /// Runtime to which the connection belongs.
    runtime_id: Option<Id>,
    /// Time of its last use.
    pub(super) last_used: Instant,
}

/// Time for a caller's runtime to connect before the pool connects instead.
const RUNTIME_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the id of the caller's runtime.
pub(super) fn current_runtime_id() -> Option<Id> {
    Handle::try_current().ok().map(|handle| handle.id())
}

impl Connection {
    /// Opens a connection on the runtime of the caller, or on that of the pool if the caller has none that works.
    pub(super) async fn connect(address: &PgConfig, runtime: &Handle) -> PgResult<Option<Self>> {
        if let Ok(handle) = Handle::try_current().map_err(drop)
            && handle.id() != runtime.id()
        {
            let address = address.clone();
            // In a separate task: on a runtime without I/O or time, only that task panics.
            let connecting = handle.spawn(async move { address.tls.connect(&address.config).await });
            // A runtime that is entered but not polled would never connect.
            let waiting = {
                let _entered = runtime.enter();
                tokio::time::timeout(RUNTIME_CONNECT_TIMEOUT, connecting)
            };
            if let Ok(Ok(connected)) = waiting.await {
                let (client, connection) = connected?;
                return Ok(Some(Self::new(client, Some(connection), Some(handle.id()))));
            }
        }
        let (address, spawner) = (address.clone(), runtime.clone());
        let connecting = runtime.spawn(async move {
            let (client, connection) = address.tls.connect(&address.config).await?;
            // Callers receive connection errors from their requests.
            spawner.spawn(async move { drop(connection.await) });
            Ok::<_, Error>(client)
        });
        match connecting.await {
            Ok(client) => Ok(Some(Self::new(client.map_err(PgError::from)?, None, None))),
            Err(_) => Ok(None),
        }
    }

    fn new(client: Client, driver: Option<ConnectionDriver>, runtime_id: Option<Id>) -> Self {
        Self { client: Some(Arc::new(client)), driver, runtime_id, last_used: Instant::now() }
    }

    /// Returns true if callers on this runtime can use the connection.
    pub(super) fn is_usable_on(&self, runtime: Option<Id>) -> bool {
        self.runtime_id.is_none() || self.runtime_id == runtime
    }

    /// Returns the client; `None` if the connection is closed.
    pub(super) fn client(&self) -> Option<Arc<Client>> {
        self.client.clone().filter(|client| !client.is_closed())
    }

    /// Processes messages that the server sent on its own, such as a shutdown notice.
    pub(super) async fn poll_notices(&mut self) {
        poll_fn(|context| {
            self.poll_driver(context);
            Poll::Ready(())
        })
        .await;
    }

    /// Waits for a response and drives the connection meanwhile.
    pub(super) async fn drive<T>(&mut self, request: impl Future<Output = T>) -> T {
        let mut request = pin!(request);
        poll_fn(|context| {
            let mut response = request.as_mut().poll(context);
            self.poll_driver(context);
            if response.is_pending() {
                response = request.as_mut().poll(context);
                if response.is_ready() {
                    // Also sends messages that no caller waits for.
                    self.poll_driver(context);
                }
            }
            response
        })
        .await
    }

    fn poll_driver(&mut self, context: &mut Context<'_>) {
        if let Some(driver) = &mut self.driver
            && driver.as_mut().poll(context).is_ready()
        {
            self.driver = None;
        }
    }
}

/// Sends a termination message unless a request is pending, which the server then rolls back.
impl Drop for Connection {
    fn drop(&mut self) {
        self.client = None;
        self.poll_driver(&mut Context::from_waker(Waker::noop()));
    }
}
