//! Event publisher: to a subscriber, and to the journal.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use superstep_core::machine::MachineEvent;
use superstep_core::port::StateRef;
use tokio::sync::mpsc;

use crate::engine::context::{RunShared, TaskContext, lock};
use crate::engine::outcome::output_state;
use crate::engine::redaction::{redact_error, redact_tool_event};
use crate::events::event::{
    EVENT_BUFFER_CAPACITY, EventFilter, EventJournal, EventKind, GraphEnd, GraphRun, JournalStamp, ModelCallInfo,
    ModelEvent, RunEvent, ToolEvent, ToolExecution,
};
use crate::graph::output::NodeError;

/// Publisher of the events of a graph.
#[derive(Clone)]
pub(crate) struct EventPublisher {
    live: Option<LiveSubscriber>,
    pub(crate) journal: Option<Arc<EventJournal>>,
}

#[derive(Clone)]
struct LiveSubscriber {
    sender: mpsc::Sender<RunEvent>,
    filter: EventFilter,
    deferred: Arc<Mutex<DeferredEvents>>,
}

/// Deferred events, which are published before the run ends.
#[derive(Default)]
struct DeferredEvents {
    /// Events whose publication was cancelled, although their changes are saved.
    undelivered: Vec<RunEvent>,
    /// Events about changes that are saved together with the root graph.
    until_root_commit: Vec<RunEvent>,
}

impl EventPublisher {
    pub(crate) fn open(filter: EventFilter) -> (Self, mpsc::Receiver<RunEvent>) {
        let (sender, receiver) = mpsc::channel(EVENT_BUFFER_CAPACITY);
        (Self { live: Some(LiveSubscriber { sender, filter, deferred: Arc::default() }), journal: None }, receiver)
    }

    /// Creates a publisher with a journal.
    pub(crate) fn with_journal(publisher: Option<Self>, journal: Arc<EventJournal>) -> Self {
        Self { live: publisher.and_then(|publisher| publisher.live), journal: Some(journal) }
    }

    /// Returns the publisher of a subgraph.
    pub(crate) fn for_subgraph(&self) -> Option<Self> {
        let live = self.live.clone().filter(|live| live.filter.subgraphs);
        (live.is_some() || self.journal.is_some()).then(|| Self { live, journal: self.journal.clone() })
    }

    /// Returns true if the subscriber needs such events.
    pub(crate) fn subscriber_wants(&self, is_enabled: impl Fn(&EventFilter) -> bool) -> bool {
        self.live.as_ref().is_some_and(|live| is_enabled(&live.filter))
    }

    /// Returns true if the subscriber or the journal needs such events.
    pub(crate) fn is_wanted(&self, is_enabled: impl Fn(&EventFilter) -> bool) -> bool {
        self.journal.is_some() || self.subscriber_wants(is_enabled)
    }

    /// Publishes events of the machine, after their changes are saved.
    pub(crate) async fn publish(&self, shared: &RunShared, events: Vec<MachineEvent>) {
        // All events are journaled before waiting for a subscriber.
        let stamps = events.iter().map(|event| self.journal_machine_event(shared, event)).collect();
        self.publish_saved(shared, stamps, events).await;
    }

    /// Releases events of subgraphs after the commit of the root graph.
    pub(crate) fn release_deferred(&self) {
        if let Some(live) = &self.live {
            let DeferredEvents { undelivered, until_root_commit } = &mut *lock(&live.deferred);
            undelivered.append(until_root_commit);
        }
    }

    /// Publishes events of the machine that are journaled already, with their stamps.
    pub(crate) async fn publish_saved(&self, shared: &RunShared, stamps: Vec<JournalStamp>, events: Vec<MachineEvent>) {
        if let Some(live) = &self.live {
            let mut delivery = PendingDelivery { live, shared, stamps: stamps.into_iter(), events: events.into_iter() };
            while delivery.has_next() {
                if delivery.waits_for_root_commit() {
                    lock(&live.deferred).until_root_commit.extend(delivery.next());
                    continue;
                }
                // A dropped receiver does not stop the run here; the owner of the run decides that.
                let Ok(permit) = live.sender.reserve().await else { return };
                if let Some(event) = delivery.next() {
                    permit.send(event);
                }
            }
        }
    }

    /// Adds an event of the machine to the journal.
    pub(crate) fn journal_machine_event(&self, shared: &RunShared, event: &MachineEvent) -> JournalStamp {
        match (&self.journal, &shared.graph) {
            (Some(journal), Some(graph)) if !is_hidden(graph, event) => {
                journal.append(shared, &EventKind::Machine(event.clone()))
            }
            _ => JournalStamp::default(),
        }
    }

