//! Placeholder until stores keep events.

use superstep_core::error::Result;
use superstep_core::machine::Machine;
use superstep_core::port::Commit;

use super::save;
use crate::context::Shared;
use crate::stream::{Keeper, Sink};

pub(super) fn keeping(shared: &Shared) -> Option<(&Sink, &Keeper)> {
    let sink = shared.sink.as_ref()?;
    Some((sink, sink.kept.as_deref()?))
}

pub(super) async fn save_with_events(shared: &Shared, _machine: &Machine, commit: Commit) -> Result<()> {
    save(shared, &commit).await
}

pub(crate) async fn save_events(_shared: &Shared) {}
