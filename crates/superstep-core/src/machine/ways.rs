//! Where tasks lead: routes decide, names become nodes, what leads nowhere is refused.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::Machine;
use crate::advance::{Due, Leads, SendInput};
use crate::checkpoint::WhyKind;
use crate::command::{Go, Hop};
use crate::error::{Code, Error, Result};
use crate::field::AnyState;
use crate::graph::{Endpoint, Route, START_NAME, Target};
use crate::id::NodeId;
use crate::suggest::did_you_mean;

/// Who leads on, why, and where it may lead.
#[derive(Clone, Copy)]
pub(super) struct Leading<'a> {
    pub(super) node: Option<NodeId>,
    pub(super) name: &'a str,
    pub(super) why: WhyKind,
    pub(super) allowed: Option<&'a [(Target, Option<String>)]>,
}

impl Machine {
    /// Asks one route where to go on.
    pub(super) fn decide(
        &self,
        node: Option<NodeId>,
        route: &Route,
        state: &AnyState,
        leads: &mut Leads,
    ) -> Result<()> {
        let name = node.map_or(START_NAME, |node| &self.graph.node(node).name);
        let decided = catch_unwind(AssertUnwindSafe(|| (route.decide)(state))).unwrap_or_else(|panic| {
            Err(crate::fault::Fault::new(format!("the route panicked: {}", crate::error::panic_text(&*panic)))
                .of(Code::NodeFailed))
        });
        let go = decided.map_err(|fault| {
            let error =
                Error::new(fault.code.unwrap_or(Code::InvalidRoute), format!("a route of `{name}`: {}", fault.message));
            fault.help.into_iter().fold(error, Error::help)
        })?;
        if go.is_empty() && route.targets.is_some() {
            return Err(Error::new(Code::InvalidRoute, format!("a route of `{name}` returned nothing"))
                .help("return `Go::end()` to end this branch"));
        }
        let leading = Leading { node, name, why: WhyKind::Route, allowed: route.targets.as_deref() };
        self.add_ways(&leading, go, leads)
    }

    /// Adds where `go` leads to what a task leads to.
    pub(super) fn add_ways(&self, leading: &Leading<'_>, go: Go, leads: &mut Leads) -> Result<()> {
        let Leading { node, name, why, allowed } = *leading;
        for hop in go {
            let (endpoint, send) = match hop {
                Hop::To(endpoint) => (endpoint, None),
                Hop::Send(send) => {
                    let input = SendInput { index: 0, payload: send.payload, timeout: send.timeout };
                    (send.node, Some(Arc::new(input)))
                }
            };
            let target = match (self.target(name, &endpoint), allowed) {
                (Ok(target), Some(allowed)) if !allowed.iter().any(|(known, _)| *known == target) => {
                    return Err(self.not_allowed(name, &endpoint, allowed));
                }
                (Err(_), Some(allowed)) => return Err(self.not_allowed(name, &endpoint, allowed)),
                (target, _) => target?,
            };
            match (target, send) {
                (Target::End, None) => {}
                (Target::End, Some(_)) => {
                    return Err(Error::new(Code::InvalidRoute, format!("`{name}` sends a task to the end")));
                }
                (Target::Node(id), None) => leads.ways.push(Due::new(id, why, node)),
                (Target::Node(id), send) => leads.ways.push(Due { send, ..Due::new(id, WhyKind::Send, node) }),
            }
        }
        Ok(())
    }

    fn target(&self, from: &str, endpoint: &Endpoint) -> Result<Target> {
        match &endpoint.local(self.graph.tag) {
            Endpoint::End => Ok(Target::End),
            Endpoint::Start => Err(Error::new(Code::InvalidRoute, format!("`{from}` leads to the start"))),
            Endpoint::Node(id) if id.index() < self.graph.nodes.len() => Ok(Target::Node(*id)),
            Endpoint::Node(_) | Endpoint::Handle { .. } => {
                Err(Error::new(Code::InvalidRoute, format!("`{from}` leads to a node of another graph")))
            }
            Endpoint::Name(name) => self.graph.find(name).map(Target::Node).ok_or_else(|| {
                let names: Vec<String> = self.graph.names().map(|name| format!("`{name}`")).collect();
                let known = format!("the nodes are {}", names.join(", "));
                let help = match did_you_mean(name, self.graph.names()) {
                    Some(near) => format!("{near} {known}"),
                    None => known,
                };
                Error::new(Code::InvalidRoute, format!("`{from}` leads to `{name}`, which is no node")).help(help)
            }),
        }
    }

    fn not_allowed(&self, name: &str, endpoint: &Endpoint, allowed: &[(Target, Option<String>)]) -> Error {
        let show = |target: &Target| match target {
            Target::Node(id) => format!("`{}`", self.graph.node(*id).name),
            Target::End => "the end".to_owned(),
        };
        let returned = match &endpoint.local(self.graph.tag) {
            Endpoint::Node(id) => {
                self.graph.nodes.get(id.index()).map_or("a node of another graph", |node| &node.name).to_owned()
            }
            other => other.to_string(),
        };
        let allowed: Vec<String> = allowed.iter().map(|(target, _)| show(target)).collect();
        Error::new(
            Code::InvalidRoute,
            format!("a route of `{name}` returned `{returned}`, allowed are {}", allowed.join(", ")),
        )
        .help("add the target to the route, or return one of the declared ones")
    }
}
