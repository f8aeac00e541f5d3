//! Builds the graph of an agent: the loop, and one node per hook that a middleware has.

use std::sync::Arc;

use super::hooks::{HookContext, HookUpdate, JumpTo};
use super::middleware::{DynMiddleware, HookPoint};
use super::model_node::AgentModelNode;
use super::routing::{self, LoopEndpoints};
use super::state::{AgentState, PRIVATE, TurnCounters};
use crate::core::port::SharedCheckpointer;
use crate::node;
use crate::tools::{ToolNode, ToolSet};
use crate::{
    Command, CompiledGraph, END, Endpoint, Error, ErrorCode, FromTask, Node, NodeError, NodeHandle, Result, START,
    SharedStore, StateGraph, TaskContext, View,
};

/// Parts from which the graph of an agent is built.
pub(super) struct AgentParts {
    pub(super) name: String,
    pub(super) model: AgentModelNode,
    pub(super) tools: Option<ToolNode>,
    pub(super) middlewares: Vec<Arc<dyn DynMiddleware>>,
    pub(super) checkpointer: Option<SharedCheckpointer>,
    pub(super) store: Option<SharedStore>,
    pub(super) recursion_limit: u32,
    /// True if tool results may be the response of the agent.
    pub(super) has_return_direct: bool,
}

/// A hook of a middleware, with its node.
struct HookEntry {
    middleware: Arc<dyn DynMiddleware>,
    point: HookPoint,
    handle: NodeHandle,
}

/// Nodes of the agent loop.
struct AgentNodes {
    before_agent: Vec<HookEntry>,
    before_model: Vec<HookEntry>,
    model: NodeHandle,
    after_model: Vec<HookEntry>,
    tools: Option<NodeHandle>,
    after_agent: Vec<HookEntry>,
}

/// Builds and compiles the graph.
pub(super) fn compile<C: Send + Sync + 'static>(parts: AgentParts) -> Result<CompiledGraph<AgentState, C>> {
    let mut graph = StateGraph::<AgentState, C>::new(&parts.name);
    let middlewares = &parts.middlewares;
    let tool_set = parts.model.tools.clone();
    let is_corrected = parts.model.structured.is_some();
    let before_agent = reserve_hook_nodes(&mut graph, middlewares, HookPoint::BeforeAgent);
    let before_model = reserve_hook_nodes(&mut graph, middlewares, HookPoint::BeforeModel);
    let model = node(parts.model).reads(PRIVATE).writes(["messages", "structured", "turn"]);
    let model = graph.add_node("model", model);
    let after_model = reserve_hook_nodes(&mut graph, middlewares, HookPoint::AfterModel);
    let tools = parts.tools.map(|tools| graph.add_node("tools", node(tools).reads(PRIVATE)));
    let after_agent = reserve_hook_nodes(&mut graph, middlewares, HookPoint::AfterAgent);
    let nodes = AgentNodes { before_agent, before_model, model, after_model, tools, after_agent };
    let endpoints = nodes.endpoints();
    connect(&mut graph, &nodes, &endpoints, is_corrected, parts.has_return_direct);
    for hook in nodes.hooks() {
        define(&mut graph, hook, &endpoints, &tool_set)?;
    }
    graph.input_fields(["messages"]).recursion_limit(parts.recursion_limit);
    if let Some(checkpointer) = parts.checkpointer {
        graph.checkpointer(checkpointer);
    }
    if let Some(store) = parts.store {
        graph.store(store);
    }
    graph.compile()
}

impl AgentNodes {
    fn endpoints(&self) -> LoopEndpoints {
        LoopEndpoints {
            entry: self.before_model.first().map_or(self.model, |hook| hook.handle).into(),
            tools: self.tools.map(Into::into),
            exit: self.after_agent.first().map_or(END, |hook| hook.handle.into()),
        }
    }

    fn hooks(&self) -> impl Iterator<Item = &HookEntry> {
        let before = self.before_agent.iter().chain(&self.before_model);
        before.chain(&self.after_model).chain(&self.after_agent)
    }
}

fn connect<C: Send + Sync + 'static>(
    graph: &mut StateGraph<AgentState, C>,
    nodes: &AgentNodes,
    endpoints: &LoopEndpoints,
    is_corrected: bool,
    has_direct: bool,
) {
    graph.add_sequence(
        std::iter::once(START).chain(hook_endpoints(&nodes.before_agent)).chain([endpoints.entry.clone()]),
    );
    graph.add_sequence(hook_endpoints(&nodes.before_model).chain([nodes.model.into()]));
    graph.add_sequence(std::iter::once(nodes.model.into()).chain(hook_endpoints(&nodes.after_model)));
    // After the model has responded, a correction or a hook may add a message; then the model is called again without
    // running tools in between.
    let repeats = is_corrected || !nodes.after_model.is_empty();
    let loop_entry = Some(endpoints.entry.clone()).filter(|_| repeats);
    let targets: Vec<Endpoint> =
        endpoints.tools.iter().cloned().chain(loop_entry).chain([endpoints.exit.clone()]).collect();
    let last = nodes.after_model.last().map_or(nodes.model, |hook| hook.handle);
    let loop_endpoints = endpoints.clone();
    graph.add_conditional_edges(last, move |state: &AgentState| routing::after_model(state, &loop_endpoints), targets);
    if let Some(tools) = nodes.tools {
        let loop_endpoints = endpoints.clone();
        match has_direct {
            true => graph.add_conditional_edges(
                tools,
                move |state: &AgentState| routing::after_tools(state, &loop_endpoints),
                vec![endpoints.entry.clone(), endpoints.exit.clone()],
            ),
            false => graph.add_edge(tools, endpoints.entry.clone()),
        };
    }
    graph.add_sequence(hook_endpoints(&nodes.after_agent).chain(nodes.after_agent.first().map(|_| END)));
}

