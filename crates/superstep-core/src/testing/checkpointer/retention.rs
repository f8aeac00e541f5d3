//! The rules by which old checkpoints stay or go, each on its own and together.

use serde_json::{Value, json};

use super::pending::{answer, question};
use super::writer::{Writer, id, run};
use crate::checkpoint::Source;
use crate::port::{At, HistoryQuery, Keep, PruneReport, Retention, SharedCheckpointer};

async fn prune(writer: &Writer, retention: &Retention) -> PruneReport {
    writer.store.prune(writer.thread(), retention).await.expect("pruning works")
}

async fn left(writer: &Writer) -> Vec<u128> {
    writer.listed(&HistoryQuery::default()).await
}

/// Steps that append, so that what stays builds on what goes, with the values after each.
async fn grown(store: &SharedCheckpointer, steps: usize) -> (Writer, Vec<Value>) {
    let mut writer = Writer::open(store, "thread").await;
    let mut values = Vec::new();
    for index in 0..steps {
        writer.step(json!({ "log": [index], "notes": { format!("k{index}"): index } })).await;
        values.push(writer.values());
    }
    (writer, values)
}

/// All that stays has the values it had.
async fn check_whole(writer: &Writer, values: &[Value]) {
    for number in left(writer).await {
        let place = usize::try_from(number - 1).expect("numbers are small");
        assert_eq!(writer.stored(At::Id(id(number))).await, values[place], "checkpoint {number}");
    }
}

/// R-FWK-43: the newest 200 of each graph stay by default, and all of them when asked.
pub async fn two_hundred_stay_by_default(store: SharedCheckpointer) {
    let (writer, _) = grown(&store, 203).await;
    writer.inside("child").steps(2).await;
    assert_eq!(prune(&writer, &Retention::everything()).await, PruneReport::default());
    assert_eq!(prune(&writer, &Retention::default()).await.checkpoints, 3);
    assert_eq!((left(&writer).await.len(), left(&writer.inside("child")).await.len()), (200, 2));
}

/// R-FWK-43: what is too old goes, also of those that would stay by number; what is as old as allowed stays.
pub async fn what_is_too_old_goes(store: SharedCheckpointer) {
    let mut writer = Writer::open(&store, "thread").await;
    for time in [10, 20, 30, 40, 50] {
        writer.time = time;
        writer.steps(1).await;
    }
    let before = |before| Retention { before: Some(before), ..Retention::last(4) };
    assert_eq!(prune(&writer, &before(0)).await.checkpoints, 1, "there are more than four");
    assert_eq!(prune(&writer, &before(40)).await.checkpoints, 2);
    assert_eq!(left(&writer).await, [5, 4]);
}

/// R-FWK-43: the newest stays however old it is: a thread that nobody has touched for long keeps its state.
pub async fn the_newest_stays_however_old(store: SharedCheckpointer) {
    let (mut writer, values) = grown(&store, 5).await;
    let ancient = Retention { before: Some(i64::MAX), ..Retention::default() };
    assert_eq!(prune(&writer, &ancient).await.checkpoints, 4);
    check_whole(&writer, &values).await;
    writer.step(json!({ "log": ["on"] })).await;
    assert_eq!(writer.stored(At::Latest).await, writer.values());
}

/// R-FWK-43: the first stays when it is to, whole.
pub async fn the_first_stays(store: SharedCheckpointer) {
    let (writer, values) = grown(&store, 30).await;
    let retention = Retention::last(2).keep(Keep::First);
    assert_eq!(prune(&writer, &retention).await.checkpoints, 27);
    assert_eq!(left(&writer).await, [30, 29, 1]);
    check_whole(&writer, &values).await;
    assert_eq!(prune(&writer, &retention).await, PruneReport::default(), "it is still the first");
}

/// R-FWK-43: what was tagged stays, by key or by value.
pub async fn what_was_tagged_stays(store: SharedCheckpointer) {
    let mut writer = Writer::open(&store, "thread").await;
    let mut values = Vec::new();
    let tags =
        [json!({ "user": "ann" }), json!({}), json!({ "user": "bob" }), json!({ "release": 1 }), json!({}), json!({})];
    for (index, tags) in tags.into_iter().enumerate() {
        writer.run = run(index as u128 + 1);
        writer.metadata = serde_json::from_value(tags).expect("tags are an object");
        writer.step(json!({ "log": [index] })).await;
        values.push(writer.values());
    }
    let retention = Retention::last(1).keep(Keep::tagged("user")).keep(Keep::tagged_as("release", 1));
    assert_eq!(prune(&writer, &retention).await.checkpoints, 2);
    assert_eq!(left(&writer).await, [6, 4, 3, 1]);
    check_whole(&writer, &values).await;
    let retention = Retention::last(1).keep(Keep::tagged_as("user", "bob")).keep(Keep::tagged_as("release", 2));
    prune(&writer, &retention).await;
    assert_eq!(left(&writer).await, [6, 3]);
    check_whole(&writer, &values).await;
}

