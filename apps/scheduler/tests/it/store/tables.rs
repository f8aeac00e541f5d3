//! The tables and their versions.

use superstep::Code;
use superstep_scheduler::store::Calendars;

use super::place::Place;
use super::smiths as open_smiths;

on_both! {
    /// R-FAM-95: tables of a newer program are refused with both versions, and stay as they are.
    #[tokio::test]
    async fn tables_of_a_newer_version_are_refused(place: Place) {
        drop(open_smiths(&place, Calendars::options()).await);
        place.run("INSERT INTO migrations (version) VALUES (7)");
        let error = place.open(Calendars::options()).await.unwrap_err();
        assert_eq!(error.code(), Code::CheckpointTooNew);
        assert!(error.message().contains("version 7; this program knows 2"), "{error}");
        assert_eq!(place.value("SELECT count(*) FROM members"), "3");
    }

    /// R-FAM-95: tables of another program are not touched.
    #[tokio::test]
    async fn tables_of_another_program_are_refused(place: Place) {
        place.run("CREATE TABLE songs (title text)");
        let error = place.open(Calendars::options()).await.unwrap_err();
        assert_eq!(error.code(), Code::ConfigInvalid, "{error}");
        assert!(error.message().contains("another program"), "{error}");
        assert_eq!(place.value("SELECT count(*) FROM songs"), "0");
    }

    /// R-FAM-95: many who open a new place at once make its tables once.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn many_who_come_first_make_the_tables_once(place: Place) {
        let place = std::sync::Arc::new(place);
        let opening: Vec<_> = (0..6).map(|_| {
            let place = place.clone();
            tokio::spawn(async move { place.open(Calendars::options()).await })
        }).collect();
        for opened in opening {
            assert!(opened.await.unwrap().unwrap().families().await.unwrap().is_empty());
        }
        assert_eq!(place.value("SELECT count(*) FROM migrations"), "2");
    }

    /// R-FAM-95: the tables themselves refuse what names something that is not there.
    #[tokio::test]
    async fn the_tables_have_foreign_keys(place: Place) {
        drop(open_smiths(&place, Calendars::options()).await);
        let found = match &place {
            Place::Sqlite(_) => "SELECT count(*) FROM sqlite_schema s, pragma_foreign_key_list(s.name) f \
                WHERE f.seq = 0",
            Place::Postgres { .. } => "SELECT count(*) FROM pg_constraint WHERE contype = 'f' \
                AND connamespace = current_schema()::regnamespace",
        };
        assert_eq!(place.value(found), "14");
    }
}
