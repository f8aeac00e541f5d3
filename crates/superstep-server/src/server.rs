//! The server itself: from a configuration to an open port, and back to silence within ten seconds.

use std::net::SocketAddr;
use std::time::Duration;

use axum::serve::ListenerExt;
use superstep::settings::PortInUse;
use superstep::{Code, Error, Result};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::app::App;
use crate::config::Config;
use crate::desk::Desk;
use crate::guard::Guard;
use crate::problem::Problem;
use crate::routes::router;

/// A server that listens. Dropping it lets go of everything at once; [`Server::shutdown`] does it in order.
#[must_use = "a server that is dropped stops at once"]
pub struct Server {
    address: SocketAddr,
    desk: Desk,
    close: watch::Sender<bool>,
    /// What answers requests; ends by itself when it is told to close.
    listening: JoinSet<()>,
    others: JoinSet<()>,
    taken_up: usize,
}

/// How many ports are tried when the one that was asked for is taken.
const PORTS_TRIED: u16 = 32;

/// All of the shutdown takes less than this.
const LONGEST: Duration = Duration::from_millis(9_500);

/// Serves applications.
///
/// Runs that did not end with an earlier process are taken up, or marked, before the first request is answered; those
/// whose process dies later, within seconds of its death being known.
///
/// # Errors
/// When the address may not or cannot be listened on, two graphs have one name, or the store cannot be read.
pub async fn serve(apps: Vec<App>, config: Config) -> Result<Server> {
    let (listener, address) = listen(&config).await?;
    let guard = Guard::new(&config, address.ip().is_loopback());
    let desk = Desk::open(apps.iter().flat_map(|app| app.graphs.clone()), config)?;
    let service = router(apps, desk.clone(), guard)?.into_make_service_with_connect_info::<SocketAddr>();
    let found = desk.take_up().await.map_err(unread)?;
    // Small pieces go out at once, whatever the system would rather gather.
    let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
    let (close, mut closed) = watch::channel(false);
    let (mut listening, mut others) = (JoinSet::new(), JoinSet::new());
    listening.spawn(async move {
        let closing = async move { drop(closed.wait_for(|is_closed| *is_closed).await) };
        if let Err(error) = axum::serve(listener, service).with_graceful_shutdown(closing).await {
            tracing::error!("the server stopped: {error}");
        }
    });
    others.spawn(sweep(desk.clone()));
    let (later, taken_up) = (desk.clone(), found.count);
    others.spawn(async move { later.take_up_later(found).await });
    Ok(Server { address, desk, close, listening, others, taken_up })
}

impl Server {
    /// The address it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for a browser.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What its routes use.
    #[must_use]
    pub fn desk(&self) -> &Desk {
        &self.desk
    }

    /// How many runs of an earlier process were found that had not ended.
    #[must_use]
    pub fn taken_up(&self) -> usize {
        self.taken_up
    }

    /// Stops in order, within ten seconds: no new runs, running ones finish their superstep and are saved, readers are
    /// told, connections end. What it has of the stores is let go of, so that whoever has the last of them closes them.
    pub async fn shutdown(mut self) {
        let begun = Instant::now();
        let drain = self.desk.config().drain.min(LONGEST - Duration::from_millis(1_500));
        let drained = begun + drain;
        self.desk.worker().shut_down(drained, drained + Duration::from_millis(500)).await;
        self.desk.hub().shut_down();
        self.close.send_replace(true);
        // Readers that do not read are not waited for.
        let over = (Instant::now() + Duration::from_secs(1)).min(begun + LONGEST);
        let _ = timeout_at(over, self.listening.join_next()).await;
        self.listening.shutdown().await;
        self.others.shutdown().await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.desk.worker().abort();
        // Connections outlive the server that took them; what they wait for does not come any more.
        self.desk.hub().shut_down();
    }
}

/// Ends when the process is asked to stop: by Ctrl-C, or by `SIGTERM`.
pub async fn stop_signal() {
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

/// Forgets what readers no longer need.
async fn sweep(desk: Desk) {
    let mut minutes = tokio::time::interval(Duration::from_secs(60));
    loop {
        minutes.tick().await;
        desk.hub().sweep();
    }
}

async fn listen(config: &Config) -> Result<(TcpListener, SocketAddr)> {
    let addresses = resolve(&config.host).await?;
    if let Some(open) = addresses.iter().find(|address| !address.is_loopback() && !config.is_insecure) {
        let message = format!("`{open}` can be reached by others, and nobody would have to say who they are");
        return Err(Error::new(Code::PolicyRefused, message)
            .help("listen on 127.0.0.1, or say `--insecure` when something in front of the server asks who they are"));
    }
    let last = match config.port_in_use {
        PortInUse::NextFree if config.port != 0 => config.port.saturating_add(PORTS_TRIED),
        _ => config.port,
    };
    let mut refusal = None;
    for port in config.port..=last {
        for address in &addresses {
            match TcpListener::bind(SocketAddr::new(*address, port)).await {
                Ok(listener) => {
                    let address = listener.local_addr().map_err(|error| unbound(config, &error))?;
                    return Ok((listener, address));
                }
                Err(error) => refusal = Some(error),
            }
        }
        if refusal.as_ref().is_some_and(|error| error.kind() != std::io::ErrorKind::AddrInUse) {
            break;
        }
    }
    Err(unbound(config, &refusal.unwrap_or_else(|| std::io::ErrorKind::AddrNotAvailable.into())))
}

async fn resolve(host: &str) -> Result<Vec<std::net::IpAddr>> {
    let name = host.trim_matches(['[', ']']);
    let found = tokio::net::lookup_host((name, 0)).await;
    let found: Vec<_> = found.map(|found| found.map(|address| address.ip()).collect()).unwrap_or_default();
    if found.is_empty() {
        let message = format!("`{host}` is not an address to listen on");
        return Err(Error::new(Code::ConfigInvalid, message).help("set `server.host` to an address such as 127.0.0.1"));
    }
    Ok(found)
}

fn unbound(config: &Config, error: &std::io::Error) -> Error {
    let message = format!("cannot listen on `{}` port {}: {}", config.host, config.port, error.kind());
    let help = match error.kind() {
        std::io::ErrorKind::AddrInUse => "choose another port, or set `server.port_in_use` to `next`",
        std::io::ErrorKind::PermissionDenied => "choose a port above 1023",
        _ => "set `server.host` to an address of this machine",
    };
    Error::new(Code::ConfigInvalid, message).help(help)
}

fn unread(problem: Problem) -> Error {
    Error::new(Code::StoreUnavailable, format!("the records of runs cannot be read: {}", problem.detail()))
}
