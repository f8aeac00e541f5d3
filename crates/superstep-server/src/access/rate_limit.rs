//! Rate limits per client address: counted in memory, exceeded limits answered with 429 and `Retry-After`.
//!
//! The counts are lost when the process restarts, in favour of the client.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;

use crate::api::problem::Problem;
use crate::events::broadcast::lock;

/// A rate limit for one client address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Maximum number of requests in [`RateLimit::window`]; `usize::MAX` limits only concurrency.
    pub max_requests: usize,
    /// Time window in which requests are counted.
    pub window: Duration,
    /// Maximum number of concurrent runs.
    pub max_concurrent: usize,
}

/// Address of a client for rate limits: an IPv4 address, or the /64 network of an IPv6 address: one
/// client typically has all addresses of such a network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClientAddress(IpAddr);

impl From<IpAddr> for ClientAddress {
    fn from(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V6(address) if !address.is_loopback() => {
                let network = address.to_bits() & (u128::MAX << 64);
                Self(Ipv6Addr::from_bits(network).into())
            }
            address => Self(address),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ClientAddress {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let address = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let address = address.ok_or_else(|| superstep::Error::internal("the request has no client address"))?;
        Ok(Self::from(address.0.ip()))
    }
}

/// The permit for one run, released when the run has ended.
#[derive(Debug)]
#[must_use = "dropping the permit releases it"]
pub struct RunPermit {
    counters: Arc<Mutex<ClientCounters>>,
    key: (String, ClientAddress),
    /// Time at which the run was counted; `None` if requests are not counted.
    counted_at: Option<Instant>,
    /// True until the run has started: a rejected run does not count.
    is_pending: bool,
}

impl RunPermit {
    /// Makes the permit count only if its run starts.
    pub(crate) fn refund_unless_started(mut self) -> Self {
        self.is_pending = true;
        self
    }

