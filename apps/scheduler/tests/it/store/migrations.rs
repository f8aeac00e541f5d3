//! Database schema and its versions.

use superstep::ErrorCode;
use superstep_scheduler::store::CalendarStore;

use super::smiths as open_smiths;
use super::test_location::TestLocation;

on_both! {
    /// R-FAM-95: a schema of a newer version is rejected with both versions, and not changed.
    #[tokio::test]
    async fn tables_of_a_newer_version_are_rejected(location: TestLocation) {
        drop(open_smiths(&location, CalendarStore::options()).await);
        location.run("INSERT INTO migrations (version) VALUES (7)");
        let error = location.open(CalendarStore::options()).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::CheckpointTooNew);
        assert!(error.message().contains("version 7; this program supports 2"), "{error}");
        assert_eq!(location.value("SELECT count(*) FROM members"), "3");
    }

    /// R-FAM-95: tables of another application are not changed.
    #[tokio::test]
    async fn tables_of_another_program_are_rejected(location: TestLocation) {
        location.run("CREATE TABLE songs (title text)");
        let error = location.open(CalendarStore::options()).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::ConfigInvalid, "{error}");
        assert!(error.message().contains("another program"), "{error}");
        assert_eq!(location.value("SELECT count(*) FROM songs"), "0");
    }

    /// R-FAM-95: concurrent first opens create the schema once.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn concurrent_first_opens_create_the_tables_once(location: TestLocation) {
        let location = std::sync::Arc::new(location);
        let opening: Vec<_> = (0..6).map(|_| {
            let location = location.clone();
            tokio::spawn(async move { location.open(CalendarStore::options()).await })
        }).collect();
        for opened in opening {
            assert!(opened.await.unwrap().unwrap().families().await.unwrap().is_empty());
        }
        assert_eq!(location.value("SELECT count(*) FROM migrations"), "2");
    }

    /// R-FAM-95: foreign keys reject references to missing rows.
    #[tokio::test]
    async fn the_tables_have_foreign_keys(location: TestLocation) {
        drop(open_smiths(&location, CalendarStore::options()).await);
        let statement = match &location {
            TestLocation::Sqlite(_) => "SELECT count(*) FROM sqlite_schema s, pragma_foreign_key_list(s.name) f \
                WHERE f.seq = 0",
            TestLocation::Postgres { .. } => "SELECT count(*) FROM pg_constraint WHERE contype = 'f' \
                AND connamespace = current_schema()::regnamespace",
        };
        assert_eq!(location.value(statement), "14");
    }
}
