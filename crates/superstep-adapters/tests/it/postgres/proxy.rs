//! A line to a server that can be cut at a chosen moment.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// When the line is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The server never hears of the commit.
    Before,
    /// The server has done the commit, and nobody hears of that.
    After,
}

#[derive(Default)]
struct Rules {
    /// The commit that is cut, counted down, and how.
    next: Mutex<Option<(usize, Cut)>>,
    cuts: AtomicUsize,
    is_closed: AtomicBool,
    open: Mutex<Vec<TcpStream>>,
}

/// The line.
pub(crate) struct Proxy {
    port: u16,
    rules: Arc<Rules>,
}

impl Proxy {
    /// A line to a port.
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

    /// Cuts the line at a commit from now on, the first being 1.
    pub(crate) fn cut_at(&self, commit: usize, cut: Cut) {
        *self.rules.next.lock().unwrap() = Some((commit, cut));
    }

    /// How often it was cut.
    pub(crate) fn cuts(&self) -> usize {
        self.rules.cuts.load(Ordering::SeqCst)
    }

    /// Cuts every connection and takes no more.
    pub(crate) fn close(&self) {
        self.rules.is_closed.store(true, Ordering::SeqCst);
        self.rules.open.lock().unwrap().drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
    }
}

fn join(client: TcpStream, server: TcpStream, rules: &Arc<Rules>) {
    let swallows = Arc::new(AtomicBool::new(false));
    rules.open.lock().unwrap().extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
    let ends = || (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (there, back) = (ends(), ends());
    let (rules, also_rules, also_swallows) = (rules.clone(), rules.clone(), swallows.clone());
    std::thread::spawn(move || {
        pass(&there.0, &there.1, |piece| {
            let cut = rules.see(piece);
            swallows.fetch_or(cut == Some(Cut::After), Ordering::SeqCst);
            cut != Some(Cut::Before)
        });
    });
    std::thread::spawn(move || {
        pass(&back.1, &back.0, |_| {
            let is_swallowed = also_swallows.load(Ordering::SeqCst);
            also_rules.cuts.fetch_add(usize::from(is_swallowed), Ordering::SeqCst);
            !is_swallowed
        });
    });
}

impl Rules {
    /// Whether the line is cut at what is on its way.
    fn see(&self, piece: &[u8]) -> Option<Cut> {
        if ![&b".commit("[..], b".add("].iter().any(|call| piece.windows(call.len()).any(|text| text == *call)) {
            return None;
        }
        let mut next = self.next.lock().unwrap();
        let (left, cut) = next.as_mut()?;
        *left -= 1;
        if *left > 0 {
            return None;
        }
        let cut = *cut;
        *next = None;
        self.cuts.fetch_add(usize::from(cut == Cut::Before), Ordering::SeqCst);
        Some(cut)
    }
}

/// Passes on what comes as long as it may, then cuts both ends.
fn pass(mut from: &TcpStream, mut to: &TcpStream, mut may: impl FnMut(&[u8]) -> bool) {
    let mut piece = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut piece) {
        if !may(&piece[..length]) || to.write_all(&piece[..length]).is_err() {
            break;
        }
    }
    drop((from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both)));
}
