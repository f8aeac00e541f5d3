//! One connection to a server: how it comes about, how something is asked over it, and what becomes of it.
//!
//! A server on the web is connected to again when it was lost; a program is not started twice, because what it knew is
//! gone with it.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CancelledNotificationParam, ClientCapabilities, ClientConfig, ClientRequest, Implementation, RequestId,
    ServerCapabilities, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, RunningService};
use rmcp::transport::Transport;
use rmcp::{ClientHandler, RoleClient, ServiceError, ServiceExt};
use superstep_core::error::Result;
use superstep_core::port::Progress;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;

use super::notes::Notes;
use super::pipe::Pipe;
use super::remote::Remote;
use super::trouble;
use super::watch::{Watch, Watched};

/// How long one request may take, unless somebody says otherwise.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// A connection. Closed when the last who holds it lets go.
pub(super) struct Connection {
    server: String,
    timeout: Duration,
    way: Way,
    watch: Arc<Watch>,
    link: Mutex<Option<Link>>,
}

/// How the server was reached.
enum Way {
    /// By a pipe that there is only once.
    Pipe(Arc<Notes>),
    /// Over the web.
    Web(Box<Remote>),
}

type Link = RunningService<RoleClient, Visitor>;

/// What the server may ask of us: nothing but who we are.
struct Visitor;

impl ClientHandler for Visitor {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("superstep", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), us)
    }
}

impl Connection {
    /// A connection over a pipe.
    ///
    /// # Errors
    /// When the server does not answer, or not in the protocol.
    pub(super) async fn once<R, W>(server: &str, timeout: Duration, pipe: Pipe<R, W>) -> Result<Arc<Self>>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let way = Way::Pipe(Arc::clone(pipe.notes()));
        let connection =
            Self { server: server.to_owned(), timeout, way, watch: Arc::default(), link: Mutex::default() };
        let link = Box::pin(connection.greet(pipe)).await?;
        *connection.link.lock().await = Some(link);
        Ok(Arc::new(connection))
    }

    /// A connection over the web.
    ///
    /// # Errors
    /// As for [`Connection::once`], and when the address is not allowed.
    pub(super) async fn web(timeout: Duration, remote: Remote) -> Result<Arc<Self>> {
        let (server, way) = (remote.name(), Way::Web(Box::new(remote)));
        let connection = Self { server, timeout, way, watch: Arc::default(), link: Mutex::default() };
        connection.peer().await?;
        Ok(Arc::new(connection))
    }

    /// What we call the server.
    pub(super) fn server(&self) -> &str {
        &self.server
    }

    /// What it says without being asked.
    pub(super) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// What it says it can do.
    ///
    /// # Errors
    /// When it is not there.
    pub(super) async fn capabilities(&self) -> Result<ServerCapabilities> {
        let peer = self.peer().await?;
        Ok(peer.peer_info().map(|info| info.capabilities.clone()).unwrap_or_default())
    }

    /// Asks, and waits for the answer. A request that nobody waits for any more is taken back at the server.
    ///
    /// # Errors
    /// When the server is not there, is silent, or refuses.
    pub(super) async fn ask(&self, request: ClientRequest, progress: &Progress) -> Result<ServerResult> {
        let method = request.method().to_owned();
        let peer = self.peer().await?;
        let asked = tokio::time::timeout(self.timeout, Box::pin(self.exchange(&peer, request, progress))).await;
        match asked {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                if matches!(error, ServiceError::TransportClosed | ServiceError::TransportSend(_)) {
                    self.lost().await;
                }
                let trouble = trouble::of_request(&self.server, &error, &self.tail());
                Err(trouble.retryable(matches!(self.way, Way::Web(_)) && !matches!(error, ServiceError::McpError(_))))
            }
            Err(_) => Err(trouble::slow(&self.server, &method, self.timeout, &self.tail())),
        }
    }

    async fn exchange(
        &self,
        peer: &Peer<RoleClient>,
        request: ClientRequest,
        progress: &Progress,
    ) -> Result<ServerResult, ServiceError> {
        let handle = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await?;
        let mut unanswered = Unanswered { peer, request: Some(handle.id.clone()) };
        let answer = self.answer(handle, progress).await;
        unanswered.request = None;
        answer
    }

    async fn answer(
        &self,
        handle: RequestHandle<RoleClient>,
        progress: &Progress,
    ) -> Result<ServerResult, ServiceError> {
        let following = if progress.wants() { self.watch.follow(&handle.progress_token) } else { None };
        let Some(mut following) = following else { return handle.await_response().await };
        let mut answer = pin!(handle.await_response());
        let answer = loop {
            tokio::select! {
                biased;
                Some(news) = following.next() => progress.send(news).await,
                answer = &mut answer => break answer,
            }
        };
        while let Some(news) = following.waiting() {
            progress.send(news).await;
        }
        answer
    }

    /// The other end, connected to again where that can be done.
    async fn peer(&self) -> Result<Peer<RoleClient>> {
        let mut link = self.link.lock().await;
        if let Some(link) = link.as_ref().filter(|link| !link.is_transport_closed()) {
            return Ok(link.peer().clone());
        }
        let Way::Web(remote) = &self.way else { return Err(trouble::gone(&self.server, &self.tail())) };
        let fresh = Box::pin(self.greet(remote.transport()?)).await?;
        // Whatever was listed before may have been another server's.
        self.watch.changed();
        Ok(link.insert(fresh).peer().clone())
    }

    /// Says hello.
    async fn greet<T: Transport<RoleClient> + 'static>(&self, transport: T) -> Result<Link> {
        let transport = Watched { transport, watch: Arc::clone(&self.watch) };
        match tokio::time::timeout(self.timeout, Visitor.serve(transport)).await {
            Ok(Ok(link)) => Ok(link),
            Ok(Err(error)) => {
                if let Way::Pipe(notes) = &self.way {
                    notes.settle().await;
                }
                let trouble = trouble::of_greeting(&self.server, &error, &self.tail());
                Err(trouble.retryable(matches!(self.way, Way::Web(_))))
            }
            Err(_) => Err(trouble::slow(&self.server, "initialize", self.timeout, &self.tail())),
        }
    }

    /// The next who asks connects again.
    async fn lost(&self) {
        if let Way::Web(_) = self.way {
            *self.link.lock().await = None;
        }
    }

    fn tail(&self) -> String {
        match &self.way {
            Way::Pipe(notes) => notes.tail(),
            Way::Web(_) => String::new(),
        }
    }
}

/// A request that is not answered yet. Let go so, the server hears that nobody waits.
struct Unanswered<'a> {
    peer: &'a Peer<RoleClient>,
    request: Option<RequestId>,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        // Without a runtime the connection is gone anyway.
        let (Some(request), Ok(runtime)) = (self.request.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let cancelled = CancelledNotificationParam::new(Some(request), Some("nobody waits for it".to_owned()));
            let _ = peer.notify_cancelled(cancelled).await;
        });
    }
}
