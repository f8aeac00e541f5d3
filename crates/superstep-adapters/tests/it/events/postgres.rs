//! Events in PostgreSQL: corruption, and commits whose response was lost.

use serde_json::json;
use superstep::core::error::ErrorCode;
use superstep::core::port::Checkpointer;
use superstep::core::testing::block_on;
use superstep_adapters::postgres::PostgresCheckpointer;

use super::{acquire, commit_events, event, read_events};
use crate::postgres::cluster::Cluster;
use crate::postgres::proxy::{DisconnectPoint, Proxy};
use crate::postgres::{options, schema};

/// R-FWK-46a: a corrupt event results in `CheckpointCorrupt` with its number.
#[test]
fn a_corrupt_event_is_named() {
    let (cluster, name) = (Cluster::shared(), schema());
    let store = block_on(PostgresCheckpointer::options().schema(&name).connect(&cluster.url())).unwrap();
    for corruption in ["body = 'x'", "run = ''", "sum = sum + 1", "number = 7"] {
        let lease = block_on(acquire(&store, "t"));
        let last = block_on(store.last_event_number(&"t".into())).unwrap();
        block_on(commit_events(&store, &lease, vec![event(last + 1, json!("said")), event(last + 2, json!("too"))]))
            .unwrap();
        cluster.query(&format!("UPDATE {name}.event SET {corruption} WHERE number = {}", last + 1));
        let error = block_on(read_events(&store, "t")).expect_err(corruption);
        assert_eq!(error.code(), ErrorCode::CheckpointCorrupt, "{corruption}: {error}");
        assert!(error.message().contains("event ") && error.message().contains("is corrupt"), "{corruption}: {error}");
        store.release(&lease);
        crate::postgres::until(|| block_on(store.delete_thread(&"t".into())).ok());
    }
}

/// R-FWK-37: events without a checkpoint are stored once if the connection breaks at their commit, whether or
/// not the server executed it.
#[test]
fn events_of_a_commit_with_a_lost_response_are_stored_once() {
    let cluster = Cluster::shared();
    let proxy = Proxy::to(cluster.port());
    for cut in [DisconnectPoint::Before, DisconnectPoint::After] {
        let store = block_on(options().connect(&cluster.url_at(proxy.port()))).unwrap();
        let lease = block_on(acquire(&store, "t"));
        block_on(commit_events(&store, &lease, vec![event(1, json!("a"))])).unwrap();
        let before = proxy.cuts();
        proxy.cut_at(1, cut);
        block_on(commit_events(&store, &lease, vec![event(2, json!("b")), event(3, json!("c"))])).unwrap();
        assert_eq!(proxy.cuts(), before + 1, "{cut:?}");
        let events = [event(1, json!("a")), event(2, json!("b")), event(3, json!("c"))];
        assert_eq!(block_on(read_events(&store, "t")).unwrap(), events, "{cut:?}");
    }
}
