//! Listing the history: order, limits, filters, and their combination.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::writer::{Writer, id, pending_entry, run, stored_values};
use crate::checkpoint::{CheckpointNamespace, CheckpointSource, TaskEntry};
use crate::error::ErrorCode;
use crate::port::{HistoryQuery, SharedCheckpointer};

/// Creates twelve checkpoints with different sources, runs and metadata.
async fn writer_with_twelve_steps(checkpointer: &SharedCheckpointer) -> Writer {
    let mut writer = Writer::open(checkpointer, "thread").await;
    for index in 0..12_u64 {
        writer.source = if index % 4 == 0 { CheckpointSource::Input } else { CheckpointSource::Loop };
        writer.run = run(u128::from(index / 4));
        let parity = if index % 2 == 0 { "even" } else { "odd" };
        let metadata = json!({ "parity": parity, "user": index / 6, "tags": { "n": [index % 3] } });
        writer.metadata = serde_json::from_value(metadata).expect("it is a map");
        writer.step(json!({ "count": 1 })).await;
    }
    writer
}

fn metadata<const N: usize>(pairs: [(&str, Value); N]) -> HistoryQuery {
    let metadata: BTreeMap<String, Value> = pairs.map(|(key, value)| (key.to_owned(), value)).into();
    HistoryQuery { metadata, ..Default::default() }
}

async fn check_history_ids(checkpointer: SharedCheckpointer, rows: Vec<(HistoryQuery, &[u128])>) {
    let writer = writer_with_twelve_steps(&checkpointer).await;
    for (query, expected) in rows {
        assert_eq!(writer.history_ids(&query).await, expected, "{query:?}");
    }
}

/// R-FWK-33: a listing is newest first and complete.
pub async fn a_listing_is_newest_first(checkpointer: SharedCheckpointer) {
    check_history_ids(checkpointer, vec![(HistoryQuery::default(), &[12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1])]).await;
}

/// R-FWK-33: a thread or graph without commits has an empty history.
pub async fn an_unknown_history_is_empty(checkpointer: SharedCheckpointer) {
    let writer = writer_with_twelve_steps(&checkpointer).await;
    assert!(writer.subgraph("child").history(&HistoryQuery::default()).await.is_empty());
    let unknown = checkpointer.history(&"nobody".into(), &CheckpointNamespace::root(), &HistoryQuery::default()).await;
    assert!(unknown.expect("listing works").is_empty());
}

/// R-FWK-33: a limit returns that many of the newest; a limit of 0 returns none.
pub async fn a_limit_returns_the_newest(checkpointer: SharedCheckpointer) {
    let limit = |limit| HistoryQuery { limit: Some(limit), ..Default::default() };
    let all: &[u128] = &[12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1];
    check_history_ids(
        checkpointer,
        vec![(limit(0), &[]), (limit(1), &[12]), (limit(3), &[12, 11, 10]), (limit(99), all)],
    )
    .await;
}

/// R-FWK-33: `before` returns the older checkpoints, without the named one.
pub async fn before_returns_older_checkpoints(checkpointer: SharedCheckpointer) {
    let before = |number| HistoryQuery { before: Some(id(number)), ..Default::default() };
    check_history_ids(checkpointer, vec![(before(4), &[3, 2, 1]), (before(2), &[1]), (before(1), &[])]).await;
}

/// R-FWK-33: `before` and a limit page through everything, without gaps or duplicates.
pub async fn before_and_limit_page_through_everything(checkpointer: SharedCheckpointer) {
    let writer = writer_with_twelve_steps(&checkpointer).await;
    let mut pages = Vec::new();
    let mut query = HistoryQuery { limit: Some(5), ..Default::default() };
    loop {
        let page = writer.history_ids(&query).await;
        let Some(last) = page.last() else { break };
        query.before = Some(id(*last));
        pages.push(page);
    }
    assert_eq!(pages, [vec![12, 11, 10, 9, 8], vec![7, 6, 5, 4, 3], vec![2, 1]]);
}

/// R-FWK-33: `before` an unknown checkpoint is rejected, not treated as no filter.
pub async fn before_an_unknown_checkpoint_is_rejected(checkpointer: SharedCheckpointer) {
    let writer = writer_with_twelve_steps(&checkpointer).await;
    let query = HistoryQuery { before: Some(id(99)), ..Default::default() };
    let error = checkpointer.history(writer.thread(), &writer.namespace, &query).await.expect_err("it is unknown");
    assert_eq!(error.code(), ErrorCode::NotFound);
}