    pub(crate) async fn started(&self, shared: &RunShared, input: Value) {
        self.publish_kind(shared, EventKind::Started { input }, |filter| filter.graphs).await;
    }

    /// Publishes the start of a graph, as [`EventPublisher::started`] does, after the future `saved` has persisted it.
    pub(crate) async fn started_once<E>(
        &self,
        shared: &RunShared,
        input: Value,
        saved: impl Future<Output = Result<(), E>>,
    ) -> Result<(), E> {
        let kind = EventKind::Started { input };
        let stamp = self.append_to_journal(shared, &kind);
        saved.await?;
        self.send(shared, stamp, kind, |filter| filter.graphs).await;
        Ok(())
    }

    pub(crate) async fn ended(&self, shared: &RunShared, end: GraphEnd, output: Value) {
        let root_subscriber = self.live.as_ref().filter(|_| shared.parent_task.is_none());
        if let Some(live) = root_subscriber {
            let undelivered = std::mem::take(&mut lock(&live.deferred).undelivered);
            for event in undelivered {
                let _ = live.sender.send(event).await;
            }
        }
        self.publish_kind(shared, EventKind::Ended { end, output }, |filter| filter.graphs).await;
    }

    pub(crate) async fn custom(&self, cx: &TaskContext, name: Option<Arc<str>>, value: Value) {
        if !self.is_hidden(cx) {
            let kind = EventKind::Custom { node: cx.node().into(), task: cx.task_id(), name, value };
            self.publish_kind(&cx.0.shared, kind, |filter| filter.custom).await;
        }
    }

    pub(crate) async fn retry(&self, cx: &TaskContext, attempt: u32, delay: Duration, error: &NodeError) {
        if !self.is_hidden(cx) {
            let (error, task) = (redact_error(cx, error.error().clone()), cx.task_id());
            let kind = EventKind::Retry { node: cx.node().into(), task, attempt, delay, error };
            self.publish_kind(&cx.0.shared, kind, |filter| filter.warnings).await;
        }
    }

    pub(crate) async fn tool(&self, cx: &TaskContext, call: &Arc<ToolExecution>, mut tool_event: ToolEvent) {
        if !self.is_hidden(cx) {
            cx.0.shared.event_redactions().for_each(|redaction| redact_tool_event(redaction, &mut tool_event));
            self.publish_kind(&cx.0.shared, EventKind::Tool { call: call.clone(), event: tool_event }, |filter| {
                filter.model_and_tool_calls
            })
            .await;
        }
    }

    pub(crate) async fn model(&self, cx: &TaskContext, call: &Arc<ModelCallInfo>, model_event: ModelEvent) {
        if !self.is_hidden(cx) {
            let is_chunk = matches!(model_event, ModelEvent::Chunk { .. });
            let kind = EventKind::Model { call: call.clone(), event: model_event };
            self.publish_kind(
                &cx.0.shared,
                kind,
                |filter| {
                    if is_chunk { filter.chunks } else { filter.model_and_tool_calls }
                },
            )
            .await;
        }
    }

    /// Publishes a chunk without waiting. Returns the chunk if the buffer is full.
    pub(crate) fn try_send_chunk(
        &self,
        cx: &TaskContext,
        call: &Arc<ModelCallInfo>,
        model_event: ModelEvent,
    ) -> Option<ModelEvent> {
        let live = self.live.as_ref()?;
        let permit = match live.sender.try_reserve() {
            Ok(permit) => permit,
            Err(mpsc::error::TrySendError::Full(())) => return Some(model_event),
            // A dropped receiver does not stop the run here.
            Err(mpsc::error::TrySendError::Closed(())) => return None,
        };
        let kind = EventKind::Model { call: call.clone(), event: model_event };
        let stamp = self.append_to_journal(&cx.0.shared, &kind);
        permit.send(event(&cx.0.shared, stamp, kind)?);
        None
    }

    fn is_hidden(&self, cx: &TaskContext) -> bool {
        cx.0.shared.graph.as_ref().is_none_or(|graph| graph.is_hidden(cx.node()))
    }

    async fn publish_kind(&self, shared: &RunShared, kind: EventKind, is_enabled: impl Fn(&EventFilter) -> bool) {
        let stamp = self.append_to_journal(shared, &kind);
        self.send(shared, stamp, kind, is_enabled).await;
    }

    fn append_to_journal(&self, shared: &RunShared, kind: &EventKind) -> JournalStamp {
        self.journal.as_ref().map(|journal| journal.append(shared, kind)).unwrap_or_default()
    }

