//! Events of a run: publishing, filtering, the journal, and the streams made of them.

pub(crate) mod call_events;
pub(crate) mod event;
pub(crate) mod event_stream;
pub(crate) mod filter;
pub(crate) mod graph_run;
pub(crate) mod journal;
pub(crate) mod json;
pub(crate) mod mode_projection;
pub(crate) mod mode_stream;
pub(crate) mod projection;
pub(crate) mod publisher;
pub(crate) mod scope;
pub(crate) mod stream_event;