/// R-FWK-33: a listing can be restricted to one source.
pub async fn a_listing_can_be_of_one_source(checkpointer: SharedCheckpointer) {
    let source = |source| HistoryQuery { source: Some(source), ..Default::default() };
    let rows: Vec<(_, &[u128])> = vec![
        (source(CheckpointSource::Input), &[9, 5, 1]),
        (source(CheckpointSource::Loop), &[12, 11, 10, 8, 7, 6, 4, 3, 2]),
        (source(CheckpointSource::Fork), &[]),
    ];
    check_history_ids(checkpointer, rows).await;
}

/// R-FWK-33: a listing can be restricted to one step.
pub async fn a_listing_can_be_of_one_step(checkpointer: SharedCheckpointer) {
    let step = |step| HistoryQuery { step: Some(step), ..Default::default() };
    check_history_ids(checkpointer, vec![(step(0), &[1]), (step(7), &[8]), (step(-1), &[]), (step(12), &[])]).await;
}

/// R-FWK-33: a listing can be restricted to one run.
pub async fn a_listing_can_be_of_one_run(checkpointer: SharedCheckpointer) {
    let query = |number| HistoryQuery { run: Some(run(number)), ..Default::default() };
    check_history_ids(checkpointer, vec![(query(0), &[4, 3, 2, 1]), (query(2), &[12, 11, 10, 9]), (query(9), &[])])
        .await;
}

/// R-FWK-33: a listing can be restricted to one value of metadata.
pub async fn a_listing_can_be_of_metadata(checkpointer: SharedCheckpointer) {
    let rows: Vec<(_, &[u128])> = vec![
        (metadata([("parity", json!("even"))]), &[11, 9, 7, 5, 3, 1]),
        (metadata([("user", json!(1))]), &[12, 11, 10, 9, 8, 7]),
        (metadata([("user", json!("1"))]), &[]),
        (metadata([("nobody", json!(1))]), &[]),
        (metadata([("nobody", json!(null))]), &[]),
    ];
    check_history_ids(checkpointer, rows).await;
}

/// R-FWK-33: several values of metadata must all be present, nested ones equal as a whole.
pub async fn a_listing_can_be_of_several_values_of_metadata(checkpointer: SharedCheckpointer) {
    let rows: Vec<(_, &[u128])> = vec![
        (metadata([("parity", json!("odd")), ("user", json!(0))]), &[6, 4, 2]),
        (metadata([("parity", json!("odd")), ("user", json!(7))]), &[]),
        (metadata([("tags", json!({ "n": [2] }))]), &[12, 9, 6, 3]),
        (metadata([("tags", json!({}))]), &[]),
    ];
    check_history_ids(checkpointer, rows).await;
}

/// R-FWK-33, R-REF-66: filters, `before` and a limit can be combined; the limit counts the checkpoints that pass
/// the filters.
pub async fn filters_before_and_limit_hold_together(checkpointer: SharedCheckpointer) {
    let even = || metadata([("parity", json!("even"))]);
    let rows: Vec<(_, &[u128])> = vec![
        (HistoryQuery { limit: Some(2), ..even() }, &[11, 9]),
        (HistoryQuery { before: Some(id(9)), limit: Some(2), ..even() }, &[7, 5]),
        (HistoryQuery { before: Some(id(8)), source: Some(CheckpointSource::Loop), ..even() }, &[7, 3]),
        (HistoryQuery { run: Some(run(1)), source: Some(CheckpointSource::Input), ..even() }, &[5]),
        (HistoryQuery { run: Some(run(1)), step: Some(0), ..even() }, &[]),
        (HistoryQuery { step: Some(4), before: Some(id(5)), ..Default::default() }, &[]),
        (HistoryQuery { step: Some(4), before: Some(id(6)), limit: Some(9), ..even() }, &[5]),
    ];
    check_history_ids(checkpointer, rows).await;
}

/// R-FWK-33: each listed checkpoint has its own values.
pub async fn a_listing_has_the_values_of_each(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let mut expected = Vec::new();
    for index in 0..30 {
        writer.step(json!({ "log": [index], "title": index.to_string() })).await;
        expected.insert(0, writer.values());
    }
    let listed = writer.history(&HistoryQuery::default()).await;
    assert_eq!(listed.iter().map(|loaded| stored_values(&writer.schema, loaded)).collect::<Vec<_>>(), expected);
}

/// R-FWK-33: each listed checkpoint has its pending entries.
pub async fn a_listing_has_the_pending_entries_of_each(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for index in 1..=3 {
        let saved = writer.step(json!({ "count": 1 })).await;
        writer.commit_entry(saved, index, TaskEntry::Skipped).await;
    }
    let listed = writer.history(&HistoryQuery::default()).await;
    let pending: Vec<_> = listed.into_iter().map(|loaded| loaded.pending).collect();
    assert_eq!(pending, [3, 2, 1].map(|number| vec![pending_entry(id(number), number, TaskEntry::Skipped)]));
}

