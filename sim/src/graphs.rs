//! The graphs of the simulation: small drawings that use everything the engine saves.
//!
//! Drawn once for each worker and each process that lives beside others. What their nodes do is in `nodes`.

use superstep::prelude::*;
use superstep::{Compiled, Persistence};

use crate::process::Process;
use crate::work::{Part, Work};

mod nodes;

use nodes::*;

/// A graph of the simulation.
pub(crate) type Flow = Compiled<Work, Process>;

macro_rules! drawings {
    ($($name:ident = $draw:ident;)*) => {
        /// A drawing.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Drawing { $($name,)* }

        impl Drawing {
            /// Every drawing.
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            /// The graph, compiled.
            pub(crate) fn compile(self) -> superstep::Result<Flow> {
                let mut graph = Graph::new("sim");
                match self { $(Self::$name => $draw(&mut graph)?,)* }
                graph.compile()
            }
        }
    };
}

drawings! {
    Chain = chain;
    Fan = fan;
    Sends = sends;
    Deferred = deferred;
    Question = question;
    Questions = questions;
    Parallel = parallel;
    Inner = inner;
    Lodger = lodger;
    Once = once;
    Retry = retry;
    Wait = wait;
}

type Draw = Graph<Work, Process>;
type Drawn = superstep::Result<()>;

/// a, then b or c, then d, and round again.
fn chain(graph: &mut Draw) -> Drawn {
    let a = graph.node("a", |work: View<Work>, process: Ctx<Process>, cx: Cx| writes(work, process, cx, 1));
    let b = graph.node("b", |work: View<Work>, process: Ctx<Process>, cx: Cx| plain(work, process, cx, 2));
    let c = graph.node("c", |work: View<Work>, process: Ctx<Process>, cx: Cx| plain(work, process, cx, 3));
    let d = graph.node("d", |work: View<Work>, process: Ctx<Process>, cx: Cx| turns(work, process, cx, 4));
    graph.edge(START, a).edge(b, d).edge(c, d);
    graph.route(a, move |work: &Work| if work.round.is_multiple_of(2) { Go::to(b) } else { Go::to(c) }, [b, c]);
    graph.route(d, move |work: &Work| if work.round < work.laps { Go::to(a) } else { Go::end() }, [a.into(), END]);
    Ok(())
}

/// One, then four beside each other, then one.
fn fan(graph: &mut Draw) -> Drawn {
    let split = graph.node("split", |work: View<Work>, process: Ctx<Process>, cx: Cx| plain(work, process, cx, 1));
    let first = graph.node("first", |work: View<Work>, process: Ctx<Process>, cx: Cx| writes(work, process, cx, 2));
    let others = [(3, "second"), (4, "third"), (5, "fourth")].map(|(number, name)| {
        graph.node(name, move |work: View<Work>, process: Ctx<Process>, cx: Cx| plain(work, process, cx, number))
    });
    let gather = graph.node("gather", |work: View<Work>, process: Ctx<Process>, cx: Cx| writes(work, process, cx, 6));
    graph.edge(START, split).edge(split, first).join([first, others[0], others[1], others[2]], gather);
    for other in others {
        graph.edge(split, other);
    }
    graph.edge(gather, END);
    Ok(())
}

/// A task for each of twelve or more items.
fn sends(graph: &mut Draw) -> Drawn {
    let plan = graph.node("plan", |work: View<Work>, process: Ctx<Process>, cx: Cx| writes(work, process, cx, 1));
    let item = graph.node("item", takes_item);
    let gather = graph.node("gather", |work: View<Work>, process: Ctx<Process>, cx: Cx| writes(work, process, cx, 3));
    graph.edge(START, plan).edge(item, gather).edge(gather, END);
    graph.route(plan, move |work: &Work| (1..=work.width).map(|at| Send::new(item, at)).collect::<Vec<_>>(), [item]);
    Ok(())
}

/// A node that waits until nothing else is due.
fn deferred(graph: &mut Draw) -> Drawn {
    let a = graph.node("a", |work: View<Work>, process: Ctx<Process>, cx: Cx| plain(work, process, cx, 1));
    let b = graph.node("b", |work: View<Work>, process: Ctx<Process>, cx: Cx| plain(work, process, cx, 2));
    let c = graph.node("c", |work: View<Work>, process: Ctx<Process>, cx: Cx| writes(work, process, cx, 3));
    let after_b = graph.node("after b", |work: View<Work>, process: Ctx<Process>, cx: Cx| plain(work, process, cx, 4));
    let last = |work: View<Work>, process: Ctx<Process>, cx: Cx| writes(work, process, cx, 5);
    let last = graph.node("last", node(last).defer());
    graph.edge(START, a).edge(a, b).edge(a, c).edge(b, after_b).edge(after_b, last).edge(c, last).edge(last, END);
    Ok(())
}

/// A question between two nodes.
fn question(graph: &mut Draw) -> Drawn {
    let a = graph.node("a", |work: View<Work>, process: Ctx<Process>, cx: Cx| plain(work, process, cx, 1));
    let ask = graph.node("ask", |work: View<Work>, process: Ctx<Process>, cx: Cx| asks(work, process, cx, 2, &["q1"]));
    let b = graph.node("b", |work: View<Work>, process: Ctx<Process>, cx: Cx| writes(work, process, cx, 3));
    graph.sequence([START, a.into(), ask.into(), b.into(), END]);
    Ok(())
}

