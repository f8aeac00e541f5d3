//! The graphs of the simulation: small graphs that use every feature that the engine persists.
//!
//! Built once for each worker and each concurrent process. Their nodes are in `nodes`.

use superstep::prelude::*;
use superstep::{CompiledGraph, SubgraphPersistence};

use crate::process::Process;
use crate::state::{SimState, SubgraphState};

mod nodes;

use nodes::*;

/// A graph of the simulation.
pub(crate) type SimGraph = CompiledGraph<SimState, Process>;

macro_rules! graph_kinds {
    ($($name:ident = $build:ident;)*) => {
        /// Kind of graph.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum GraphKind { $($name,)* }

        impl GraphKind {
            /// All kinds of graphs.
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            /// Builds and compiles the graph.
            pub(crate) fn compile(self) -> superstep::Result<SimGraph> {
                let mut graph = StateGraph::new("sim");
                match self { $(Self::$name => $build(&mut graph)?,)* }
                graph.compile()
            }
        }
    };
}

graph_kinds! {
    Chain = chain;
    FanOut = fan_out;
    Sends = sends;
    Deferred = deferred;
    Interrupt = interrupt;
    ConsecutiveInterrupts = consecutive_interrupts;
    Parallel = parallel;
    Subgraph = subgraph;
    PersistentSubgraph = persistent_subgraph;
    Once = once;
    Retry = retry;
    Wait = wait;
}

type SimGraphBuilder = StateGraph<SimState, Process>;
type BuildResult = superstep::Result<()>;

/// Loop of a, then b or c, then d.
fn chain(graph: &mut SimGraphBuilder) -> BuildResult {
    let a = graph.add_node("a", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        writes(state, process, cx, 1)
    });
    let b = graph.add_node("b", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        plain(state, process, cx, 2)
    });
    let c = graph.add_node("c", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        plain(state, process, cx, 3)
    });
    let d = graph.add_node("d", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        turns(state, process, cx, 4)
    });
    graph.add_edge(START, a).add_edge(b, d).add_edge(c, d);
    graph.add_conditional_edges(
        a,
        move |state: &SimState| if state.round.is_multiple_of(2) { Goto::node(b) } else { Goto::node(c) },
        [b, c],
    );
    graph.add_conditional_edges(
        d,
        move |state: &SimState| if state.round < state.rounds { Goto::node(a) } else { Goto::end() },
        [a.into(), END],
    );
    Ok(())
}

/// One node, then four parallel nodes, then one.
fn fan_out(graph: &mut SimGraphBuilder) -> BuildResult {
    let split = graph.add_node("split", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        plain(state, process, cx, 1)
    });
    let first = graph.add_node("first", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        writes(state, process, cx, 2)
    });
    let others = [(3, "second"), (4, "third"), (5, "fourth")].map(|(number, name)| {
        graph.add_node(name, move |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
            plain(state, process, cx, number)
        })
    });
    let gather = graph.add_node("gather", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        writes(state, process, cx, 6)
    });
    graph.add_edge(START, split).add_edge(split, first).add_join([first, others[0], others[1], others[2]], gather);
    for other in others {
        graph.add_edge(split, other);
    }
    graph.add_edge(gather, END);
    Ok(())
}

/// A task for each of twelve or more items.
fn sends(graph: &mut SimGraphBuilder) -> BuildResult {
    let plan = graph.add_node("plan", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        writes(state, process, cx, 1)
    });
    let item = graph.add_node("item", takes_item);
    let gather = graph.add_node("gather", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        writes(state, process, cx, 3)
    });
    graph.add_edge(START, plan).add_edge(item, gather).add_edge(gather, END);
    graph.add_conditional_edges(
        plan,
        move |state: &SimState| (1..=state.width).map(|at| SendTo::new(item, at)).collect::<Vec<_>>(),
        [item],
    );
    Ok(())
}

/// A deferred node.
fn deferred(graph: &mut SimGraphBuilder) -> BuildResult {
    let a = graph.add_node("a", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        plain(state, process, cx, 1)
    });
    let b = graph.add_node("b", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        plain(state, process, cx, 2)
    });
    let c = graph.add_node("c", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        writes(state, process, cx, 3)
    });
    let after_b = graph.add_node("after b", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        plain(state, process, cx, 4)
    });
    let last = |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| writes(state, process, cx, 5);
    let last = graph.add_node("last", node(last).defer());
    graph
        .add_edge(START, a)
        .add_edge(a, b)
        .add_edge(a, c)
        .add_edge(b, after_b)
        .add_edge(after_b, last)
        .add_edge(c, last)
        .add_edge(last, END);
    Ok(())
}

/// An interrupt between two nodes.
fn interrupt(graph: &mut SimGraphBuilder) -> BuildResult {
    let a = graph.add_node("a", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        plain(state, process, cx, 1)
    });
    let interrupt = graph.add_node("ask", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        raises(state, process, cx, 2, &["q1"])
    });
    let b = graph.add_node("b", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        writes(state, process, cx, 3)
    });
    graph.add_sequence([START, a.into(), interrupt.into(), b.into(), END]);
    Ok(())
}