    /// Marks the run as started, so that it counts.
    pub(crate) fn mark_started(&mut self) {
        self.is_pending = false;
    }
}

impl Drop for RunPermit {
    fn drop(&mut self) {
        if let Some(counter) = lock(&self.counters).get_mut(&self.key) {
            counter.running = counter.running.saturating_sub(1);
            let counted_at = self.counted_at.filter(|_| self.is_pending);
            let index = counted_at.and_then(|start| counter.starts.iter().rposition(|other| *other == start));
            if let Some(index) = index {
                counter.starts.remove(index);
            }
        }
    }
}

type ClientCounters = BTreeMap<(String, ClientAddress), ClientCounter>;

#[derive(Debug, Default)]
struct ClientCounter {
    starts: VecDeque<Instant>,
    running: usize,
}

/// Rate limiter for all client addresses.
#[derive(Default)]
pub(crate) struct RateLimiter(Arc<Mutex<ClientCounters>>);

/// Maximum number of tracked addresses; beyond it, addresses without a run are removed.
const MAX_TRACKED_CLIENTS: usize = 10_000;

impl RateLimiter {
    /// Counts one more request, or returns an error with the time to wait.
    pub(crate) fn acquire(
        &self,
        kind: &str,
        client: ClientAddress,
        limit: RateLimit,
        now: Instant,
    ) -> Result<RunPermit, Problem> {
        let mut counters = lock(&self.0);
        if counters.len() >= MAX_TRACKED_CLIENTS {
            counters.retain(|_, counter| counter.running > 0);
        }
        let key = (kind.to_owned(), client);
        let counter = counters.entry(key.clone()).or_default();
        while counter.starts.front().is_some_and(|start| now.duration_since(*start) >= limit.window) {
            counter.starts.pop_front();
        }
        if counter.running >= limit.max_concurrent {
            let detail =
                format!("at most {} per client address at the same time", pluralize(limit.max_concurrent, kind));
            return Err(Problem::too_many_requests(detail, Duration::from_secs(10))
                .with_hint("wait for one to end, or stop one"));
        }
        if counter.starts.len() >= limit.max_requests {
            let oldest_age = counter.starts.front().map_or(Duration::ZERO, |start| now.duration_since(*start));
            let detail = format!(
                "at most {} per client address per {}",
                pluralize(limit.max_requests, kind),
                window_text(limit.window)
            );
            return Err(Problem::too_many_requests(detail, limit.window.saturating_sub(oldest_age)));
        }
        let counted_at = (limit.max_requests < usize::MAX).then_some(now);
        counter.starts.extend(counted_at);
        counter.running += 1;
        Ok(RunPermit { counters: self.0.clone(), key, counted_at, is_pending: false })
    }
}

fn pluralize(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Formats a time window for a text with "per", such as `minute`, `5 minutes` or `30 seconds`.
fn window_text(window: Duration) -> String {
    let seconds = window.as_secs();
    let (count, unit) = match seconds {
        _ if seconds > 0 && seconds.is_multiple_of(3600) => (seconds / 3600, "hour"),
        _ if seconds > 0 && seconds.is_multiple_of(60) => (seconds / 60, "minute"),
        _ => (seconds, "second"),
    };
    if count == 1 { unit.to_owned() } else { format!("{count} {unit}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: RateLimit = RateLimit { max_requests: 3, window: Duration::from_secs(60), max_concurrent: 2 };

    fn client(text: &str) -> ClientAddress {
        ClientAddress::from(text.parse::<IpAddr>().unwrap())
    }

    /// R-SRV-16a: concurrent runs and runs per time window are limited, and the error says when to try again.
    #[test]
    fn concurrent_runs_and_runs_per_window_are_limited() {
        let (limiter, start) = (RateLimiter::default(), Instant::now());
        let (a, b) = (client("10.0.0.1"), client("10.0.0.2"));
        let first = limiter.acquire("run", a, LIMIT, start).unwrap();
        let _second = limiter.acquire("run", a, LIMIT, start).unwrap();
        assert_eq!(limiter.acquire("run", a, LIMIT, start).unwrap_err().status(), 429);
        let _other = limiter.acquire("run", b, LIMIT, start).unwrap();
        drop(first);
        drop(limiter.acquire("run", a, LIMIT, start).unwrap());
        let problem = limiter.acquire("run", a, LIMIT, start).unwrap_err();
        assert_eq!(problem.detail(), "at most 3 runs per client address per minute");
        assert!(limiter.acquire("run", a, LIMIT, start + Duration::from_secs(60)).is_ok());
    }

    /// R-SRV-16a, R-DEB-36: a run rejected before its start does not count; a started run, or a request without a
    /// run, does.
    #[test]
    fn a_rejected_run_is_not_counted() {
        let (limiter, now, a) = (RateLimiter::default(), Instant::now(), client("10.0.0.1"));
        for _ in 0..5 {
            drop(limiter.acquire("run", a, LIMIT, now).unwrap().refund_unless_started());
        }
        drop(limiter.acquire("run", a, LIMIT, now).unwrap());
        for _ in 0..2 {
            let mut permit = limiter.acquire("run", a, LIMIT, now).unwrap().refund_unless_started();
            permit.mark_started();
        }
        let problem = limiter.acquire("run", a, LIMIT, now).unwrap_err();
        assert_eq!(problem.detail(), "at most 3 runs per client address per minute");
    }

    /// R-SRV-16a: the error names the time window.
    #[test]
    fn a_window_is_named_in_its_largest_unit() {
        let names = [30, 60, 90, 300, 3600].map(|seconds| window_text(Duration::from_secs(seconds)));
        assert_eq!(names, ["30 seconds", "minute", "90 seconds", "5 minutes", "hour"]);
    }

    /// R-SRV-16a: an IPv6 address counts as its network, an IPv4 address is the same in both notations.
    #[test]
    fn an_ipv6_network_is_one_client() {
        assert_eq!(client("2001:db8:1:2::1"), client("2001:db8:1:2:ffff::9"));
        assert_ne!(client("2001:db8:1:2::1"), client("2001:db8:1:3::1"));
        assert_eq!(client("::ffff:10.0.0.1"), client("10.0.0.1"));
    }
}
