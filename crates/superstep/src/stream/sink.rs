//! Where events go: to a reader, and to the store.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use superstep_core::machine::Event;
use superstep_core::port::StateRef;
use tokio::sync::mpsc;

use super::{
    BUFFER, EventKind, GraphEnd, GraphRun, Interest, Keeper, ModelCall, ModelEvent, RunEvent, Stamp, ToolEvent, ToolRun,
};
use crate::conclude::output_of;
use crate::context::{Cx, Shared, lock};
use crate::output::NodeError;
use crate::redacting::{in_words, redact_tool_event};

/// Where events go.
#[derive(Clone)]
pub(crate) struct Sink {
    live: Option<Live>,
    pub(crate) kept: Option<Arc<Keeper>>,
}

#[derive(Clone)]
struct Live {
    sender: mpsc::Sender<RunEvent>,
    interest: Interest,
    later: Arc<Mutex<Later>>,
}

/// What is told before the run ends.
#[derive(Default)]
struct Later {
    /// What was to be told when whoever told it was called off: it is saved already.
    left: Vec<RunEvent>,
    /// What speaks of something that is saved only with the outermost graph.
    early: Vec<RunEvent>,
}

impl Sink {
    pub(crate) fn open(interest: Interest) -> (Self, mpsc::Receiver<RunEvent>) {
        let (sender, receiver) = mpsc::channel(BUFFER);
        (Self { live: Some(Live { sender, interest, later: Arc::default() }), kept: None }, receiver)
    }

    /// A sink that only keeps.
    pub(crate) fn keeping(sink: Option<Self>, kept: Arc<Keeper>) -> Self {
        Self { live: sink.and_then(|sink| sink.live), kept: Some(kept) }
    }

    /// Where the events of a graph inside go.
    pub(crate) fn inside(&self) -> Option<Self> {
        let live = self.live.clone().filter(|live| live.interest.inside);
        (live.is_some() || self.kept.is_some()).then(|| Self { live, kept: self.kept.clone() })
    }

    /// Whether a reader wants this.
    pub(crate) fn hears(&self, wants: impl Fn(&Interest) -> bool) -> bool {
        self.live.as_ref().is_some_and(|live| wants(&live.interest))
    }

    /// Whether a reader or the store wants this.
    pub(crate) fn wants(&self, wants: impl Fn(&Interest) -> bool) -> bool {
        self.kept.is_some() || self.hears(wants)
    }

    /// Tells what the machine says, after it was saved where it is.
    pub(crate) async fn publish(&self, shared: &Shared, events: Vec<Event>) {
        // All of them before a reader is waited for.
        let stamps = events.iter().map(|event| self.keep_machine(shared, event)).collect();
        self.publish_saved(shared, stamps, events).await;
    }

    /// The outermost graph was saved, and what happened inside with it.
    pub(crate) fn saved_all(&self) {
        if let Some(live) = &self.live {
            let Later { left, early } = &mut *lock(&live.later);
            left.append(early);
        }
    }

    /// Tells what the machine says and what the store has been given already, as it was kept.
    pub(crate) async fn publish_saved(&self, shared: &Shared, stamps: Vec<Stamp>, events: Vec<Event>) {
        if let Some(live) = &self.live {
            let mut telling = Telling { live, shared, stamps: stamps.into_iter(), events: events.into_iter() };
            while telling.is_left() {
                if telling.is_early() {
                    lock(&live.later).early.extend(telling.next());
                    continue;
                }
                // A reader that has gone does not stop the run here: whoever holds the run decides that.
                let Ok(room) = live.sender.reserve().await else { return };
                if let Some(event) = telling.next() {
                    room.send(event);
                }
            }
        }
    }

    /// Hands what the machine says to the store.
    pub(crate) fn keep_machine(&self, shared: &Shared, event: &Event) -> Stamp {
        match (&self.kept, &shared.graph) {
            (Some(kept), Some(graph)) if !is_hidden(graph, event) => {
                kept.keep(shared, &EventKind::Machine(event.clone()))
            }
            _ => Stamp::default(),
        }
    }

