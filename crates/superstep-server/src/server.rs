//! Starts and shuts down the server: binds the port, recovers unfinished runs, serves HTTP.

use std::net::SocketAddr;
use std::time::Duration;

use axum::serve::ListenerExt;
use superstep::settings::PortConflictPolicy;
use superstep::{Error, ErrorCode, Result};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::access::security::SecurityPolicy;
use crate::api::problem::Problem;
use crate::api::router::router;
use crate::app::App;
use crate::config::ServerConfig;
use crate::runs::service::RunService;

/// A listening server. Dropping the server aborts all runs at once; [`Server::shutdown`] shuts it down gracefully.
#[must_use = "dropping the server stops it at once"]
pub struct Server {
    address: SocketAddr,
    run_service: RunService,
    shutdown_tx: watch::Sender<bool>,
    /// Task that serves HTTP; ends when `shutdown_tx` is set to true.
    http_task: JoinSet<()>,
    background_tasks: JoinSet<()>,
    recovered_runs: usize,
}

/// Number of ports tried if the configured one is in use.
const MAX_PORT_ATTEMPTS: u16 = 32;

/// Upper limit of the total shutdown time.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(9_500);

/// Starts a server for these applications, and returns it once it accepts connections.
///
/// Runs that an earlier process left unfinished are resumed, or marked as orphaned with [`RecoveryMode::Manual`],
/// before the first request is handled. Runs of other processes that crash later are recovered within seconds after
/// their leases have expired.
///
/// [`RecoveryMode::Manual`]: superstep::settings::RecoveryMode::Manual
///
/// # Errors
/// Returns an error if the address is not permitted or cannot be bound, two graphs have the same name, or the storage
/// cannot be read.
pub async fn serve(apps: Vec<App>, config: ServerConfig) -> Result<Server> {
    let (listener, address) = listen(&config).await?;
    let policy = SecurityPolicy::new(&config, address.ip().is_loopback());
    let runs = RunService::open(apps.iter().flat_map(|app| app.graphs.clone()), config)?;
    let service = router(apps, runs.clone(), policy)?.into_make_service_with_connect_info::<SocketAddr>();
    let report = runs.recover_all().await.map_err(startup_error)?;
    // Without `TCP_NODELAY` the system would delay small events.
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    let (shutdown_tx, mut shutdown_rx) = watch::channel(false);
    let (mut http_task, mut background_tasks) = (JoinSet::new(), JoinSet::new());
    http_task.spawn(async move {
        let shutdown = async move { drop(shutdown_rx.wait_for(|is_shutdown| *is_shutdown).await) };
        if let Err(error) = axum::serve(listener, service).with_graceful_shutdown(shutdown).await {
            tracing::error!("the server stopped: {error}");
        }
    });
    background_tasks.spawn(sweep_loop(runs.clone()));
    let (recovery_service, recovered_runs) = (runs.clone(), report.count);
    background_tasks.spawn(async move { recovery_service.recovery_loop(report).await });
    Ok(Server { address, run_service: runs, shutdown_tx, http_task, background_tasks, recovered_runs })
}

impl Server {
    /// Returns the address that the server listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL for a browser.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the run service of the routes.
    #[must_use]
    pub fn run_service(&self) -> &RunService {
        &self.run_service
    }

    /// Returns the number of unfinished runs of earlier processes that were found at startup.
    #[must_use]
    pub fn recovered_runs(&self) -> usize {
        self.recovered_runs
    }