fn hook_endpoints(hooks: &[HookEntry]) -> impl Iterator<Item = Endpoint> {
    hooks.iter().map(|hook| hook.handle.into())
}

/// Reserves the nodes of the hooks that run at `point`, in call order.
fn reserve_hook_nodes<C: Send + Sync + 'static>(
    graph: &mut StateGraph<AgentState, C>,
    middlewares: &[Arc<dyn DynMiddleware>],
    point: HookPoint,
) -> Vec<HookEntry> {
    let enabled = middlewares.iter().filter(|middleware| point.is_enabled(&middleware.hooks())).cloned();
    let ordered: Vec<_> = match point {
        HookPoint::BeforeAgent | HookPoint::BeforeModel => enabled.collect(),
        HookPoint::AfterModel | HookPoint::AfterAgent => enabled.rev().collect(),
    };
    let reserve = |middleware: Arc<dyn DynMiddleware>| {
        let handle = graph.reserve_node(&format!("{}.{}", middleware.name(), point.name()));
        HookEntry { middleware, point, handle }
    };
    ordered.into_iter().map(reserve).collect()
}

fn define<C: Send + Sync + 'static>(
    graph: &mut StateGraph<AgentState, C>,
    hook: &HookEntry,
    endpoints: &LoopEndpoints,
    tool_set: &ToolSet,
) -> Result<()> {
    let HookEntry { middleware, point, handle } = hook;
    let mut jumps = Vec::new();
    for jump in middleware.hooks().jumps {
        let Some(target) = endpoints.jump_target(jump) else {
            let fact =
                format!("middleware `{}` declares a jump to the tools, but the agent has no tools", middleware.name());
            return Err(Error::new(ErrorCode::InvalidGraph, fact));
        };
        jumps.push((jump, target));
    }
    let goto: Vec<Endpoint> = jumps.iter().map(|(_, target)| target.clone()).collect();
    let (middleware, name) = (middleware.clone(), middleware.name().into());
    let action = HookNode { middleware, point: *point, name, jumps, tools: tool_set.clone() };
    let action = node(action).reads(PRIVATE).writes(["messages", "rooms", "structured"]);
    match goto.is_empty() {
        true => graph.define_node(*handle, action),
        false => graph.define_node(*handle, action.goto_targets(goto)),
    }
    Ok(())
}

impl LoopEndpoints {
    fn jump_target(&self, jump: JumpTo) -> Option<Endpoint> {
        match jump {
            JumpTo::Model => Some(self.entry.clone()),
            JumpTo::Tools => self.tools.clone(),
            JumpTo::End => Some(self.exit.clone()),
        }
    }
}

/// A node that calls one hook.
struct HookNode {
    middleware: Arc<dyn DynMiddleware>,
    point: HookPoint,
    name: Arc<str>,
    /// Jump targets with their nodes.
    jumps: Vec<(JumpTo, Endpoint)>,
    tools: ToolSet,
}

impl<C> Node<AgentState, C> for HookNode {
    type Output = Command<AgentState>;

    async fn run(&self, cx: TaskContext) -> Result<Command<AgentState>, NodeError> {
        let state: View<AgentState> = FromTask::<AgentState, C>::from_task(&cx)?;
        // A hook may end the agent before the model is called; a structured response of an earlier turn must not
        // remain as the response of this turn.
        let is_stale = state.structured_response.is_some() && TurnCounters::from_state(&state) != state.turn;
        let hook = HookContext { state, task: cx, name: self.name.clone(), tools: self.tools.clone() };
        let HookUpdate { messages, middleware_state: new_state, jump } = self.middleware.hook(self.point, hook).await?;
        let mut update = AgentState::update();
        if is_stale {
            update = update.structured_response(None);
        }
        if !messages.0.is_empty() {
            update = update.messages(HookUpdate::mark_added(messages, &self.name));
        }
        if let Some(new_state) = new_state {
            update = update.middleware_state((self.name.to_string(), new_state));
        }
        let command = match jump {
            Some(jump) => Command::goto(self.jump_target(jump)?),
            None => Command::new(),
        };
        Ok(command.update(update))
    }
}

impl HookNode {
    fn jump_target(&self, jump: JumpTo) -> Result<Endpoint> {
        let allowed = self.jumps.iter().find(|(allowed, _)| *allowed == jump);
        allowed.map(|(_, target)| target.clone()).ok_or_else(|| {
            let fact = format!("middleware `{}` returned the undeclared jump `{jump:?}`", self.name);
            Error::new(ErrorCode::InvalidRoute, fact)
                .with_help("declare it in its hooks: `Hooks::none()…can_jump_to([..])`")
        })
    }
}
