//! The policy for the addresses that a client may connect to.
//!
//! A host name is resolved once, and the connection uses the checked address: otherwise a name could resolve to a
//! public address when it is checked and to a private one when it is used.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use superstep_core::error::{Error, ErrorCode, Result};

/// Addresses that a host name may resolve to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressPolicy {
    /// Any address: the host is explicitly allowed.
    Any,
    /// Addresses of this machine.
    Loopback,
    /// Public addresses.
    Public,
}

impl AddressPolicy {
    fn permits(self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::Loopback => address.is_loopback(),
            Self::Public => is_public(address),
        }
    }
}

/// Determines the policy of a URL: HTTPS for public hosts, HTTP or HTTPS for this machine and for allowed hosts.
///
/// # Errors
/// Returns an error if the URL is invalid or its host is not permitted.
pub(super) fn check(address: &str, allowed: &[String]) -> Result<(Url, AddressPolicy)> {
    let policy_error = |reason: &str| {
        // A URL may contain a secret, so the error shows only its beginning.
        let redacted = address.split(['?', '#']).next().unwrap_or_default();
        let redacted = redacted.rsplit_once('@').map_or(redacted, |(_, rest)| rest);
        Error::new(ErrorCode::PolicyRefused, format!("`{redacted}` is not a permitted MCP server address: {reason}"))
    };
    let url = Url::parse(address).map_err(|error| policy_error(&error.to_string()))?;
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    if !matches!(url.scheme(), "http" | "https") || host.is_empty() {
        return Err(policy_error("the scheme must be `http` or `https`"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(policy_error("credentials in the URL are not allowed; use a header"));
    }
    let port = url.port_or_known_default().unwrap_or_default();
    let is_allowed = allowed.iter().any(|entry| *entry == host || *entry == format!("{host}:{port}"));
    let literal: Option<IpAddr> = host.parse().ok();
    let policy = match literal {
        _ if is_allowed => AddressPolicy::Any,
        Some(address) if address.is_loopback() => AddressPolicy::Loopback,
        None if host == "localhost" => AddressPolicy::Loopback,
        _ => AddressPolicy::Public,
    };
    if literal.is_some_and(|address| !policy.permits(address)) {
        return Err(policy_error("the address is private; allow the host to use it"));
    }
    if policy == AddressPolicy::Public && url.scheme() == "http" {
        return Err(policy_error("the connection is not encrypted; use `https`, or allow the host"));
    }
    Ok((url, policy))
}

/// Resolves host names, and fails unless all resolved addresses are permitted.
impl Resolve for AddressPolicy {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = *self;
        Box::pin(async move {
            let addresses: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if let Some(forbidden) = addresses.iter().find(|address| !policy.permits(address.ip())) {
                return Err(format!("`{}` resolves to {}, which is not allowed", name.as_str(), forbidden.ip()).into());
            }
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// Returns true if an address is public: not of this machine, a private network or a multicast group, and not an IPv4
/// address embedded in IPv6.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_shared = first == 100 && (64..128).contains(&second);
    let is_benchmarking = first == 198 && (18..20).contains(&second);
    let is_protocol_assignment = (first, second, third) == (192, 0, 0);
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || is_shared
        || is_benchmarking
        || is_protocol_assignment
        // "This network", multicast and reserved addresses.
        || first == 0
        || first >= 224)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // Outside of 2000::/3 are this machine, local networks, multicast and embedded IPv4 addresses; inside are tunnels
    // that carry IPv4 addresses, and documentation addresses.
    let is_global = first & 0xe000 == 0x2000;
    let is_tunnel = first == 0x2002 || (first == 0x2001 && second < 0x0200);
    is_global && !is_tunnel && !(first == 0x2001 && second == 0x0db8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-84: HTTPS for public hosts, any scheme for this machine, other hosts only if allowed.
    #[test]
    fn addresses_are_restricted_by_policy() {
        let policy = |address: &str, allowed: &[&str]| {
            let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
            check(address, &allowed).map(|(_, policy)| policy).ok()
        };
        for (address, expected) in [
            ("https://tools.example.com/mcp", Some(AddressPolicy::Public)),
            ("http://tools.example.com/mcp", None),
            ("http://localhost:8080/mcp", Some(AddressPolicy::Loopback)),
            ("http://127.0.0.1:8080/mcp", Some(AddressPolicy::Loopback)),
            ("http://[::1]:8080/mcp", Some(AddressPolicy::Loopback)),
            ("https://10.0.0.1/mcp", None),
            ("https://169.254.169.254/latest", None),
            ("https://[fd00::1]/mcp", None),
            ("https://[::ffff:10.0.0.1]/mcp", None),
            ("https://me:secret@tools.example.com/mcp", None),
            ("file:///etc/passwd", None),
            ("tools", None),
        ] {
            assert_eq!(policy(address, &[]), expected, "{address}");
        }
        assert_eq!(policy("http://10.0.0.1:81/mcp", &["10.0.0.1:81"]), Some(AddressPolicy::Any));
        assert_eq!(policy("http://10.0.0.1:82/mcp", &["10.0.0.1:81"]), None);
        assert_eq!(policy("http://tools.internal/mcp", &["tools.internal"]), Some(AddressPolicy::Any));
    }

    /// R-FWK-84: private and reserved addresses are not public.
    #[test]
    fn private_addresses_are_not_public() {
        for private in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "fc00::1",
            "fe80::1",
            "ff02::1",
            "2002::1",
            "2001::1",
            "2001:db8::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in ["8.8.8.8", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "2001:4860::8888"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
    }

    /// R-FWK-84: the error does not repeat a password in a URL.
    #[test]
    fn a_secret_in_an_address_is_not_repeated() {
        let error = check("https://me:secret@tools.example.com/mcp?key=secret", &[]).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