    /// Shuts down gracefully within ten seconds: rejects new runs, lets active runs finish and save their current
    /// superstep, notifies subscribers, and closes connections. The storage is closed when its last handle is dropped.
    pub async fn shutdown(mut self) {
        let started = Instant::now();
        let drain_timeout =
            self.run_service.config().drain_timeout.min(SHUTDOWN_TIMEOUT - Duration::from_millis(1_500));
        let drain_deadline = started + drain_timeout;
        self.run_service.worker().shut_down(drain_deadline, drain_deadline + Duration::from_millis(500)).await;
        self.run_service.broadcaster().shut_down();
        self.shutdown_tx.send_replace(true);
        // Subscribers that do not read must not delay the shutdown.
        let http_deadline = (Instant::now() + Duration::from_secs(1)).min(started + SHUTDOWN_TIMEOUT);
        let _ = timeout_at(http_deadline, self.http_task.join_next()).await;
        self.http_task.shutdown().await;
        self.background_tasks.shutdown().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.run_service.worker().abort();
        // Connections outlive the server, and their subscribers would wait for events that never come.
        self.run_service.broadcaster().shut_down();
    }
}

/// Completes when the process receives Ctrl-C or `SIGTERM`.
pub async fn shutdown_signal() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        let Ok(mut terminated) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) else {
            return drop(interrupted.await);
        };
        tokio::select! {
            _ = interrupted => {}
            _ = terminated.recv() => {}
        }
    }
    #[cfg(not(unix))]
    drop(interrupted.await);
}

/// Removes expired broadcasts every minute.
async fn sweep_loop(runs: RunService) {
    let mut interval = tokio::time::interval(Duration::from_secs(60));
    loop {
        interval.tick().await;
        runs.broadcaster().remove_expired();
    }
}

async fn listen(config: &ServerConfig) -> Result<(TcpListener, SocketAddr)> {
    let addresses = resolve(&config.host).await?;
    if let Some(address) = addresses.iter().find(|address| !address.is_loopback() && !config.allow_insecure) {
        let message = format!("other machines can reach `{address}`, and the server has no authentication");
        let help = "listen on 127.0.0.1, or call `ServerConfig::allow_insecure` (`superstep serve --insecure`) \
                    behind a proxy that authenticates users";
        return Err(Error::new(ErrorCode::PolicyRefused, message).with_help(help));
    }
    let last_port = match config.port_in_use {
        PortConflictPolicy::NextFree if config.port != 0 => config.port.saturating_add(MAX_PORT_ATTEMPTS),
        _ => config.port,
    };
    let mut last_error = None;
    for port in config.port..=last_port {
        for address in &addresses {
            match TcpListener::bind(SocketAddr::new(*address, port)).await {
                Ok(listener) => {
                    let address = listener.local_addr().map_err(|error| bind_error(config, &error))?;
                    return Ok((listener, address));
                }
                Err(error) => last_error = Some(error),
            }
        }
        if last_error.as_ref().is_some_and(|error| error.kind() != std::io::ErrorKind::AddrInUse) {
            break;
        }
    }
    Err(bind_error(config, &last_error.unwrap_or_else(|| std::io::ErrorKind::AddrNotAvailable.into())))
}

async fn resolve(host: &str) -> Result<Vec<std::net::IpAddr>> {
    let name = host.trim_matches(['[', ']']);
    let lookup = tokio::net::lookup_host((name, 0)).await;
    let addresses: Vec<_> = lookup.map(|addresses| addresses.map(|address| address.ip()).collect()).unwrap_or_default();
    if addresses.is_empty() {
        let message = format!("`{host}` is not a valid address to listen on");
        return Err(Error::new(ErrorCode::ConfigInvalid, message)
            .with_help("set `server.host` to an address such as 127.0.0.1"));
    }
    Ok(addresses)
}

fn bind_error(config: &ServerConfig, error: &std::io::Error) -> Error {
    let message = format!("cannot listen on `{}` port {}: {}", config.host, config.port, error.kind());
    let help = match error.kind() {
        std::io::ErrorKind::AddrInUse => "use another port, or set `server.port_in_use` to `next`",
        std::io::ErrorKind::PermissionDenied => "use a port above 1023",
        _ => "set `server.host` to an address of this machine",
    };
    Error::new(ErrorCode::ConfigInvalid, message).with_help(help)
}

fn startup_error(problem: Problem) -> Error {
    Error::new(ErrorCode::StoreUnavailable, format!("the run records cannot be read: {}", problem.detail()))
}