/// Two consecutive interrupts in one node, two concurrent ones in the next.
fn consecutive_interrupts(graph: &mut SimGraphBuilder) -> BuildResult {
    let raise = |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        raises(state, process, cx, 1, &["q1", "q2"])
    };
    let interrupt = graph.add_node("ask", raise);
    let both = graph.add_node("both", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        raises_two(state, process, cx, 2)
    });
    graph.add_sequence([START, interrupt.into(), both.into(), END]);
    Ok(())
}

/// Two nodes with interrupts parallel to one without.
fn parallel(graph: &mut SimGraphBuilder) -> BuildResult {
    let left = graph.add_node("left", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        raises(state, process, cx, 1, &["q1"])
    });
    let right = graph.add_node("right", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        raises(state, process, cx, 2, &["q2"])
    });
    let other = graph.add_node("other", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        writes(state, process, cx, 3)
    });
    let gather = graph.add_node("gather", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        plain(state, process, cx, 4)
    });
    graph.add_edge(START, left).add_edge(START, right).add_edge(START, other).add_join([left, right, other], gather);
    graph.add_edge(gather, END);
    Ok(())
}

/// A subgraph with an interrupt.
fn subgraph(graph: &mut SimGraphBuilder) -> BuildResult {
    let mut subgraph = StateGraph::<SubgraphState, Process>::new("inside");
    let x = subgraph.add_node("x", |state: View<SubgraphState>, process: RunContext<Process>, cx: TaskContext| {
        subgraph_plain(state, process, cx, 11)
    });
    let interrupt =
        subgraph.add_node("ask", |state: View<SubgraphState>, process: RunContext<Process>, cx: TaskContext| {
            subgraph_interrupts(state, process, cx, 12)
        });
    let y = subgraph.add_node("y", |state: View<SubgraphState>, process: RunContext<Process>, cx: TaskContext| {
        subgraph_plain(state, process, cx, 13)
    });
    subgraph.add_sequence([START, x.into(), interrupt.into(), y.into(), END]);
    let a = graph.add_node("a", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        plain(state, process, cx, 1)
    });
    let subgraph_node = graph.add_node("inside", subgraph.compile()?);
    let b = graph.add_node("b", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        writes(state, process, cx, 2)
    });
    graph.add_sequence([START, a.into(), subgraph_node.into(), b.into(), END]);
    Ok(())
}

/// A subgraph that keeps its state between calls.
fn persistent_subgraph(graph: &mut SimGraphBuilder) -> BuildResult {
    let mut subgraph = StateGraph::<SubgraphState, Process>::new("persistent");
    let p = subgraph.add_node("p", |state: View<SubgraphState>, process: RunContext<Process>, cx: TaskContext| {
        subgraph_plain(state, process, cx, 11)
    });
    let q = subgraph.add_node("q", |state: View<SubgraphState>, process: RunContext<Process>, cx: TaskContext| {
        subgraph_plain(state, process, cx, 12)
    });
    subgraph.add_sequence([START, p.into(), q.into(), END]).subgraph_persistence(SubgraphPersistence::PerThread);
    let subgraph_node = graph.add_node("persistent", subgraph.compile()?);
    let b = graph.add_node("b", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        turns(state, process, cx, 1)
    });
    graph.add_edge(START, subgraph_node).add_edge(subgraph_node, b);
    let next_round =
        move |state: &SimState| if state.round < state.rounds { Goto::node(subgraph_node) } else { Goto::end() };
    graph.add_conditional_edges(b, next_round, [subgraph_node.into(), END]);
    Ok(())
}

/// Recorded results before and after an interrupt, parallel to another node.
fn once(graph: &mut SimGraphBuilder) -> BuildResult {
    let pay = graph.add_node("pay", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        records(state, process, cx, 1)
    });
    let other = graph.add_node("other", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        writes(state, process, cx, 2)
    });
    let gather = graph.add_node("gather", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        plain(state, process, cx, 3)
    });
    graph.add_edge(START, pay).add_edge(START, other).add_join([pay, other], gather).add_edge(gather, END);
    Ok(())
}

/// A retried node parallel to one that fails permanently and has an error handler.
fn retry(graph: &mut SimGraphBuilder) -> BuildResult {
    let wait = std::time::Duration::from_millis(5);
    let flaky = |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| flaky(state, process, cx, 1);
    let flaky = graph.add_node("flaky", node(flaky).retry(RetryPolicy::exponential(3).initial_interval(wait)));
    let broken = |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| broken(state, process, cx, 2);
    let rescue = |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| plain(state, process, cx, 2);
    let broken = graph.add_node("broken", node(broken).error_handler(rescue));
    let gather = graph.add_node("gather", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        writes(state, process, cx, 3)
    });
    graph.add_edge(START, flaky).add_edge(START, broken).add_join([flaky, broken], gather).add_edge(gather, END);
    Ok(())
}

/// Two nodes that wait for the clock, then a third one.
fn wait(graph: &mut SimGraphBuilder) -> BuildResult {
    let long = graph.add_node("long", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        waits(state, process, cx, (1, 50))
    });
    let short = graph.add_node("short", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        waits(state, process, cx, (2, 20))
    });
    let after = graph.add_node("after", |state: View<SimState>, process: RunContext<Process>, cx: TaskContext| {
        waits(state, process, cx, (3, 10))
    });
    graph.add_edge(START, long).add_edge(START, short).add_join([long, short], after).add_edge(after, END);
    Ok(())
}
