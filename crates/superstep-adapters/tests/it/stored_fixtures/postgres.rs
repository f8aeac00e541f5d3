//! Recorded PostgreSQL dumps, each restored to a separate database.

use std::path::Path;

use superstep::core::port::{SharedCheckpointer, ThreadStatus};
use superstep_adapters::postgres::PostgresCheckpointer;
use superstep_cluster::run;

use super::{check_appends_events, check_continues, check_held, check_reshaped, versions};
use crate::postgres::cluster::{Cluster, client};

/// Restores a recorded dump to a separate database.
async fn put_back(purpose: &str, version: &str, recorded: &Path) -> SharedCheckpointer {
    let cluster = Cluster::shared();
    let name = format!("recorded_{purpose}_{version}_{}", superstep_cluster::unique_name());
    cluster.query(&format!("CREATE DATABASE {name}"));
    let url = cluster.url().replace("/postgres?", &format!("/{name}?"));
    run(client(&url).args(["-v", "ON_ERROR_STOP=1", "-f"]).arg(recorded.join("postgres.sql"))).unwrap();
    PostgresCheckpointer::options().connect(&url).await.unwrap().into()
}

/// R-FWK-47, R-FWK-37: tables of every version open, have the expected content, and can be continued.
#[tokio::test]
async fn tables_of_every_version_open_and_continue() {
    for (version, recorded) in versions() {
        let store = put_back("held", &version, &recorded).await;
        check_held(&version, &recorded, &store).await;
        check_continues(&store).await;
        check_appends_events(&store).await;
        let status = store.status(&"interrupted".into()).await.unwrap();
        assert_eq!(status, Some(ThreadStatus::Idle), "{version}");
    }
}

/// R-FWK-47: threads in tables of every version can be continued with a changed state schema.
#[tokio::test]
async fn tables_of_every_version_continue_with_a_new_schema() {
    for (version, recorded) in versions() {
        let store = put_back("reshaped", &version, &recorded).await;
        check_reshaped(&store).await;
        assert_eq!(store.stats().await.unwrap().threads, 6, "{version}");
    }
}