/// Two questions one after the other in one node, two at once in the next.
fn questions(graph: &mut Draw) -> Drawn {
    let ask = |work: View<Work>, process: Ctx<Process>, cx: Cx| asks(work, process, cx, 1, &["q1", "q2"]);
    let ask = graph.node("ask", ask);
    let both = graph.node("both", |work: View<Work>, process: Ctx<Process>, cx: Cx| asks_two(work, process, cx, 2));
    graph.sequence([START, ask.into(), both.into(), END]);
    Ok(())
}

/// Two nodes that ask beside one that does not.
fn parallel(graph: &mut Draw) -> Drawn {
    let left =
        graph.node("left", |work: View<Work>, process: Ctx<Process>, cx: Cx| asks(work, process, cx, 1, &["q1"]));
    let right =
        graph.node("right", |work: View<Work>, process: Ctx<Process>, cx: Cx| asks(work, process, cx, 2, &["q2"]));
    let other = graph.node("other", |work: View<Work>, process: Ctx<Process>, cx: Cx| writes(work, process, cx, 3));
    let gather = graph.node("gather", |work: View<Work>, process: Ctx<Process>, cx: Cx| plain(work, process, cx, 4));
    graph.edge(START, left).edge(START, right).edge(START, other).join([left, right, other], gather);
    graph.edge(gather, END);
    Ok(())
}

/// A graph inside, with a question of its own.
fn inner(graph: &mut Draw) -> Drawn {
    let mut inside = Graph::<Part, Process>::new("inside");
    let x = inside.node("x", |part: View<Part>, process: Ctx<Process>, cx: Cx| part_plain(part, process, cx, 11));
    let ask = inside.node("ask", |part: View<Part>, process: Ctx<Process>, cx: Cx| part_asks(part, process, cx, 12));
    let y = inside.node("y", |part: View<Part>, process: Ctx<Process>, cx: Cx| part_plain(part, process, cx, 13));
    inside.sequence([START, x.into(), ask.into(), y.into(), END]);
    let a = graph.node("a", |work: View<Work>, process: Ctx<Process>, cx: Cx| plain(work, process, cx, 1));
    let inside = graph.node("inside", inside.compile()?);
    let b = graph.node("b", |work: View<Work>, process: Ctx<Process>, cx: Cx| writes(work, process, cx, 2));
    graph.sequence([START, a.into(), inside.into(), b.into(), END]);
    Ok(())
}

/// A graph inside that keeps its state from visit to visit.
fn lodger(graph: &mut Draw) -> Drawn {
    let mut inside = Graph::<Part, Process>::new("lodger");
    let p = inside.node("p", |part: View<Part>, process: Ctx<Process>, cx: Cx| part_plain(part, process, cx, 11));
    let q = inside.node("q", |part: View<Part>, process: Ctx<Process>, cx: Cx| part_plain(part, process, cx, 12));
    inside.sequence([START, p.into(), q.into(), END]).persistence(Persistence::PerThread);
    let inside = graph.node("lodger", inside.compile()?);
    let b = graph.node("b", |work: View<Work>, process: Ctx<Process>, cx: Cx| turns(work, process, cx, 1));
    graph.edge(START, inside).edge(inside, b);
    let again = move |work: &Work| if work.round < work.laps { Go::to(inside) } else { Go::end() };
    graph.route(b, again, [inside.into(), END]);
    Ok(())
}

/// Recorded results around a question, beside another node.
fn once(graph: &mut Draw) -> Drawn {
    let pay = graph.node("pay", |work: View<Work>, process: Ctx<Process>, cx: Cx| records(work, process, cx, 1));
    let other = graph.node("other", |work: View<Work>, process: Ctx<Process>, cx: Cx| writes(work, process, cx, 2));
    let gather = graph.node("gather", |work: View<Work>, process: Ctx<Process>, cx: Cx| plain(work, process, cx, 3));
    graph.edge(START, pay).edge(START, other).join([pay, other], gather).edge(gather, END);
    Ok(())
}

/// A node that is tried again beside one that fails for good and has a handler.
fn retry(graph: &mut Draw) -> Drawn {
    let wait = std::time::Duration::from_millis(5);
    let shaky = |work: View<Work>, process: Ctx<Process>, cx: Cx| shaky(work, process, cx, 1);
    let shaky = graph.node("shaky", node(shaky).retry(Retry::exponential(3).initial_interval(wait)));
    let broken = |work: View<Work>, process: Ctx<Process>, cx: Cx| broken(work, process, cx, 2);
    let rescue = |work: View<Work>, process: Ctx<Process>, cx: Cx| plain(work, process, cx, 2);
    let broken = graph.node("broken", node(broken).on_error(rescue));
    let gather = graph.node("gather", |work: View<Work>, process: Ctx<Process>, cx: Cx| writes(work, process, cx, 3));
    graph.edge(START, shaky).edge(START, broken).join([shaky, broken], gather).edge(gather, END);
    Ok(())
}

/// Two nodes that wait for the clock, then one more.
fn wait(graph: &mut Draw) -> Drawn {
    let long = graph.node("long", |work: View<Work>, process: Ctx<Process>, cx: Cx| waits(work, process, cx, (1, 50)));
    let short =
        graph.node("short", |work: View<Work>, process: Ctx<Process>, cx: Cx| waits(work, process, cx, (2, 20)));
    let after =
        graph.node("after", |work: View<Work>, process: Ctx<Process>, cx: Cx| waits(work, process, cx, (3, 10)));
    graph.edge(START, long).edge(START, short).join([long, short], after).edge(after, END);
    Ok(())
}
