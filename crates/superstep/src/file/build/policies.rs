//! What a file says about retries, timeouts and earlier versions, as the engine has it.

use std::time::Duration;

use superstep_core::migration::Migration;

use super::super::description::{MigrationData, RetryData, TimeoutData};
use crate::node::Timeout;
use crate::retry::Retry;

pub(super) fn retry_of(data: &RetryData) -> Retry {
    let mut retry = Retry::exponential(data.max_attempts);
    if let Some(seconds) = data.initial_interval {
        retry = retry.initial_interval(Duration::from_secs_f64(seconds));
    }
    if let Some(factor) = data.backoff {
        retry = retry.backoff(factor);
    }
    if let Some(seconds) = data.max_interval {
        retry = retry.max_interval(Duration::from_secs_f64(seconds));
    }
    if data.jitter == Some(false) { retry.without_jitter() } else { retry }
}

pub(super) fn timeout_of(data: &TimeoutData) -> Timeout {
    let (run, idle) = match data {
        TimeoutData::Seconds(run) => (Some(*run), None),
        TimeoutData::Table { run, idle } => (*run, *idle),
    };
    let run = run.map(|seconds| Timeout::run(Duration::from_secs_f64(seconds)));
    match idle.map(Duration::from_secs_f64) {
        Some(idle) => run.unwrap_or_default().and_idle(idle),
        None => run.unwrap_or_default(),
    }
}

pub(super) fn migration_of(data: &MigrationData) -> Migration {
    let mut migration = Migration::to(data.to);
    for (from, to) in &data.rename {
        migration = migration.rename(from.as_str(), to.as_str());
    }
    for (field, value) in &data.add {
        migration = migration.add(field.as_str(), value.clone());
    }
    for field in &data.remove {
        migration = migration.remove(field.as_str());
    }
    for (from, to) in &data.rename_nodes {
        migration = migration.rename_node(from.as_str(), to.as_str());
    }
    migration
}
