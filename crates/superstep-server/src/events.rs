//! Events of runs on their way to clients: broadcast, replay buffer, subscriptions, server-sent events.

pub(crate) mod ag_ui;
pub(crate) mod broadcast;
pub(crate) mod commit_listener;
pub(crate) mod replay_buffer;
pub(crate) mod sse;
pub(crate) mod subscription;
