//! A proxy to a server that breaks connections at a chosen moment.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Moment at which a connection is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DisconnectPoint {
    /// Before the server receives the commit.
    Before,
    /// After the server executed the commit, before its response.
    After,
}

#[derive(Default)]
struct Rules {
    /// Countdown to the commit at which the connection is broken, and the moment.
    next: Mutex<Option<(usize, DisconnectPoint)>>,
    cuts: AtomicUsize,
    is_closed: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

/// The proxy.
pub(crate) struct Proxy {
    port: u16,
    rules: Arc<Rules>,
}

impl Proxy {
    /// Starts a proxy to a port.
    pub(crate) fn to(target: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let rules = Arc::new(Rules::default());
        let shared = rules.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                match TcpStream::connect(("127.0.0.1", target)) {
                    Ok(server) if !shared.is_closed.load(Ordering::SeqCst) => join(client, server, &shared),
                    _ => drop(client.shutdown(Shutdown::Both)),
                }
            }
        });
        Self { port, rules }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Breaks the connection at a commit from now on, the first being 1.
    pub(crate) fn cut_at(&self, commit: usize, cut: DisconnectPoint) {
        *self.rules.next.lock().unwrap() = Some((commit, cut));
    }

    /// Returns the number of broken connections.
    pub(crate) fn cuts(&self) -> usize {
        self.rules.cuts.load(Ordering::SeqCst)
    }

    /// Breaks all connections and accepts no more.
    pub(crate) fn close(&self) {
        self.rules.is_closed.store(true, Ordering::SeqCst);
        self.rules.open.lock().unwrap().drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }
}

fn join(client: TcpStream, server: TcpStream, rules: &Arc<Rules>) {
    let drops_response = Arc::new(AtomicBool::new(false));
    rules.open.lock().unwrap().extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
    let streams = || (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (request_streams, response_streams) = (streams(), streams());
    let (rules, response_rules, is_dropping) = (rules.clone(), rules.clone(), drops_response.clone());
    std::thread::spawn(move || {
        forward(&request_streams.0, &request_streams.1, |chunk| {
            let cut = rules.disconnect_point(chunk);
            drops_response.fetch_or(cut == Some(DisconnectPoint::After), Ordering::SeqCst);
            cut != Some(DisconnectPoint::Before)
        });
    });
    std::thread::spawn(move || {
        forward(&response_streams.1, &response_streams.0, |_| {
            let is_dropped = is_dropping.load(Ordering::SeqCst);
            response_rules.cuts.fetch_add(usize::from(is_dropped), Ordering::SeqCst);
            !is_dropped
        });
    });
}

impl Rules {
    /// Returns the moment at which the connection has to be broken for these bytes, if at all.
    fn disconnect_point(&self, chunk: &[u8]) -> Option<DisconnectPoint> {
        if ![&b".commit("[..], b".add("].iter().any(|call| chunk.windows(call.len()).any(|text| text == *call)) {
            return None;
        }
        let mut next = self.next.lock().unwrap();
        let (remaining, cut) = next.as_mut()?;
        *remaining -= 1;
        if *remaining > 0 {
            return None;
        }
        let cut = *cut;
        *next = None;
        self.cuts.fetch_add(usize::from(cut == DisconnectPoint::Before), Ordering::SeqCst);
        Some(cut)
    }
}

/// Forwards bytes as long as `may` permits, then closes both connections.
fn forward(mut from: &TcpStream, mut to: &TcpStream, mut may: impl FnMut(&[u8]) -> bool) {
    let mut chunk = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut chunk) {
        if !may(&chunk[..length]) || to.write_all(&chunk[..length]).is_err() {
            break;
        }
    }
    drop((from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both)));
}
