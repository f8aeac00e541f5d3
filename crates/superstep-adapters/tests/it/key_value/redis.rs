//! Redis as a store of values under keys, and of checkpoints, on servers that the tests start themselves.

use std::fs::File;
use std::os::unix::process::parent_id;
use std::path::Path;
use std::time::Duration;

use superstep::Code;
use superstep::core::port::KeyValue;
use superstep::core::testing::block_on;
use superstep_adapters::key_value::{KeyValueStore, Redis, RedisOptions};
use superstep_cluster::Redis as Server;

use super::{diary, pages, until, write};

/// The server that all tests of a run share; whoever comes first starts it.
fn shared() -> Server {
    let lock = File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("redis.lock")).unwrap();
    lock.lock().unwrap();
    let folder = std::env::temp_dir().join(format!("superstep-redis-{}", parent_id()));
    if folder.join("socket").exists() {
        return Server::at(folder);
    }
    Server::start(folder, parent_id()).unwrap()
}

/// One that nobody else has, removed when it is let go.
struct Own(Server);

impl Own {
    fn start(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("superstep-redis-{name}-{}", std::process::id()));
        Self(Server::start(folder, std::process::id()).unwrap())
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        self.0.remove();
    }
}

/// Options with names that no other test has.
fn options() -> RedisOptions {
    Redis::options().space(format!("test-{}", superstep_cluster::own_name()))
}

fn open() -> Redis {
    block_on(options().connect(&shared().url())).unwrap()
}

mod values {
    use super::*;

    superstep_core::key_value_conformance!(open);
}

mod checkpoints {
    use super::*;

    superstep_core::checkpointer_conformance!(|| KeyValueStore::open(open()).unwrap());
}

/// R-FWK-39: spaces of one server do not see each other, also where one is the beginning of the other.
#[test]
fn spaces_stay_apart() {
    let server = shared();
    let stores =
        ["apart", "apart:a"].map(|space| block_on(Redis::options().space(space).connect(&server.url())).unwrap());
    for store in &stores {
        assert!(block_on(store.put("a:b", b"x", superstep::core::port::Put { only_new: true, lasts: None })).unwrap());
    }
    block_on(stores[0].delete(&["a:b".to_owned()])).unwrap();
    assert_eq!(block_on(stores[1].list("", None, 10)).unwrap(), ["a:b"]);
    block_on(stores[1].delete(&["a:b".to_owned()])).unwrap();
    assert_eq!(block_on(Redis::options().space("a=b").connect(&server.url())).unwrap_err().code(), Code::ConfigInvalid);
}

/// R-FWK-39: a server that does not wait for its disk, or may forget, is warned of; one that does is not.
#[test]
fn settings_that_take_something_away_are_told() {
    let server = Own::start("warnings");
    let told = || block_on(options().connect(&server.0.url())).unwrap().warnings().to_vec();
    assert_eq!(told(), Vec::<String>::new());
    server.0.ask(&["CONFIG", "SET", "appendfsync", "everysec"]).unwrap();
    assert!(told()[0].contains("`appendfsync`"), "{:?}", told());
    server.0.ask(&["CONFIG", "SET", "appendonly", "no"]).unwrap();
    server.0.ask(&["CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru"]).unwrap();
    let told = told();
    assert!(told[0].contains("`appendonly`") && told[1].contains("`maxmemory-policy`"), "{told:?}");
}

/// R-FWK-39: what was told as saved is there after the server was killed; while it is away a run is told so, and the
/// same store goes on afterwards.
#[test]
fn a_server_that_was_killed_has_everything() {
    let server = Own::start("killed");
    let redis = block_on(options().patience(Duration::from_secs(5)).connect(&server.0.url())).unwrap();
    let graph = diary(KeyValueStore::open(redis).unwrap(), 2_000);
    for round in 1..=3 {
        assert_eq!(write(&graph, "t", round * 5), round * 5);
        server.0.kill().unwrap();
        let error = pages(&graph, "t").unwrap_err();
        assert_eq!((error.code(), error.is_retryable()), (Code::StoreUnavailable, true), "{error}");
        server.0.restart(&[("appendonly", "yes"), ("appendfsync", "always")]).unwrap();
        assert_eq!(until(|| pages(&graph, "t").ok()), round * 5);
    }
}

/// R-FWK-39: an address that cannot be used says so and shows no password.
#[test]
fn an_address_that_cannot_be_used_says_so() {
    for url in ["http://:secret@localhost", "redis://:secret@[", "rediss://:secret@localhost"] {
        let error = block_on(Redis::connect(url)).unwrap_err();
        assert_eq!(error.code(), Code::ConfigInvalid, "{url}: {error}");
        assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");
    }
}