/// R-FWK-43: where a person was asked stays when it is to, also once there is an answer.
pub async fn where_a_person_was_asked_stays(store: SharedCheckpointer) {
    let (mut writer, mut values) = grown(&store, 10).await;
    writer.know(id(3), 1, question(1)).await;
    writer.know(id(3), 1, answer(1)).await;
    writer.source = Source::Interrupt;
    writer.step(json!({ "log": ["asked"] })).await;
    values.push(writer.values());
    writer.source = Source::Loop;
    for _ in 0..3 {
        writer.step(json!({ "log": ["on"] })).await;
        values.push(writer.values());
    }
    prune(&writer, &Retention::last(1).keep(Keep::Interrupted)).await;
    assert_eq!(left(&writer).await, [14, 11, 3]);
    check_whole(&writer, &values).await;
    assert_eq!(writer.loaded(At::Id(id(3))).await.pending.len(), 2);
    prune(&writer, &Retention::last(1)).await;
    assert_eq!(left(&writer).await, [14]);
}

/// R-FWK-43: where lines of history part stays when it is to.
pub async fn fork_points_stay(store: SharedCheckpointer) {
    let (writer, _) = grown(&store, 6).await;
    let mut fork = writer.fork(id(3)).await;
    fork.next = 7;
    fork.step(json!({ "log": ["fork"] })).await;
    fork.step(json!({ "log": ["fork"] })).await;
    let parted = writer.stored(At::Id(id(3))).await;
    assert_eq!(prune(&fork, &Retention::last(2).keep(Keep::ForkPoints)).await.checkpoints, 5);
    assert_eq!(left(&fork).await, [8, 7, 3]);
    assert_eq!((fork.stored(At::Id(id(3))).await, fork.stored(At::Latest).await), (parted, fork.values()));
    // With one line left nothing parts any more.
    prune(&fork, &Retention::last(2).keep(Keep::ForkPoints)).await;
    assert_eq!(left(&fork).await, [8, 7]);
}

/// R-FWK-43: a run that is unwanted goes, whatever rule would keep it.
pub async fn an_unwanted_run_goes_by_any_rule(store: SharedCheckpointer) {
    let mut writer = Writer::open(&store, "thread").await;
    for number in [2, 1, 2, 1] {
        writer.run = run(number);
        writer.metadata = [("tag".to_owned(), json!(number.to_string()))].into();
        writer.steps(1).await;
    }
    let rules = Retention::everything().keep(Keep::First).keep(Keep::tagged("tag"));
    let retention = Retention { without_runs: vec![run(2)], ..rules };
    assert_eq!(prune(&writer, &retention).await.checkpoints, 2);
    assert_eq!(left(&writer).await, [4, 2]);
}

/// R-FWK-43: a dry run says what would go, and how many bytes.
pub async fn a_dry_run_says_how_much(store: SharedCheckpointer) {
    let mut writer = Writer::open(&store, "thread").await;
    for index in 0..30 {
        writer.step(json!({ "log": [format!("{index:300}")], "title": format!("{index:400}") })).await;
    }
    let retention = Retention::last(3).keep(Keep::First);
    let said = prune(&writer, &retention.clone().dry_run()).await;
    assert_eq!((said.checkpoints, left(&writer).await.len()), (26, 30));
    // A store may keep long values elsewhere, or in fewer bytes.
    assert!(said.bytes > 26 * 100, "{} bytes", said.bytes);
    assert_eq!(prune(&writer, &retention).await, said);
}

#[doc(hidden)]
#[macro_export]
macro_rules! checkpointer_retention {
    ($open:expr, $drive:expr) => {
        mod retention {
            #[allow(unused_imports, reason = "what opens the store may stand anywhere")]
            use super::*;
            use $crate::testing::checkpointer::{check, retention as checks};

            /// R-FWK-43: the newest 200 of each graph stay by default, and all of them when asked.
            #[test]
            fn two_hundred_stay_by_default() {
                check($open, $drive, checks::two_hundred_stay_by_default);
            }

            /// R-FWK-43: what is too old goes, also of those that would stay by number; what is as old as allowed stays.
            #[test]
            fn what_is_too_old_goes() {
                check($open, $drive, checks::what_is_too_old_goes);
            }

            /// R-FWK-43: the newest stays however old it is: a thread that nobody has touched for long keeps its state.
            #[test]
            fn the_newest_stays_however_old() {
                check($open, $drive, checks::the_newest_stays_however_old);
            }

            /// R-FWK-43: the first stays when it is to, whole.
            #[test]
            fn the_first_stays() {
                check($open, $drive, checks::the_first_stays);
            }

            /// R-FWK-43: what was tagged stays, by key or by value.
            #[test]
            fn what_was_tagged_stays() {
                check($open, $drive, checks::what_was_tagged_stays);
            }

            /// R-FWK-43: where a person was asked stays when it is to, also once there is an answer.
            #[test]
            fn where_a_person_was_asked_stays() {
                check($open, $drive, checks::where_a_person_was_asked_stays);
            }

            /// R-FWK-43: where lines of history part stays when it is to.
            #[test]
            fn fork_points_stay() {
                check($open, $drive, checks::fork_points_stay);
            }

            /// R-FWK-43: a run that is unwanted goes, whatever rule would keep it.
            #[test]
            fn an_unwanted_run_goes_by_any_rule() {
                check($open, $drive, checks::an_unwanted_run_goes_by_any_rule);
            }

            /// R-FWK-43: a dry run says what would go, and how many bytes.
            #[test]
            fn a_dry_run_says_how_much() {
                check($open, $drive, checks::a_dry_run_says_how_much);
            }
        }
    };
}
