//! One connection to a server: establishing it, sending requests over it, and detecting its end.
//!
//! A lost HTTP connection is established again with the next request; a program is not started twice, because its
//! state is lost.

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
use superstep_core::port::ToolProgress;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;

use super::diagnostics::ServerDiagnostics;
use super::error;
use super::http_endpoint::HttpEndpoint;
use super::notifications::{Notifications, ObservedTransport};
use super::stdio_transport::StdioTransport;

/// Default timeout of one request.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A connection, closed when the last reference is dropped.
pub(super) struct Connection {
    server: String,
    timeout: Duration,
    transport_kind: TransportKind,
    notifications: Arc<Notifications>,
    session: Mutex<Option<Session>>,
}

/// Transport of the connection.
enum TransportKind {
    /// A pipe, which cannot be opened again.
    Pipe(Arc<ServerDiagnostics>),
    /// Streamable HTTP.
    Http(Box<HttpEndpoint>),
}

type Session = RunningService<RoleClient, ClientHandlerImpl>;

/// Client handler that offers the server no capabilities, only name and version.
struct ClientHandlerImpl;

impl ClientHandler for ClientHandlerImpl {
    fn get_info(&self) -> ClientConfig {
        let implementation = Implementation::new("superstep", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), implementation)
    }
}

impl Connection {
    /// Connects over a pipe.
    ///
    /// # Errors
    /// Returns an error if the server does not respond or does not support the protocol.
    pub(super) async fn stdio<R, W>(server: &str, timeout: Duration, pipe: StdioTransport<R, W>) -> Result<Arc<Self>>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let transport_kind = TransportKind::Pipe(Arc::clone(pipe.diagnostics()));
        let connection = Self {
            server: server.to_owned(),
            timeout,
            transport_kind,
            notifications: Arc::default(),
            session: Mutex::default(),
        };
        let session = Box::pin(connection.initialize(pipe)).await?;
        *connection.session.lock().await = Some(session);
        Ok(Arc::new(connection))
    }

    /// Connects over HTTP.
    ///
    /// # Errors
    /// Returns the errors of [`Connection::stdio`], and an error if the address is not permitted.
    pub(super) async fn http(timeout: Duration, endpoint: HttpEndpoint) -> Result<Arc<Self>> {
        let (server, transport_kind) = (endpoint.name(), TransportKind::Http(Box::new(endpoint)));
        let connection =
            Self { server, timeout, transport_kind, notifications: Arc::default(), session: Mutex::default() };
        connection.peer().await?;
        Ok(Arc::new(connection))
    }

    /// Returns the name of the server in errors.
    pub(super) fn server(&self) -> &str {
        &self.server
    }

    /// Returns the notifications of the server.
    pub(super) fn notifications(&self) -> &Notifications {
        &self.notifications
    }

    /// Returns the capabilities that the server announced.
    ///
    /// # Errors
    /// Returns an error if the connection is lost and cannot be established again.
    pub(super) async fn capabilities(&self) -> Result<ServerCapabilities> {
        let peer = self.peer().await?;
        Ok(peer.peer_info().map(|info| info.capabilities.clone()).unwrap_or_default())
    }

    /// Sends a request and waits for the response. The request is cancelled at the server if this future is dropped.
    ///
    /// # Errors
    /// Returns an error if the connection is lost, the request times out, or the server responds with an error.
    pub(super) async fn request(&self, request: ClientRequest, progress: &ToolProgress) -> Result<ServerResult> {
        let method = request.method().to_owned();
        let peer = self.peer().await?;
        let outcome =
            tokio::time::timeout(self.timeout, Box::pin(self.send_and_receive(&peer, request, progress))).await;
        match outcome {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => {
                if matches!(error, ServiceError::TransportClosed | ServiceError::TransportSend(_)) {
                    self.mark_disconnected().await;
                }
                let failure = error::from_service_error(&self.server, &error, &self.diagnostics_suffix());
                Err(failure.with_retryable(
                    matches!(self.transport_kind, TransportKind::Http(_))
                        && !matches!(error, ServiceError::McpError(_)),
                ))
            }
            Err(_) => Err(error::timeout_error(&self.server, &method, self.timeout, &self.diagnostics_suffix())),
        }
    }

    async fn send_and_receive(
        &self,
        peer: &Peer<RoleClient>,
        request: ClientRequest,
        progress: &ToolProgress,
    ) -> Result<ServerResult, ServiceError> {
        let handle = peer.send_request_with_option(request, PeerRequestOptions::no_options()).await?;
        let mut guard = PendingRequestGuard { peer, request: Some(handle.id.clone()) };
        let response = self.receive_response(handle, progress).await;
        guard.request = None;
        response
    }

    async fn receive_response(
        &self,
        handle: RequestHandle<RoleClient>,
        progress: &ToolProgress,
    ) -> Result<ServerResult, ServiceError> {
        let progress_receiver =
            if progress.has_listener() { self.notifications.subscribe_progress(&handle.progress_token) } else { None };
        let Some(mut progress_receiver) = progress_receiver else { return handle.await_response().await };
        let mut response = pin!(handle.await_response());
        let response = loop {
            tokio::select! {
                biased;
                Some(update) = progress_receiver.next() => progress.send(update).await,
                response = &mut response => break response,
            }
        };
        while let Some(update) = progress_receiver.try_next() {
            progress.send(update).await;
        }
        response
    }

    /// Returns the peer, after connecting again if the transport allows that.
    async fn peer(&self) -> Result<Peer<RoleClient>> {
        let mut current = self.session.lock().await;
        if let Some(session) = current.as_ref().filter(|session| !session.is_transport_closed()) {
            return Ok(session.peer().clone());
        }
        let TransportKind::Http(endpoint) = &self.transport_kind else {
            return Err(error::disconnected_error(&self.server, &self.diagnostics_suffix()));
        };
        let session = Box::pin(self.initialize(endpoint.transport()?)).await?;
        // The server may be a different one, so cached lists are outdated.
        self.notifications.tools_changed();
        Ok(current.insert(session).peer().clone())
    }

    /// Performs the MCP initialization.
    async fn initialize<T: Transport<RoleClient> + 'static>(&self, transport: T) -> Result<Session> {
        let transport = ObservedTransport { transport, notifications: Arc::clone(&self.notifications) };
        match tokio::time::timeout(self.timeout, ClientHandlerImpl.serve(transport)).await {
            Ok(Ok(session)) => Ok(session),
            Ok(Err(error)) => {
                if let TransportKind::Pipe(diagnostics) = &self.transport_kind {
                    diagnostics.wait_for_stderr().await;
                }
                let failure = error::from_initialize_error(&self.server, &error, &self.diagnostics_suffix());
                Err(failure.with_retryable(matches!(self.transport_kind, TransportKind::Http(_))))
            }
            Err(_) => Err(error::timeout_error(&self.server, "initialize", self.timeout, &self.diagnostics_suffix())),
        }
    }

    /// Drops a lost HTTP connection, so that the next request connects again.
    async fn mark_disconnected(&self) {
        if let TransportKind::Http(_) = self.transport_kind {
            *self.session.lock().await = None;
        }
    }

    fn diagnostics_suffix(&self) -> String {
        match &self.transport_kind {
            TransportKind::Pipe(diagnostics) => diagnostics.message_suffix(),
            TransportKind::Http(_) => String::new(),
        }
    }
}

/// Guard of a pending request: cancels the request at the server when dropped.
struct PendingRequestGuard<'a> {
    peer: &'a Peer<RoleClient>,
    request: Option<RequestId>,
}

impl Drop for PendingRequestGuard<'_> {
    fn drop(&mut self) {
        // Without a runtime, the connection has ended as well.
        let (Some(request), Ok(runtime)) = (self.request.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let cancelled =
                CancelledNotificationParam::new(Some(request), Some("the caller dropped the request".to_owned()));
            let _ = peer.notify_cancelled(cancelled).await;
        });
    }
}
