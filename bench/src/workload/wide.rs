//! W3: fifteen fields with large nested values, which are shared and never changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;
use superstep::prelude::*;
use superstep::{CompiledGraph, Outcome};

use super::CheckpointerKind;
use crate::fixture_text::text;
use crate::measure::Report;
use crate::runtime::Runtime;

/// A JSON-like value. Comparing a value with itself is free: the type is `Eq`, so `Arc` compares pointers first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Tree {
    Null,
    Truth(bool),
    Number(i64),
    Text(String),
    List(Vec<Tree>),
    Map(BTreeMap<String, Shared>),
}

type Shared = Arc<Tree>;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Wide {
    #[reduce(append)]
    messages: Vec<Shared>,
    #[reduce(append)]
    events: Vec<Shared>,
    #[reduce(append)]
    labels: Vec<Shared>,
    #[reduce(append)]
    drafts: Vec<Shared>,
    #[reduce(with = unless_empty_text)]
    medium: Arc<str>,
    #[state(last_wins)]
    auto_reply: Option<Shared>,
    #[reduce(with = unless_empty)]
    issue: Option<Shared>,
    #[reduce(with = unless_null)]
    user: Option<Shared>,
    #[reduce(with = unless_null)]
    account: Option<Shared>,
    #[reduce(with = unless_null)]
    thread_ref: Option<Arc<str>>,
    rules: Vec<Shared>,
    docs: Vec<Shared>,
    bot: Arc<str>,
    #[reduce(merge)]
    participants: BTreeMap<String, Shared>,
    #[reduce(merge)]
    assignees: BTreeMap<String, Shared>,
}

fn unless_empty_text(old: &mut Arc<str>, new: Arc<str>) {
    if !new.is_empty() {
        *old = new;
    }
}

fn unless_empty(old: &mut Option<Shared>, new: Option<Shared>) {
    if new.as_deref().is_some_and(|new| !matches!(new, Tree::Map(map) if map.is_empty())) {
        *old = new;
    }
}

fn unless_null<T>(old: &mut Option<T>, new: Option<T>) {
    if new.is_some() {
        *old = new;
    }
}

/// Value of every text field.
type Text = Arc<str>;

async fn one(wide: View<Wide>, text: RunContext<Text>) -> WideUpdate {
    Wide::update().events(wide.messages.clone()).medium(text.clone_text())
}

async fn two(wide: View<Wide>) -> WideUpdate {
    let last = wide.events.last().cloned();
    Wide::update().auto_reply(last.clone()).issue(last)
}

async fn three(wide: View<Wide>) -> WideUpdate {
    Wide::update().rules(Vec::from_iter(wide.auto_reply.clone()))
}

async fn four(wide: View<Wide>) -> WideUpdate {
    Wide::update().labels(wide.events.clone()).drafts(wide.events.clone()).docs(wide.events.clone())
}

async fn five(wide: View<Wide>, text: RunContext<Text>) -> WideUpdate {
    let last = wide.labels.last().cloned();
    Wide::update()
        .user(last.clone())
        .account(last.clone())
        .thread_ref(Some(text.clone_text()))
        .participants(entries(last.as_ref()))
        .bot(text.clone_text())
        .assignees(entries(last.as_ref()))
}

async fn six(wide: View<Wide>) -> WideUpdate {
    Wide::update().messages(wide.drafts.clone())
}

/// Clones the value inside a `RunContext`, which is itself `Clone`.
trait CloneText {
    fn clone_text(&self) -> Text;
}

impl CloneText for RunContext<Text> {
    fn clone_text(&self) -> Text {
        Text::clone(self)
    }
}

fn entries(value: Option<&Shared>) -> BTreeMap<String, Shared> {
    match value.map(|value| &**value) {
        Some(Tree::Map(map)) => map.clone(),
        _ => BTreeMap::new(),
    }
}

fn wide(length: usize) -> CompiledGraph<Wide, Text> {
    let mut graph = StateGraph::<Wide, Text>::new("wide");
    let (one, two, three) = (graph.add_node("one", one), graph.add_node("two", two), graph.add_node("three", three));
    let (four, five, six) = (graph.add_node("four", four), graph.add_node("five", five), graph.add_node("six", six));
    graph
        .add_edge(START, one)
        .add_edge(one, two)
        .add_edge(two, three)
        .add_edge(two, four)
        .add_join([three, four], five)
        .add_edge(five, six);
    let decide = move |wide: &Wide| if wide.messages.len() > length { Goto::end() } else { Goto::node(one) };
    graph.add_conditional_edges(six, decide, [one.into(), END]).recursion_limit(1_000);
    graph.compile().expect("the graph compiles")
}

/// Returns the branching of a message with this number of leaves.
pub(crate) fn branches(leaves: usize) -> Option<(usize, usize)> {
    [(25, (5, 5)), (15, (3, 5)), (9, (3, 3))]
        .into_iter()
        .find_map(|(leaf_count, branches)| (leaf_count == leaves).then_some(branches))
}

fn message((outer, inner): (usize, usize)) -> Shared {
    let items =
        [Tree::Text("hi?".repeat(10)), Tree::Truth(true), Tree::Number(1), Tree::Number(6_327_816_386_138), Tree::Null];
    let leaf = || Arc::new(Tree::List(items.iter().cycle().take(25).cloned().collect()));
    let key = |number: usize| number.to_string().repeat(10);
    let branch = || Arc::new(Tree::Map((0..inner).map(|number| (key(number), leaf())).collect()));
    Arc::new(Tree::Map((0..outer).map(|number| (key(number), branch())).collect()))
}

pub(crate) fn run(id: &str, runtime: &Runtime, (leaves, length): (usize, usize), store: CheckpointerKind) {
    let (graph, text) = (wide(length), Arc::new(Text::from(text(length, 0))));
    let message = message(branches(leaves).unwrap_or((1, 1)));
    let call = || graph.invoke(Wide::input().messages(vec![message.clone()])).shared_context(text.clone());
    let (times, outcome, bytes) = super::timed(runtime, store, call);
    let params = json!({ "leaves": leaves, "n": length, "store": store.name() });
    Report { bytes, ..Report::new(params, lengths(&outcome)) }.print(id, runtime, &times);
}

fn lengths(outcome: &Outcome<Wide>) -> serde_json::Value {
    let wide = &outcome.state;
    json!({
        "messages": wide.messages.len(), "events": wide.events.len(), "labels": wide.labels.len(),
        "drafts": wide.drafts.len(), "docs": wide.docs.len(), "rules": wide.rules.len(),
        "medium": wide.medium.len(), "thread_ref": wide.thread_ref.as_ref().map_or(0, |text| text.len()),
        "bot": wide.bot.len(), "participants": wide.participants.len(), "assignees": wide.assignees.len(),
        "user": entries(wide.user.as_ref()).len(),
    })
}
