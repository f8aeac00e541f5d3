//! How often and how much at once one address may ask for: counted in memory, answered with 429 and when to come back.
//!
//! A process that dies forgets the counts, which is the kinder mistake.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;

use crate::hub::lock;
use crate::problem::Problem;

/// How much one address may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// At most this many in [`Limit::within`]; `usize::MAX` counts only what runs at once.
    pub most: usize,
    /// The time in which they are counted.
    pub within: Duration,
    /// At most this many at once.
    pub at_once: usize,
}

/// Who asks, as far as limits are concerned: an address, or the network of 64 bits that one household has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Visitor(IpAddr);

impl From<IpAddr> for Visitor {
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

impl<S: Send + Sync> FromRequestParts<S> for Visitor {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let address = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let address = address.ok_or_else(|| superstep::Error::internal("a request came from nowhere"))?;
        Ok(Self::from(address.0.ip()))
    }
}

/// The right to one run, given back when the run has ended.
#[derive(Debug)]
#[must_use = "a pass that is dropped is given back"]
pub struct Pass {
    counts: Arc<Mutex<Counts>>,
    key: (String, Visitor),
    /// When it was counted, where that is counted.
    given: Option<Instant>,
    /// Its run has not begun yet: one that is refused does not count.
    is_pending: bool,
}

impl Pass {
    /// From here on it counts only if its run begins.
    pub(crate) fn unless_begun(mut self) -> Self {
        self.is_pending = true;
        self
    }

    /// The run has begun, and counts.
    pub(crate) fn has_begun(&mut self) {
        self.is_pending = false;
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if let Some(count) = lock(&self.counts).get_mut(&self.key) {
            count.running = count.running.saturating_sub(1);
            let given = self.given.filter(|_| self.is_pending);
            let place = given.and_then(|given| count.began.iter().rposition(|began| *began == given));
            if let Some(place) = place {
                count.began.remove(place);
            }
        }
    }
}

type Counts = BTreeMap<(String, Visitor), Count>;

#[derive(Debug, Default)]
struct Count {
    began: VecDeque<Instant>,
    running: usize,
}

/// The counts of all addresses.
#[derive(Default)]
pub(crate) struct Gate(Arc<Mutex<Counts>>);

/// More addresses than this are not remembered one by one; those without a run are forgotten first.
const MOST_ADDRESSES: usize = 10_000;

impl Gate {
    /// Counts one more, or says when there is room again.
    pub(crate) fn admit(&self, what: &str, visitor: Visitor, limit: Limit, now: Instant) -> Result<Pass, Problem> {
        let mut counts = lock(&self.0);
        if counts.len() >= MOST_ADDRESSES {
            counts.retain(|_, count| count.running > 0);
        }
        let key = (what.to_owned(), visitor);
        let count = counts.entry(key.clone()).or_default();
        while count.began.front().is_some_and(|began| now.duration_since(*began) >= limit.within) {
            count.began.pop_front();
        }
        if count.running >= limit.at_once {
            let detail = format!("{} at once are all that one address may have", counted(limit.at_once, what));
            return Err(Problem::too_many(detail, Duration::from_secs(10)).hint("wait until one has ended, or stop it"));
        }
        if count.began.len() >= limit.most {
            let oldest = count.began.front().map_or(Duration::ZERO, |began| now.duration_since(*began));
            let detail = format!(
                "{} in {} minutes are all that one address may start",
                counted(limit.most, what),
                limit.within.as_secs() / 60
            );
            return Err(Problem::too_many(detail, limit.within.saturating_sub(oldest)));
        }
        let given = (limit.most < usize::MAX).then_some(now);
        count.began.extend(given);
        count.running += 1;
        Ok(Pass { counts: self.0.clone(), key, given, is_pending: false })
    }
}

fn counted(most: usize, what: &str) -> String {
    format!("{most} {what}{}", if most == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Limit = Limit { most: 3, within: Duration::from_secs(60), at_once: 2 };

    fn visitor(text: &str) -> Visitor {
        Visitor::from(text.parse::<IpAddr>().unwrap())
    }

    /// R-SRV-16: so many at once, so many in a time, and both are said with when to come back.
    #[test]
    fn an_address_gets_its_share_and_then_waits() {
        let (gate, start) = (Gate::default(), Instant::now());
        let (a, b) = (visitor("10.0.0.1"), visitor("10.0.0.2"));
        let first = gate.admit("run", a, LIMIT, start).unwrap();
        let _second = gate.admit("run", a, LIMIT, start).unwrap();
        assert_eq!(gate.admit("run", a, LIMIT, start).unwrap_err().status(), 429);
        let _other = gate.admit("run", b, LIMIT, start).unwrap();
        drop(first);
        drop(gate.admit("run", a, LIMIT, start).unwrap());
        assert!(gate.admit("run", a, LIMIT, start).unwrap_err().detail().contains("in 1 minutes"));
        assert!(gate.admit("run", a, LIMIT, start + Duration::from_secs(60)).is_ok());
    }

    /// R-SRV-16, R-DEB-36: what is refused before it has begun is not counted; what has begun, or needs no run, is.
    #[test]
    fn what_is_refused_is_not_counted() {
        let (gate, now, a) = (Gate::default(), Instant::now(), visitor("10.0.0.1"));
        for _ in 0..5 {
            drop(gate.admit("run", a, LIMIT, now).unwrap().unless_begun());
        }
        drop(gate.admit("run", a, LIMIT, now).unwrap());
        for _ in 0..2 {
            let mut pass = gate.admit("run", a, LIMIT, now).unwrap().unless_begun();
            pass.has_begun();
        }
        assert!(gate.admit("run", a, LIMIT, now).unwrap_err().detail().contains("in 1 minutes"));
    }

    /// R-SRV-16: an address of version 6 stands for its network, one of version 4 is the same in either form.
    #[test]
    fn a_household_is_one_visitor() {
        assert_eq!(visitor("2001:db8:1:2::1"), visitor("2001:db8:1:2:ffff::9"));
        assert_ne!(visitor("2001:db8:1:2::1"), visitor("2001:db8:1:3::1"));
        assert_eq!(visitor("::ffff:10.0.0.1"), visitor("10.0.0.1"));
    }
}
