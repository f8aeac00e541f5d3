//! Draws the graph of an agent: the loop, and a node for each hook that exists.

use std::sync::Arc;

use super::hook::{Effect, Hook, Jump};
use super::middleware::{Erased, When};
use super::model_node::ModelNode;
use super::route::{self, Places};
use super::state::{AgentState, PRIVATE, Turn};
use crate::core::port::SharedCheckpointer;
use crate::tool::{ToolNode, Tools};
use crate::{
    Code, Command, Compiled, Cx, END, Endpoint, Error, FromTask, Graph, Node, NodeError, NodeHandle, Result, START,
    SharedStore, View, node,
};

/// Everything that a graph of an agent is made of.
pub(super) struct Parts {
    pub(super) name: String,
    pub(super) model: ModelNode,
    pub(super) tools: Option<ToolNode>,
    pub(super) middlewares: Vec<Arc<dyn Erased>>,
    pub(super) checkpointer: Option<SharedCheckpointer>,
    pub(super) store: Option<SharedStore>,
    pub(super) supersteps: u32,
    /// Results of tools may be the answer.
    pub(super) has_direct: bool,
}

/// A hook that exists, with the node it is.
struct HookPlace {
    middleware: Arc<dyn Erased>,
    when: When,
    handle: NodeHandle,
}

/// The nodes of the loop.
struct Nodes {
    before_agent: Vec<HookPlace>,
    before_model: Vec<HookPlace>,
    model: NodeHandle,
    after_model: Vec<HookPlace>,
    tools: Option<NodeHandle>,
    after_agent: Vec<HookPlace>,
}

/// Draws and compiles it.
pub(super) fn compile<C: Send + Sync + 'static>(parts: Parts) -> Result<Compiled<AgentState, C>> {
    let mut graph = Graph::<AgentState, C>::new(&parts.name);
    let middlewares = &parts.middlewares;
    let listed = parts.model.tools.clone();
    let is_corrected = parts.model.structured.is_some();
    let before_agent = reserved(&mut graph, middlewares, When::BeforeAgent);
    let before_model = reserved(&mut graph, middlewares, When::BeforeModel);
    let model = node(parts.model).reads(PRIVATE).writes(["messages", "structured", "turn"]);
    let model = graph.node("model", model);
    let after_model = reserved(&mut graph, middlewares, When::AfterModel);
    let tools = parts.tools.map(|tools| graph.node("tools", node(tools).reads(PRIVATE)));
    let after_agent = reserved(&mut graph, middlewares, When::AfterAgent);
    let nodes = Nodes { before_agent, before_model, model, after_model, tools, after_agent };
    let places = nodes.places();
    connect(&mut graph, &nodes, &places, is_corrected, parts.has_direct);
    for place in nodes.hooks() {
        define(&mut graph, place, &places, &listed)?;
    }
    graph.input(["messages"]).recursion_limit(parts.supersteps);
    if let Some(checkpointer) = parts.checkpointer {
        graph.checkpointer(checkpointer);
    }
    if let Some(store) = parts.store {
        graph.store(store);
    }
    graph.compile()
}

impl Nodes {
    fn places(&self) -> Places {
        Places {
            entry: self.before_model.first().map_or(self.model, |place| place.handle).into(),
            tools: self.tools.map(Into::into),
            exit: self.after_agent.first().map_or(END, |place| place.handle.into()),
        }
    }

    fn hooks(&self) -> impl Iterator<Item = &HookPlace> {
        let before = self.before_agent.iter().chain(&self.before_model);
        before.chain(&self.after_model).chain(&self.after_agent)
    }
}

fn connect<C: Send + Sync + 'static>(
    graph: &mut Graph<AgentState, C>,
    nodes: &Nodes,
    places: &Places,
    is_corrected: bool,
    has_direct: bool,
) {
    graph.sequence(std::iter::once(START).chain(ends(&nodes.before_agent)).chain([places.entry.clone()]));
    graph.sequence(ends(&nodes.before_model).chain([nodes.model.into()]));
    graph.sequence(std::iter::once(nodes.model.into()).chain(ends(&nodes.after_model)));
    // The model is asked again without tools in between where it can be told something after it has answered.
    let repeats = is_corrected || !nodes.after_model.is_empty();
    let again = Some(places.entry.clone()).filter(|_| repeats);
    let ways: Vec<Endpoint> = places.tools.iter().cloned().chain(again).chain([places.exit.clone()]).collect();
    let last = nodes.after_model.last().map_or(nodes.model, |place| place.handle);
    let known = places.clone();
    graph.route(last, move |state: &AgentState| route::after_model(state, &known), ways);
    if let Some(tools) = nodes.tools {
        let known = places.clone();
        match has_direct {
            true => graph.route(
                tools,
                move |state: &AgentState| route::after_tools(state, &known),
                vec![places.entry.clone(), places.exit.clone()],
            ),
            false => graph.edge(tools, places.entry.clone()),
        };
    }
    graph.sequence(ends(&nodes.after_agent).chain(nodes.after_agent.first().map(|_| END)));
}

