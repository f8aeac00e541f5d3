//! Redis as a key-value store and as the storage of a checkpointer, on servers that the tests start.

use std::fs::File;
use std::os::unix::process::parent_id;
use std::path::Path;
use std::time::Duration;

use superstep::ErrorCode;
use superstep::core::port::KeyValue;
use superstep::core::testing::block_on;
use superstep_adapters::key_value::{KeyValueCheckpointer, RedisKeyValue, RedisOptions};
use superstep_cluster::RedisServer as Server;

use super::{diary, pages, until, write};

/// Returns the server that all tests of a run share; the first test starts it.
fn shared() -> Server {
    let lock = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("redis.lock")).unwrap();
    lock.lock().unwrap();
    let folder = std::env::temp_dir().join(format!("superstep-redis-{}", parent_id()));
    if folder.join("socket").exists() {
        return Server::at(folder);
    }
    Server::start(folder, parent_id()).unwrap()
}

/// A server for a single test, removed when dropped.
struct DedicatedRedis(Server);

impl DedicatedRedis {
    fn start(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("superstep-redis-{name}-{}", std::process::id()));
        Self(Server::start(folder, std::process::id()).unwrap())
    }
}

impl Drop for DedicatedRedis {
    fn drop(&mut self) {
        self.0.remove();
    }
}

/// Returns options with a prefix that no other test uses.
fn options() -> RedisOptions {
    RedisKeyValue::options().space(format!("test-{}", superstep_cluster::unique_name()))
}

fn open() -> RedisKeyValue {
    block_on(options().connect(&shared().url())).unwrap()
}

mod values {
    use super::*;

    superstep_core::key_value_conformance!(open);
}

mod checkpoints {
    use super::*;

    superstep_core::checkpointer_conformance!(|| KeyValueCheckpointer::open(open()).unwrap());
}

/// R-FWK-39: prefixes of one server are separate, even if one is the beginning of another.
#[test]
fn prefixes_are_isolated() {
    let server = shared();
    let stores = ["apart", "apart:a"]
        .map(|space| block_on(RedisKeyValue::options().space(space).connect(&server.url())).unwrap());
    for store in &stores {
        assert!(
            block_on(store.put("a:b", b"x", superstep::core::port::PutOptions { if_absent: true, ttl: None })).unwrap()
        );
    }
    block_on(stores[0].delete(&["a:b".to_owned()])).unwrap();
    assert_eq!(block_on(stores[1].list("", None, 10)).unwrap(), ["a:b"]);
    block_on(stores[1].delete(&["a:b".to_owned()])).unwrap();
    assert_eq!(
        block_on(RedisKeyValue::options().space("a=b").connect(&server.url())).unwrap_err().code(),
        ErrorCode::ConfigInvalid
    );
}

/// R-FWK-39: a server that does not sync to disk or may evict keys results in a warning.
#[test]
fn settings_that_weaken_durability_are_reported() {
    let server = DedicatedRedis::start("warnings");
    let read_warnings = || block_on(options().connect(&server.0.url())).unwrap().warnings().to_vec();
    assert_eq!(read_warnings(), Vec::<String>::new());
    server.0.command(&["CONFIG", "SET", "appendfsync", "everysec"]).unwrap();
    assert!(read_warnings()[0].contains("`appendfsync`"), "{:?}", read_warnings());
    server.0.command(&["CONFIG", "SET", "appendonly", "no"]).unwrap();
    server.0.command(&["CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru"]).unwrap();
    let warnings = read_warnings();
    assert!(warnings[0].contains("`appendonly`") && warnings[1].contains("`maxmemory-policy`"), "{warnings:?}");
}

/// R-FWK-39: everything reported as saved is available after the server was killed; while it is unavailable, a run
/// returns an error, and the same checkpointer works again afterwards.
#[test]
fn a_server_that_was_killed_has_everything() {
    let server = DedicatedRedis::start("killed");
    let redis = block_on(options().response_timeout(Duration::from_secs(5)).connect(&server.0.url())).unwrap();
    let graph = diary(KeyValueCheckpointer::open(redis).unwrap(), 2_000);
    for round in 1..=3 {
        assert_eq!(write(&graph, "t", round * 5), round * 5);
        server.0.kill().unwrap();
        let error = pages(&graph, "t").unwrap_err();
        assert_eq!((error.code(), error.is_retryable()), (ErrorCode::StoreUnavailable, true), "{error}");
        server.0.restart(&[("appendonly", "yes"), ("appendfsync", "always")]).unwrap();
        assert_eq!(until(|| pages(&graph, "t").ok()), round * 5);
    }
}

/// R-FWK-39: the error of an invalid URL contains no password.
#[test]
fn an_invalid_url_is_reported_without_its_password() {
    for url in ["http://:secret@localhost", "redis://:secret@[", "rediss://:secret@localhost"] {
        let error = block_on(RedisKeyValue::connect(url)).unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConfigInvalid, "{url}: {error}");
        assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");
    }
}