    async fn send(
        &self,
        shared: &RunShared,
        stamp: JournalStamp,
        kind: EventKind,
        is_enabled: impl Fn(&EventFilter) -> bool,
    ) {
        // A dropped receiver does not stop the run here; the owner of the run decides that.
        if let Some(live) = self.live.as_ref().filter(|live| is_enabled(&live.filter))
            && let Some(event) = event(shared, stamp, kind)
        {
            let _ = live.sender.send(event).await;
        }
    }
}

/// Events that are being delivered, each as soon as the buffer has space; the rest is kept if the delivery is
/// cancelled.
struct PendingDelivery<'a> {
    live: &'a LiveSubscriber,
    shared: &'a RunShared,
    /// Stamp of each event; empty if events are not journaled.
    stamps: std::vec::IntoIter<JournalStamp>,
    events: std::vec::IntoIter<MachineEvent>,
}

impl PendingDelivery<'_> {
    /// Returns true if there are more events for the subscriber.
    fn has_next(&mut self) -> bool {
        let Some(graph) = &self.shared.graph else { return false };
        let is_delivered = |event: &MachineEvent| self.live.filter.includes(event) && !is_hidden(graph, event);
        while self.events.as_slice().first().is_some_and(|event| !is_delivered(event)) {
            self.events.next();
            self.stamps.next();
        }
        !self.events.as_slice().is_empty()
    }

    /// Returns true if the next event reports a change that is saved with the root graph: an interrupt or a
    /// checkpoint is published only after a crash cannot withdraw it.
    fn waits_for_root_commit(&self) -> bool {
        let reports_saved_change = |event: &MachineEvent| {
            matches!(
                event,
                MachineEvent::TaskInterrupted { .. }
                    | MachineEvent::Interrupted { .. }
                    | MachineEvent::Checkpoint { .. }
            )
        };
        let is_buffered = self.shared.subgraph_buffer.is_some() && self.shared.parent_task.is_some();
        is_buffered && self.events.as_slice().first().is_some_and(reports_saved_change)
    }
}

impl Iterator for PendingDelivery<'_> {
    type Item = RunEvent;

    fn next(&mut self) -> Option<RunEvent> {
        if !self.has_next() {
            return None;
        }
        let (machine_event, stamp) = (self.events.next()?, self.stamps.next().unwrap_or_default());
        event(self.shared, stamp, EventKind::Machine(restrict_to_output(self.shared, machine_event)))
    }
}

impl Drop for PendingDelivery<'_> {
    fn drop(&mut self) {
        if self.has_next() && !self.live.sender.is_closed() {
            let deferred = self.live.deferred.clone();
            // Tasks that were scheduled and cancelled at once have not started.
            let is_start = |kind: &EventKind| matches!(kind, EventKind::Machine(MachineEvent::TaskStarted { .. }));
            lock(&deferred).undelivered.extend(self.filter(|event| !is_start(&event.kind)));
        }
    }
}

fn event(shared: &RunShared, stamp: JournalStamp, kind: EventKind) -> Option<RunEvent> {
    let JournalStamp { number, time } = stamp;
    let time = if number > 0 { time } else { shared.clock.now() };
    Some(RunEvent { seq: 0, number, time, graph: shared.graph.clone()?, kind })
}

impl EventFilter {
    fn includes(&self, event: &MachineEvent) -> bool {
        match event {
            MachineEvent::TaskStarted { .. } => self.task_starts,
            MachineEvent::TaskFinished { .. }
            | MachineEvent::TaskFailed { .. }
            | MachineEvent::TaskInterrupted { .. } => self.task_ends,
            MachineEvent::Values { .. } => self.values,
            MachineEvent::Checkpoint { .. } => self.checkpoints,
            MachineEvent::Interrupted { .. } => self.interrupts,
            _ => self.warnings,
        }
    }
}

fn is_hidden(graph: &GraphRun, event: &MachineEvent) -> bool {
    match event {
        MachineEvent::TaskStarted { node, .. }
        | MachineEvent::TaskFinished { node, .. }
        | MachineEvent::TaskFailed { node, .. }
        | MachineEvent::TaskInterrupted { node, .. } => graph.is_hidden(node),
        _ => false,
    }
}

/// Returns the event as subscribers see it: values contain only fields of the output schema.
fn restrict_to_output(shared: &RunShared, event: MachineEvent) -> MachineEvent {
    match event {
        MachineEvent::Values { step, state, is_visible } if shared.program.restricts_output => {
            let schema = state.schema;
            let state = output_state(&shared.program.topology, &state.state);
            MachineEvent::Values { step, state: StateRef { schema, state }, is_visible }
        }
        event => event,
    }
}