    pub(crate) async fn started(&self, shared: &Shared, input: Value) {
        self.tell(shared, EventKind::Started { input }, |interest| interest.graphs).await;
    }

    /// As [`Sink::started`], once `saved` has saved that it has begun.
    pub(crate) async fn started_once<E>(
        &self,
        shared: &Shared,
        input: Value,
        saved: impl Future<Output = Result<(), E>>,
    ) -> Result<(), E> {
        let kind = EventKind::Started { input };
        let stamp = self.keep(shared, &kind);
        saved.await?;
        self.send(shared, stamp, kind, |interest| interest.graphs).await;
        Ok(())
    }

    pub(crate) async fn ended(&self, shared: &Shared, end: GraphEnd, output: Value) {
        let outermost = self.live.as_ref().filter(|_| shared.outer.is_none());
        if let Some(live) = outermost {
            let left = std::mem::take(&mut lock(&live.later).left);
            for event in left {
                let _ = live.sender.send(event).await;
            }
        }
        self.tell(shared, EventKind::Ended { end, output }, |interest| interest.graphs).await;
    }

    pub(crate) async fn custom(&self, cx: &Cx, name: Option<Arc<str>>, value: Value) {
        if !self.is_hidden(cx) {
            let kind = EventKind::Custom { node: cx.node().into(), task: cx.task_id(), name, value };
            self.tell(&cx.0.shared, kind, |interest| interest.custom).await;
        }
    }

    pub(crate) async fn retry(&self, cx: &Cx, attempt: u32, wait: Duration, error: &NodeError) {
        if !self.is_hidden(cx) {
            let (error, task) = (in_words(cx, error.error().clone()), cx.task_id());
            let kind = EventKind::Retry { node: cx.node().into(), task, attempt, wait, error };
            self.tell(&cx.0.shared, kind, |interest| interest.notes).await;
        }
    }

    pub(crate) async fn tool(&self, cx: &Cx, call: &Arc<ToolRun>, mut what: ToolEvent) {
        if !self.is_hidden(cx) {
            cx.0.shared.told_without().for_each(|redaction| redact_tool_event(redaction, &mut what));
            self.tell(&cx.0.shared, EventKind::Tool { call: call.clone(), what }, |interest| interest.calls).await;
        }
    }

    pub(crate) async fn model(&self, cx: &Cx, call: &Arc<ModelCall>, what: ModelEvent) {
        if !self.is_hidden(cx) {
            let is_piece = matches!(what, ModelEvent::Piece { .. });
            let kind = EventKind::Model { call: call.clone(), what };
            self.tell(&cx.0.shared, kind, |interest| if is_piece { interest.pieces } else { interest.calls }).await;
        }
    }

    /// Tells a piece of an answer without waiting; gives it back when the reader is behind.
    pub(crate) fn try_piece(&self, cx: &Cx, call: &Arc<ModelCall>, what: ModelEvent) -> Option<ModelEvent> {
        let live = self.live.as_ref()?;
        let room = match live.sender.try_reserve() {
            Ok(room) => room,
            Err(mpsc::error::TrySendError::Full(())) => return Some(what),
            // A reader that has gone does not stop the run here.
            Err(mpsc::error::TrySendError::Closed(())) => return None,
        };
        let kind = EventKind::Model { call: call.clone(), what };
        let stamp = self.keep(&cx.0.shared, &kind);
        room.send(event(&cx.0.shared, stamp, kind)?);
        None
    }

    fn is_hidden(&self, cx: &Cx) -> bool {
        cx.0.shared.graph.as_ref().is_none_or(|graph| graph.hides(cx.node()))
    }

    async fn tell(&self, shared: &Shared, kind: EventKind, wants: impl Fn(&Interest) -> bool) {
        let stamp = self.keep(shared, &kind);
        self.send(shared, stamp, kind, wants).await;
    }

    fn keep(&self, shared: &Shared, kind: &EventKind) -> Stamp {
        self.kept.as_ref().map(|kept| kept.keep(shared, kind)).unwrap_or_default()
    }