fn ends(places: &[HookPlace]) -> impl Iterator<Item = Endpoint> {
    places.iter().map(|place| place.handle.into())
}

/// The hooks of that time, in the order in which they are called.
fn reserved<C: Send + Sync + 'static>(
    graph: &mut Graph<AgentState, C>,
    middlewares: &[Arc<dyn Erased>],
    when: When,
) -> Vec<HookPlace> {
    let have = middlewares.iter().filter(|middleware| when.is_in(&middleware.hooks())).cloned();
    let ordered: Vec<_> = match when {
        When::BeforeAgent | When::BeforeModel => have.collect(),
        When::AfterModel | When::AfterAgent => have.rev().collect(),
    };
    let place = |middleware: Arc<dyn Erased>| {
        let handle = graph.reserve(&format!("{}.{}", middleware.name(), when.name()));
        HookPlace { middleware, when, handle }
    };
    ordered.into_iter().map(place).collect()
}

fn define<C: Send + Sync + 'static>(
    graph: &mut Graph<AgentState, C>,
    place: &HookPlace,
    places: &Places,
    listed: &Tools,
) -> Result<()> {
    let HookPlace { middleware, when, handle } = place;
    let mut jumps = Vec::new();
    for jump in middleware.hooks().jumps {
        let Some(end) = places.at(jump) else {
            let fact = format!("`{}` may jump to the tools, and the agent has none", middleware.name());
            return Err(Error::new(Code::InvalidGraph, fact));
        };
        jumps.push((jump, end));
    }
    let goto: Vec<Endpoint> = jumps.iter().map(|(_, end)| end.clone()).collect();
    let (middleware, name) = (middleware.clone(), middleware.name().into());
    let action = HookNode { middleware, when: *when, name, jumps, tools: listed.clone() };
    let action = node(action).reads(PRIVATE).writes(["messages", "rooms", "structured"]);
    match goto.is_empty() {
        true => graph.define(*handle, action),
        false => graph.define(*handle, action.goto(goto)),
    }
    Ok(())
}

impl Places {
    fn at(&self, jump: Jump) -> Option<Endpoint> {
        match jump {
            Jump::Model => Some(self.entry.clone()),
            Jump::Tools => self.tools.clone(),
            Jump::End => Some(self.exit.clone()),
        }
    }
}

/// Calls one hook.
struct HookNode {
    middleware: Arc<dyn Erased>,
    when: When,
    name: Arc<str>,
    /// Where it may jump, by place.
    jumps: Vec<(Jump, Endpoint)>,
    tools: Tools,
}

impl<C> Node<AgentState, C> for HookNode {
    type Output = Command<AgentState>;

    async fn run(&self, cx: Cx) -> Result<Command<AgentState>, NodeError> {
        let state: View<AgentState> = FromTask::<AgentState, C>::from_task(&cx)?;
        // A hook may end the agent before the model is asked; what was answered before is no answer to this.
        let is_stale = state.structured.is_some() && Turn::of(&state) != state.turn;
        let hook = Hook { state, cx, name: self.name.clone(), tools: self.tools.clone() };
        let Effect { messages, kept, jump } = self.middleware.hook(self.when, hook).await?;
        let mut update = AgentState::update();
        if is_stale {
            update = update.structured(None);
        }
        if !messages.0.is_empty() {
            update = update.messages(Effect::marked(messages, &self.name));
        }
        if let Some(kept) = kept {
            update = update.rooms((self.name.to_string(), kept));
        }
        let command = match jump {
            Some(jump) => Command::goto(self.end_of(jump)?),
            None => Command::new(),
        };
        Ok(command.update(update))
    }
}

impl HookNode {
    fn end_of(&self, jump: Jump) -> Result<Endpoint> {
        let known = self.jumps.iter().find(|(known, _)| *known == jump);
        known.map(|(_, end)| end.clone()).ok_or_else(|| {
            let fact = format!("`{}` jumps to `{jump:?}`, and did not say that it may", self.name);
            Error::new(Code::InvalidRoute, fact).help("name it in its hooks: `Hooks::none()…may_jump([..])`")
        })
    }
}
