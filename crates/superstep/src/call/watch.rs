//! A run that is watched: as typed events, by modes, as events of version 2.

use std::future::IntoFuture;

use superstep_core::state::State;

use super::{Outcome, Run};
use crate::stream::{EventStream, Interest, PartStream, RunStream, Sink, StreamMode, interest};

impl<S: State, C: Send + Sync + 'static> Run<S, C> {
    /// The run as a stream of events. Polling the stream drives the run, dropping it stops the run.
    pub fn stream(self) -> RunStream<Outcome<S>> {
        self.watched(Interest::ALL)
    }

    /// The run as a stream by modes, several at once. Nothing is made that no mode shows. Graphs inside are shown with
    /// [`Run::subgraphs`].
    ///
    /// ```
    /// use superstep::prelude::*;
    /// use superstep::StreamMode;
    /// # #[derive(State, Clone, Serialize, Deserialize)] struct Count { #[reduce(add)] n: u64 }
    /// # let mut graph = Graph::<Count>::new("count");
    /// # let one = graph.node("one", || Count::update().n(1u64));
    /// # graph.edge(START, one); graph.edge(one, END);
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let count = graph.compile()?;
    /// let mut parts = count.run(Count::input().n(41u64)).stream_mode([StreamMode::Updates]);
    /// let part = parts.next().await.unwrap();
    /// assert_eq!(part.data.to_json(), serde_json::json!({"one": {"n": 1}}));
    /// # Ok::<(), superstep::Error>(()) }).unwrap();
    /// ```
    pub fn stream_mode(self, modes: impl IntoIterator<Item = StreamMode>) -> PartStream<Outcome<S>> {
        let modes: Vec<StreamMode> = modes.into_iter().collect();
        let inside = self.call.shows_inside;
        PartStream::new(self.watched(interest(&modes, inside)), &modes, inside)
    }

    /// Shows graphs inside too, in a stream by modes.
    pub fn subgraphs(mut self) -> Self {
        self.call.shows_inside = true;
        self
    }

    /// The run as a stream of events, version 2, graphs inside included.
    pub fn stream_events(self) -> EventStream<Outcome<S>> {
        EventStream::new(self.watched(Interest::ALL))
    }

    /// Keeps the events of the run in the store, numbered, each in the commit of what it speaks of: a reader that comes
    /// back reads on with [`crate::Threads::events`]. Needs a store.
    pub fn keep_events(mut self) -> Self {
        self.call.keeps_events = true;
        self
    }

    fn watched(mut self, interest: Interest) -> RunStream<Outcome<S>> {
        let (sink, events) = Sink::open(interest);
        self.call.sink = Some(sink);
        RunStream::new(self.into_future(), events)
    }
}