    async fn send(&self, shared: &Shared, stamp: Stamp, kind: EventKind, wants: impl Fn(&Interest) -> bool) {
        // A reader that has gone does not stop the run here: whoever holds the run decides that.
        if let Some(live) = self.live.as_ref().filter(|live| wants(&live.interest))
            && let Some(event) = event(shared, stamp, kind)
        {
            let _ = live.sender.send(event).await;
        }
    }
}

/// Events on their way to the reader, one as soon as there is room; what is left when that is called off stays.
struct Telling<'a> {
    live: &'a Live,
    shared: &'a Shared,
    /// Of each of the events; none where events are not kept.
    stamps: std::vec::IntoIter<Stamp>,
    events: std::vec::IntoIter<Event>,
}

impl Telling<'_> {
    /// Whether anything is left that the reader wants.
    fn is_left(&mut self) -> bool {
        let Some(graph) = &self.shared.graph else { return false };
        let is_told = |event: &Event| self.live.interest.wants(event) && !is_hidden(graph, event);
        while self.events.as_slice().first().is_some_and(|event| !is_told(event)) {
            self.events.next();
            self.stamps.next();
        }
        !self.events.as_slice().is_empty()
    }

    /// Whether the next one speaks of what is saved only when the outermost graph is: nobody is shown a question, or a
    /// checkpoint, that a crash could take back.
    fn is_early(&self) -> bool {
        let speaks_of_saved = |event: &Event| {
            matches!(event, Event::TaskAsked { .. } | Event::Interrupted { .. } | Event::Checkpoint { .. })
        };
        let is_staged = self.shared.stage.is_some() && self.shared.outer.is_some();
        is_staged && self.events.as_slice().first().is_some_and(speaks_of_saved)
    }
}

impl Iterator for Telling<'_> {
    type Item = RunEvent;

    fn next(&mut self) -> Option<RunEvent> {
        if !self.is_left() {
            return None;
        }
        let (machine, stamp) = (self.events.next()?, self.stamps.next().unwrap_or_default());
        event(self.shared, stamp, EventKind::Machine(visible(self.shared, machine)))
    }
}

impl Drop for Telling<'_> {
    fn drop(&mut self) {
        if self.is_left() && !self.live.sender.is_closed() {
            let later = self.live.later.clone();
            // What was planned and called off at once has not begun.
            let is_start = |kind: &EventKind| matches!(kind, EventKind::Machine(Event::TaskStarted { .. }));
            lock(&later).left.extend(self.filter(|event| !is_start(&event.kind)));
        }
    }
}

fn event(shared: &Shared, stamp: Stamp, kind: EventKind) -> Option<RunEvent> {
    let Stamp { number, time } = stamp;
    let time = if number > 0 { time } else { shared.clock.now() };
    Some(RunEvent { seq: 0, number, time, graph: shared.graph.clone()?, kind })
}

impl Interest {
    fn wants(&self, event: &Event) -> bool {
        match event {
            Event::TaskStarted { .. } => self.starts,
            Event::TaskDone { .. } | Event::TaskFailed { .. } | Event::TaskAsked { .. } => self.ends,
            Event::Values { .. } => self.values,
            Event::Checkpoint { .. } => self.checkpoints,
            Event::Interrupted { .. } => self.questions,
            _ => self.notes,
        }
    }
}

fn is_hidden(graph: &GraphRun, event: &Event) -> bool {
    match event {
        Event::TaskStarted { node, .. }
        | Event::TaskDone { node, .. }
        | Event::TaskFailed { node, .. }
        | Event::TaskAsked { node, .. } => graph.hides(node),
        _ => false,
    }
}

/// The event as readers see it: values have only fields of the output schema.
fn visible(shared: &Shared, event: Event) -> Event {
    match event {
        Event::Values { step, state, is_visible } if shared.program.hides_fields => {
            let schema = state.schema;
            let state = output_of(&shared.program.topology, &state.state);
            Event::Values { step, state: StateRef { schema, state }, is_visible }
        }
        event => event,
    }
}
