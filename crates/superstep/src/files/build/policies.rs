//! Conversion of retry, timeout and migration settings of a file to the types of the engine.

use std::time::Duration;

use superstep_core::migration::Migration;

use super::super::model::{MigrationConfig, RetryConfig, TimeoutConfig};
use crate::graph::node::TimeoutPolicy;
use crate::graph::retry::RetryPolicy;

pub(super) fn retry_policy(data: &RetryConfig) -> RetryPolicy {
    let mut retry = RetryPolicy::exponential(data.max_attempts);
    if let Some(seconds) = data.initial_interval {
        retry = retry.initial_interval(Duration::from_secs_f64(seconds));
    }
    if let Some(factor) = data.backoff {
        retry = retry.backoff_factor(factor);
    }
    if let Some(seconds) = data.max_interval {
        retry = retry.max_interval(Duration::from_secs_f64(seconds));
    }
    if data.jitter == Some(false) { retry.without_jitter() } else { retry }
}

pub(super) fn timeout_policy(data: &TimeoutConfig) -> TimeoutPolicy {
    let (run, idle) = match data {
        TimeoutConfig::Seconds(run) => (Some(*run), None),
        TimeoutConfig::Table { run, idle } => (*run, *idle),
    };
    let run = run.map(|seconds| TimeoutPolicy::run_timeout(Duration::from_secs_f64(seconds)));
    match idle.map(Duration::from_secs_f64) {
        Some(idle) => run.unwrap_or_default().and_idle_timeout(idle),
        None => run.unwrap_or_default(),
    }
}

pub(super) fn to_migration(data: &MigrationConfig) -> Migration {
    let mut migration = Migration::to_version(data.to);
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
