//! Streaming a run: as typed events, by stream modes, or as events of protocol version 2.

use std::future::IntoFuture;

use superstep_core::state::GraphState;

use crate::events::event::{
    EventFilter, EventPublisher, EventStream, ModeStream, RunStream, StreamMode, filter_for_modes,
};
use crate::run::builder::{Outcome, RunBuilder};

impl<S: GraphState, C: Send + Sync + 'static> RunBuilder<S, C> {
    /// Returns a stream of the events of the run. Polling the stream drives the run, dropping the stream stops the
    /// run.
    pub fn stream(self) -> RunStream<Outcome<S>> {
        self.streamed(EventFilter::ALL)
    }

    /// Returns a stream of the run in one or more stream modes. Events that no mode needs are not created. Subgraphs
    /// are included with [`RunBuilder::stream_subgraphs`].
    ///
    /// ```
    /// use superstep::prelude::*;
    /// use superstep::StreamMode;
    /// # #[derive(GraphState, Clone, Serialize, Deserialize)] struct Count { #[reduce(add)] n: u64 }
    /// # let mut graph = StateGraph::<Count>::new("count");
    /// # let one = graph.add_node("one", || Count::update().n(1u64));
    /// # graph.add_edge(START, one); graph.add_edge(one, END);
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let count = graph.compile()?;
    /// let mut parts = count.invoke(Count::input().n(41u64)).stream_mode([StreamMode::Updates]);
    /// let part = parts.next().await.unwrap();
    /// assert_eq!(part.data.to_json(), serde_json::json!({"one": {"n": 1}}));
    /// # Ok::<(), superstep::Error>(()) }).unwrap();
    /// ```
    pub fn stream_mode(self, modes: impl IntoIterator<Item = StreamMode>) -> ModeStream<Outcome<S>> {
        let modes: Vec<StreamMode> = modes.into_iter().collect();
        let streams_subgraphs = self.call.streams_subgraphs;
        ModeStream::new(self.streamed(filter_for_modes(&modes, streams_subgraphs)), &modes, streams_subgraphs)
    }

    /// Includes subgraphs in a stream by modes.
    pub fn stream_subgraphs(mut self) -> Self {
        self.call.streams_subgraphs = true;
        self
    }

    /// Returns a stream of events of protocol version 2, including subgraphs.
    pub fn stream_events(self) -> EventStream<Outcome<S>> {
        EventStream::new(self.streamed(EventFilter::ALL))
    }

    /// Journals the events of the run: they are numbered and persisted in the commit that they describe. A client
    /// that reconnects reads on with [`crate::Threads::events`]. Requires a checkpointer.
    pub fn journal_events(mut self) -> Self {
        self.call.journals_events = true;
        self
    }

    fn streamed(mut self, filter: EventFilter) -> RunStream<Outcome<S>> {
        let (publisher, events) = EventPublisher::open(filter);
        self.call.publisher = Some(publisher);
        RunStream::new(self.into_future(), events)
    }
}
