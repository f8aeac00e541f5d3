//! One connection, and who keeps it going.
//!
//! On a runtime of tokio whoever asks also moves the bytes while it waits, so that an answer passes through no other
//! thread. Such a connection belongs to its runtime: another one may not turn when this one is needed. Anywhere else the
//! thread of the room keeps connections going.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::runtime::{Handle, Id};
use tokio_postgres::{Client, Error};

use super::address::Address;
use super::trouble::{Answer, Trouble};

/// What moves the bytes of a connection.
pub(super) type Driver = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// A connection.
pub(super) struct Wire {
    client: Option<Arc<Client>>,
    /// What moves the bytes; `None` when the thread of the room does.
    driver: Option<Driver>,
    /// The runtime it belongs to.
    home: Option<Id>,
    /// When it was last used.
    pub(super) since: Instant,
}

/// How long a runtime has to connect before the room does it instead.
const UNTURNED: Duration = Duration::from_secs(5);

/// The runtime of whoever asks.
pub(super) fn here() -> Option<Id> {
    Handle::try_current().ok().map(|handle| handle.id())
}

impl Wire {
    /// A new connection of whoever asks, or of the room when that has no runtime which could keep it.
    pub(super) async fn connect(address: &Address, room: &Handle) -> Answer<Option<Self>> {
        if let Ok(handle) = Handle::try_current().map_err(drop)
            && handle.id() != room.id()
        {
            let address = address.clone();
            // In a task of its own: a runtime without sockets or without time ends that task and nothing else.
            let connecting = handle.spawn(async move { address.security.connect(&address.config).await });
            // One that is entered and does not turn would never get there.
            let waiting = {
                let _entered = room.enter();
                tokio::time::timeout(UNTURNED, connecting)
            };
            if let Ok(Ok(connected)) = waiting.await {
                let (client, connection) = connected?;
                return Ok(Some(Self::new(client, Some(connection), Some(handle.id()))));
            }
        }
        let (address, kept) = (address.clone(), room.clone());
        let connecting = room.spawn(async move {
            let (client, connection) = address.security.connect(&address.config).await?;
            // How it ended is told to whoever asks on it.
            kept.spawn(async move { drop(connection.await) });
            Ok::<_, Error>(client)
        });
        match connecting.await {
            Ok(client) => Ok(Some(Self::new(client.map_err(Trouble::from)?, None, None))),
            Err(_) => Ok(None),
        }
    }

    fn new(client: Client, driver: Option<Driver>, home: Option<Id>) -> Self {
        Self { client: Some(Arc::new(client)), driver, home, since: Instant::now() }
    }

    /// Whether whoever is on this runtime can use it.
    pub(super) fn is_of(&self, runtime: Option<Id>) -> bool {
        self.home.is_none() || self.home == runtime
    }

    /// What is asked with; `None` once it is closed.
    pub(super) fn client(&self) -> Option<Arc<Client>> {
        self.client.clone().filter(|client| !client.is_closed())
    }

    /// Takes what the server said of its own accord, such as that it is going.
    pub(super) async fn look(&mut self) {
        poll_fn(|context| {
            self.turn(context);
            Poll::Ready(())
        })
        .await;
    }

    /// Waits for an answer and moves the bytes meanwhile.
    pub(super) async fn drive<T>(&mut self, question: impl Future<Output = T>) -> T {
        let mut question = pin!(question);
        poll_fn(|context| {
            let mut answer = question.as_mut().poll(context);
            self.turn(context);
            if answer.is_pending() {
                answer = question.as_mut().poll(context);
                if answer.is_ready() {
                    // What nobody waits for is sent too.
                    self.turn(context);
                }
            }
            answer
        })
        .await
    }

    fn turn(&mut self, context: &mut Context<'_>) {
        if let Some(driver) = &mut self.driver
            && driver.as_mut().poll(context).is_ready()
        {
            self.driver = None;
        }
    }
}

/// Takes its leave of the server, unless something is under way: then the server takes that back.
impl Drop for Wire {
    fn drop(&mut self) {
        self.client = None;
        self.turn(&mut Context::from_waker(Waker::noop()));
    }
}
