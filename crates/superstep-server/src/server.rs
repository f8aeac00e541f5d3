//! Starts and shuts down the server: binds the port, recovers unfinished runs, serves HTTP.

use std::net::SocketAddr;
use std::time::Duration;

use axum::serve::ListenerExt;
use superstep::settings::PortInUse;
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
    listening: JoinSet<()>,
    others: JoinSet<()>,
    recovered_runs: usize,
}

/// Number of ports tried if the configured one is in use.
const MAX_PORT_ATTEMPTS: u16 = 32;

/// Upper limit of the total shutdown time.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(9_500);

/// Starts a server for these applications, and returns it once it accepts connections.
///
/// Runs that an earlier process left unfinished are recovered or marked before the first request is handled. Runs of
/// other processes that crash later are recovered within seconds after their leases have expired.
///
/// # Errors
/// Returns an error if the address is not permitted or cannot be bound, two graphs have the same name, or the storage
/// cannot be read.
pub async fn serve(apps: Vec<App>, config: ServerConfig) -> Result<Server> {
    let (listener, address) = listen(&config).await?;
    let guard = SecurityPolicy::new(&config, address.ip().is_loopback());
    let runs = RunService::open(apps.iter().flat_map(|app| app.graphs.clone()), config)?;
    let service = router(apps, runs.clone(), guard)?.into_make_service_with_connect_info::<SocketAddr>();
    let report = runs.recover_all().await.map_err(startup_error)?;
    // Without `TCP_NODELAY` the system would delay small events.
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    let (close, mut closed) = watch::channel(false);
    let (mut listening, mut others) = (JoinSet::new(), JoinSet::new());
    listening.spawn(async move {
        let closing = async move { drop(closed.wait_for(|is_closed| *is_closed).await) };
        if let Err(error) = axum::serve(listener, service).with_graceful_shutdown(closing).await {
            tracing::error!("the server stopped: {error}");
        }
    });
    others.spawn(sweep_loop(runs.clone()));
    let (later, recovered_runs) = (runs.clone(), report.count);
    others.spawn(async move { later.recovery_loop(report).await });
    Ok(Server { address, run_service: runs, shutdown_tx: close, listening, others, recovered_runs })
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
        let drain = self.run_service.config().drain_timeout.min(SHUTDOWN_TIMEOUT - Duration::from_millis(1_500));
        let drained = started + drain;
        self.run_service.worker().shut_down(drained, drained + Duration::from_millis(500)).await;
        self.run_service.broadcaster().shut_down();
        self.shutdown_tx.send_replace(true);
        // Subscribers that do not read must not delay the shutdown.
        let over = (Instant::now() + Duration::from_secs(1)).min(started + SHUTDOWN_TIMEOUT);
        let _ = timeout_at(over, self.listening.join_next()).await;
        self.listening.shutdown().await;
        self.others.shutdown().await;
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
    let mut minutes = tokio::time::interval(Duration::from_secs(60));
    loop {
        minutes.tick().await;
        runs.broadcaster().remove_expired();
    }
}

async fn listen(config: &ServerConfig) -> Result<(TcpListener, SocketAddr)> {
    let addresses = resolve(&config.host).await?;
    if let Some(open) = addresses.iter().find(|address| !address.is_loopback() && !config.allow_insecure) {
        let message = format!("other machines can reach `{open}`, and the server has no authentication");
        return Err(Error::new(ErrorCode::PolicyRefused, message)
            .with_help("listen on 127.0.0.1, or use `--insecure` behind a proxy that authenticates users"));
    }
    let last = match config.port_in_use {
        PortInUse::NextFree if config.port != 0 => config.port.saturating_add(MAX_PORT_ATTEMPTS),
        _ => config.port,
    };
    let mut bind_failure = None;
    for port in config.port..=last {
        for address in &addresses {
            match TcpListener::bind(SocketAddr::new(*address, port)).await {
                Ok(listener) => {
                    let address = listener.local_addr().map_err(|error| bind_error(config, &error))?;
                    return Ok((listener, address));
                }
                Err(error) => bind_failure = Some(error),
            }
        }
        if bind_failure.as_ref().is_some_and(|error| error.kind() != std::io::ErrorKind::AddrInUse) {
            break;
        }
    }
    Err(bind_error(config, &bind_failure.unwrap_or_else(|| std::io::ErrorKind::AddrNotAvailable.into())))
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
