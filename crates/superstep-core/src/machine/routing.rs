//! Routing of finished tasks: evaluates conditional edges, resolves names to nodes, rejects undeclared targets.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::Machine;
use crate::checkpoint::TriggerKind;
use crate::command::{Goto, GotoTarget};
use crate::error::{Error, ErrorCode, Result};
use crate::field::AnyState;
use crate::graph::{ConditionalEdge, Endpoint, ResolvedTarget, START_NAME};
use crate::id::NodeId;
use crate::schedule::{NextTask, Routing, SendInput};
use crate::suggest::did_you_mean;

/// The origin of a target: node, trigger and declared targets.
#[derive(Clone, Copy)]
pub(super) struct RouteOrigin<'a> {
    pub(super) node: Option<NodeId>,
    pub(super) name: &'a str,
    pub(super) trigger: TriggerKind,
    pub(super) allowed: Option<&'a [(ResolvedTarget, Option<String>)]>,
}

impl Machine {
    /// Evaluates one conditional edge.
    pub(super) fn evaluate_route(
        &self,
        node: Option<NodeId>,
        route: &ConditionalEdge,
        state: &AnyState,
        routing: &mut Routing,
    ) -> Result<()> {
        let name = node.map_or(START_NAME, |node| &self.graph.node(node).name);
        let result = catch_unwind(AssertUnwindSafe(|| (route.decide)(state))).unwrap_or_else(|panic| {
            Err(crate::validation_error::ValidationError::new(format!(
                "the conditional edge panicked: {}",
                crate::error::panic_message(&*panic)
            ))
            .with_code(ErrorCode::NodeFailed))
        });
        let goto = result.map_err(|cause| {
            let error = Error::new(
                cause.code.unwrap_or(ErrorCode::InvalidRoute),
                format!("conditional edge of `{name}`: {}", cause.message),
            );
            cause.help.into_iter().fold(error, Error::with_help)
        })?;
        if goto.is_empty() && route.targets.is_some() {
            return Err(Error::new(
                ErrorCode::InvalidRoute,
                format!("a conditional edge of `{name}` returned no target"),
            )
            .with_help("return `Goto::end()` to end this branch"));
        }
        let origin = RouteOrigin { node, name, trigger: TriggerKind::Route, allowed: route.targets.as_deref() };
        self.add_targets(&origin, goto, routing)
    }

    /// Adds the targets of a goto to the routing of a task.
    pub(super) fn add_targets(&self, origin: &RouteOrigin<'_>, goto: Goto, routing: &mut Routing) -> Result<()> {
        let RouteOrigin { node, name, trigger, allowed } = *origin;
        for goto_target in goto {
            let (endpoint, send) = match goto_target {
                GotoTarget::Node(endpoint) => (endpoint, None),
                GotoTarget::Send(send) => {
                    let input = SendInput { index: 0, payload: send.payload, timeout: send.timeout };
                    (send.node, Some(Arc::new(input)))
                }
            };
            let target = match (self.target(name, &endpoint), allowed) {
                (Ok(target), Some(allowed)) if !allowed.iter().any(|(declared, _)| *declared == target) => {
                    return Err(self.undeclared_target(name, &endpoint, allowed));
                }
                (Err(_), Some(allowed)) => return Err(self.undeclared_target(name, &endpoint, allowed)),
                (target, _) => target?,
            };
            match (target, send) {
                (ResolvedTarget::End, None) => {}
                (ResolvedTarget::End, Some(_)) => {
                    return Err(Error::new(ErrorCode::InvalidRoute, format!("`{name}` sends a task to `END`")));
                }
                (ResolvedTarget::Node(id), None) => routing.targets.push(NextTask::new(id, trigger, node)),
                (ResolvedTarget::Node(id), send) => {
                    routing.targets.push(NextTask { send, ..NextTask::new(id, TriggerKind::Send, node) })
                }
            }
        }
        Ok(())
    }

    fn target(&self, from: &str, endpoint: &Endpoint) -> Result<ResolvedTarget> {
        match &endpoint.resolve_handle(self.graph.graph_tag) {
            Endpoint::End => Ok(ResolvedTarget::End),
            Endpoint::Start => Err(Error::new(ErrorCode::InvalidRoute, format!("`{from}` has `START` as a target"))),
            Endpoint::Node(id) if id.index() < self.graph.nodes.len() => Ok(ResolvedTarget::Node(*id)),
            Endpoint::Node(_) | Endpoint::Handle { .. } => {
                Err(Error::new(ErrorCode::InvalidRoute, format!("`{from}` has a target node of another graph")))
            }
            Endpoint::Name(name) => self.graph.find_node(name).map(ResolvedTarget::Node).ok_or_else(|| {
                let names: Vec<String> = self.graph.names().map(|name| format!("`{name}`")).collect();
                let node_list = format!("the nodes are {}", names.join(", "));
                let help = match did_you_mean(name, self.graph.names()) {
                    Some(suggestion) => format!("{suggestion} {node_list}"),
                    None => node_list,
                };
                Error::new(ErrorCode::InvalidRoute, format!("`{from}` has the target `{name}`, which is not a node"))
                    .with_help(help)
            }),
        }
    }

    fn undeclared_target(
        &self,
        name: &str,
        endpoint: &Endpoint,
        allowed: &[(ResolvedTarget, Option<String>)],
    ) -> Error {
        let describe = |target: &ResolvedTarget| match target {
            ResolvedTarget::Node(id) => format!("`{}`", self.graph.node(*id).name),
            ResolvedTarget::End => "`END`".to_owned(),
        };
        let returned = match &endpoint.resolve_handle(self.graph.graph_tag) {
            Endpoint::Node(id) => {
                self.graph.nodes.get(id.index()).map_or("a node of another graph", |node| &node.name).to_owned()
            }
            other => other.to_string(),
        };
        let allowed: Vec<String> = allowed.iter().map(|(target, _)| describe(target)).collect();
        Error::new(
            ErrorCode::InvalidRoute,
            format!("a conditional edge of `{name}` returned `{returned}`; declared targets: {}", allowed.join(", ")),
        )
        .with_help("declare the target on the conditional edge, or return a declared one")
    }
}