/// R-FWK-33: a returned listing does not change when the thread continues.
pub async fn a_listing_stays_as_it_was_given(checkpointer: SharedCheckpointer) {
    let mut writer = writer_with_twelve_steps(&checkpointer).await;
    let listed = writer.history(&HistoryQuery::default()).await;
    let values: Vec<Value> = listed.iter().map(|loaded| stored_values(&writer.schema, loaded)).collect();
    for index in 0..20 {
        writer.step(json!({ "count": 1, "log": [index] })).await;
    }
    assert_eq!(listed.iter().map(|loaded| stored_values(&writer.schema, loaded)).collect::<Vec<_>>(), values);
    let before = HistoryQuery { before: Some(id(13)), ..Default::default() };
    assert_eq!(writer.history_ids(&before).await, (1..=12).rev().collect::<Vec<u128>>());
}

#[doc(hidden)]
#[macro_export]
macro_rules! checkpointer_history {
    ($open:expr, $drive:expr) => {
        mod history {
            #[allow(unused_imports, reason = "the constructor may be in any module")]
            use super::*;
            use $crate::testing::checkpointer::{check, history as checks};

            /// R-FWK-33: a listing is newest first and complete.
            #[test]
            fn a_listing_is_newest_first() {
                check($open, $drive, checks::a_listing_is_newest_first);
            }

            /// R-FWK-33: a thread or graph without commits has an empty history.
            #[test]
            fn an_unknown_history_is_empty() {
                check($open, $drive, checks::an_unknown_history_is_empty);
            }

            /// R-FWK-33: a limit returns that many of the newest; a limit of 0 returns none.
            #[test]
            fn a_limit_returns_the_newest() {
                check($open, $drive, checks::a_limit_returns_the_newest);
            }

            /// R-FWK-33: `before` returns the older checkpoints, without the named one.
            #[test]
            fn before_returns_older_checkpoints() {
                check($open, $drive, checks::before_returns_older_checkpoints);
            }

            /// R-FWK-33: `before` and a limit page through everything, without gaps or duplicates.
            #[test]
            fn before_and_limit_page_through_everything() {
                check($open, $drive, checks::before_and_limit_page_through_everything);
            }

            /// R-FWK-33: `before` an unknown checkpoint is rejected, not treated as no filter.
            #[test]
            fn before_an_unknown_checkpoint_is_rejected() {
                check($open, $drive, checks::before_an_unknown_checkpoint_is_rejected);
            }

            /// R-FWK-33: a listing can be restricted to one source.
            #[test]
            fn a_listing_can_be_of_one_source() {
                check($open, $drive, checks::a_listing_can_be_of_one_source);
            }

            /// R-FWK-33: a listing can be restricted to one step.
            #[test]
            fn a_listing_can_be_of_one_step() {
                check($open, $drive, checks::a_listing_can_be_of_one_step);
            }

            /// R-FWK-33: a listing can be restricted to one run.
            #[test]
            fn a_listing_can_be_of_one_run() {
                check($open, $drive, checks::a_listing_can_be_of_one_run);
            }

            /// R-FWK-33: a listing can be restricted to one value of metadata.
            #[test]
            fn a_listing_can_be_of_metadata() {
                check($open, $drive, checks::a_listing_can_be_of_metadata);
            }

            /// R-FWK-33: several values of metadata must all be present, nested ones equal as a whole.
            #[test]
            fn a_listing_can_be_of_several_values_of_metadata() {
                check($open, $drive, checks::a_listing_can_be_of_several_values_of_metadata);
            }

            /// R-FWK-33, R-REF-66: filters, `before` and a limit can be combined; the limit counts the checkpoints
            /// that pass the filters.
            #[test]
            fn filters_before_and_limit_hold_together() {
                check($open, $drive, checks::filters_before_and_limit_hold_together);
            }

            /// R-FWK-33: each listed checkpoint has its own values.
            #[test]
            fn a_listing_has_the_values_of_each() {
                check($open, $drive, checks::a_listing_has_the_values_of_each);
            }

            /// R-FWK-33: each listed checkpoint has its pending entries.
            #[test]
            fn a_listing_has_the_pending_entries_of_each() {
                check($open, $drive, checks::a_listing_has_the_pending_entries_of_each);
            }

            /// R-FWK-33: a returned listing does not change when the thread continues.
            #[test]
            fn a_listing_stays_as_it_was_given() {
                check($open, $drive, checks::a_listing_stays_as_it_was_given);
            }
        }
    };
}
