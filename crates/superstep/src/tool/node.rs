//! The node that runs what a model asks for.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::{Map, Value};
use superstep_core::checkpoint::Question;
use superstep_core::command::Output;
use superstep_core::message::{Message, ToolCall};
use superstep_core::redact::Redaction;
use superstep_core::suggest::known_names;

use super::approve::{Doubtful, ask_each, ask_together, was_told};
use super::call::{CAP, Job, Verdict, failure};
use super::errors::{Errors, FailureKind};
use super::list::{Known, KnownTools, Tools};
use super::marks::Marks;
use super::outcome::{Settled, combine, messages};
use super::parallel::{End, Work, run_all};
use super::policy::{Policy, Rule};
use super::redacting::Redacting;
use super::turn::Turn;
use crate::context::{Ask, Cx};
use crate::handler::Node;
use crate::output::NodeError;

/// How long one call may take unless something else is said.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A node that runs the tools the last message of the model asks for: all at once, one tool message per call, in the
/// order of the calls.
///
/// What goes wrong is told the model ([`Errors`]). A person is asked before a destructive tool runs ([`Policy`]). A call
/// that has ended is not made again, whatever happens to the others: a question, a failure, a crash.
///
/// Secrets and personal data are taken out of what tools give, before it is told, kept or stored
/// ([`ToolNode::redaction`]); how much of which kind is noted as `redacted` with the tool message.
///
/// ```
/// use superstep::core::message::ToolCall;
/// use superstep::prelude::*;
///
/// #[derive(State, Clone, Serialize, Deserialize)]
/// struct Chat { #[reduce(messages)] messages: Messages }
///
/// /// Adds two numbers.
/// #[tool(read_only)]
/// async fn add(a: i64, b: i64) -> i64 { a + b }
///
/// let mut graph = Graph::<Chat>::new("chat");
/// let tools = graph.node("tools", ToolNode::new([add()]));
/// graph.edge(START, tools).edge(tools, END);
/// let asks = Message::assistant("").with_tool_calls([ToolCall::new("c1", "add", serde_json::json!({ "a": 1, "b": 2 }))]);
/// let done = graph.compile()?.run(Chat::input().messages(asks)).wait()?;
/// assert_eq!(done.state.messages.last().unwrap().text(), "3");
/// # Ok::<(), superstep::Error>(())
/// ```
#[must_use = "give it to a graph"]
pub struct ToolNode {
    tools: Tools,
    /// The tools by name, where no source can change them; made when they are first needed.
    fixed: OnceLock<KnownTools>,
    pub(super) field: String,
    pub(super) errors: Errors,
    policy: Policy,
    pub(super) timeout: Duration,
    at_once: usize,
    together: bool,
    redaction: Option<Redaction>,
    /// Tools whose results stay as they are.
    raw: BTreeSet<String>,
    /// How often tools that may safely be called again are, in place of what they say themselves.
    pub(super) safe_retries: Option<u32>,
    at_most_once: bool,
    /// The longest result that is kept whole, in bytes.
    pub(super) result_bytes: usize,
}

impl ToolNode {
    /// Runs these tools. Two of one name are an error when the node runs; [`Tools::new`] says so before.
    pub fn new(tools: impl Into<Tools>) -> Self {
        Self {
            tools: tools.into(),
            fixed: OnceLock::new(),
            field: "messages".to_owned(),
            errors: Errors::Text,
            policy: Policy::default(),
            timeout: TIMEOUT,
            at_once: usize::MAX,
            together: false,
            redaction: Some(Redaction::default()),
            raw: BTreeSet::new(),
            safe_retries: None,
            at_most_once: false,
            result_bytes: CAP,
        }
    }

    /// The field of messages, where it is not `messages`.
    pub fn messages(mut self, field: impl Into<String>) -> Self {
        self.field = field.into();
        self
    }

    /// What becomes of calls that went wrong.
    pub fn errors(mut self, errors: Errors) -> Self {
        self.errors = errors;
        self
    }

    /// Which tools run, which are asked about, which never run.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Asks about all calls of a message in one question, whose answer is a list of [`super::Approval`] in the order of
    /// the calls. Unless told, each call is a question of its own; all are asked at once either way.
    pub fn ask_together(mut self) -> Self {
        self.together = true;
        self
    }

    /// How long one call may take, for tools that do not say so themselves; a minute unless told.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = time;
        self
    }

    /// Tries a call again up to this many times where that is safe and may help: the tool is read-only or idempotent, and
    /// its failure is one that may pass. Unless told, every failed call is made again as often as its tool says.
    pub fn safe_retries(mut self, retries: u32) -> Self {
        self.safe_retries = Some(retries);
        self
    }

    /// Makes a call that may change something at most once: of tools that are destructive, or neither read-only nor
    /// idempotent. That such a call begins is saved before it does. When the process ends before its result is saved, it
    /// is not made again but fails as [`FailureKind::OutcomeUnknown`], for a person to look into.
    ///
    /// Unless told, it is made again then. With [`crate::Durability::Exit`] nothing is saved in time to tell.
    pub fn at_most_once(mut self) -> Self {
        self.at_most_once = true;
        self
    }

    /// At most this many calls of one message run at once.
    pub fn max_concurrency(mut self, calls: usize) -> Self {
        self.at_once = calls.max(1);
        self
    }

    /// How many bytes of a result are kept, 256 KiB unless told. What is longer is cut ([`super::shortened`]), and its
    /// message notes under `cut_from_bytes` how long it was. Events tell 256 KiB of it at most.
    pub fn result_bytes(mut self, bytes: usize) -> Self {
        self.result_bytes = bytes;
        self
    }

    /// What is taken out of the results of tools, in place of all known kinds.
    pub fn redaction(mut self, redaction: Redaction) -> Self {
        self.redaction = Some(redaction);
        self
    }

    /// Leaves the results of all tools as they are: secrets in them are stored, streamed and told the model.
    pub fn without_redaction(mut self) -> Self {
        self.redaction = None;
        self
    }

    /// Leaves the results of these tools as they are.
    pub fn without_redaction_of(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.raw.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Runs these calls inside of another node, and gives their tool messages in order: for nodes that decide by
    /// themselves what is run when. All that is said about a `ToolNode` holds. A node may run calls more than once; two of
    /// one id are told apart by their tool and arguments, and every call has its answer.
    ///
    /// # Errors
    /// As the node itself, and when a tool gives a command, which only a node of its own can carry out.
    pub async fn answer(&self, cx: &Cx, calls: impl IntoIterator<Item = ToolCall>) -> Result<Vec<Message>, NodeError> {
        let turn = Turn::of(Message::assistant("").with_tool_calls(calls));
        messages(self.settle(cx, &turn, false).await?)
    }

    async fn turn(&self, cx: &Cx) -> Result<Output, NodeError> {
        let turn = Turn::read(cx, &self.field)?;
        let settled = self.settle(cx, &turn, true).await?;
        combine(cx, &self.field, &turn, settled)
    }

    /// What all calls of a turn gave; `ends` where the node ends with them.
    async fn settle(&self, cx: &Cx, turn: &Turn, ends: bool) -> Result<Vec<Settled>, NodeError> {
        let tools = self.known().await?;
        let judged = self.judge(cx, turn, &tools).await?;
        let asked = cx.0.cell.take_asked();
        // A call without siblings is kept with the node's own result, which follows at once; not where that may wait.
        let is_alone = ends && judged.len() == 1 && cx.0.shared.backlog.is_none();
        let (mut work, mut marked) = (Vec::new(), Vec::new());
        for (place, call, verdict) in judged {
            let Some(verdict) = verdict else { continue };
            let key = format!("tool {}", turn.name(place));
            let redaction = self.redaction.as_ref().filter(|_| !self.raw.contains(&call.name));
            let part = cx.part(&key, redaction.cloned());
            let redacting = Redacting::new(redaction);
            let is_marked = self.at_most_once && verdict.may_not_repeat();
            let marks = is_marked.then(|| Marks { cx: cx.clone(), key: key.clone() });
            marked.push(marks.clone());
            let job = Job { node: self, call, turn, cx: part.clone(), redacting, marks };
            let settle = job.settle(verdict);
            let future: superstep_core::port::BoxFuture<'_, _> = match is_alone {
                true => Box::pin(settle),
                false => Box::pin(async move { cx.once(&key, settle).await }),
            };
            work.push(Work { cx: part, future });
        }
        let ends = run_all(work, self.at_once).await;
        for (end, marks) in ends.iter().zip(&marked) {
            if let (End::Asks(_), Some(marks)) = (end, marks) {
                marks.wait().await?;
            }
        }
        self.all_settled(cx, asked, ends).await
    }

    async fn known(&self) -> Result<Cow<'_, KnownTools>, NodeError> {
        if let Some(known) = self.fixed.get() {
            return Ok(Cow::Borrowed(known));
        }
        let known = self.tools.known().await?;
        match self.tools.has_sources() {
            true => Ok(Cow::Owned(known)),
            false => Ok(Cow::Borrowed(self.fixed.get_or_init(|| known))),
        }
    }

    /// What all calls gave. Comes back only when no call has failed the node and none waits for a person.
    async fn all_settled(
        &self,
        cx: &Cx,
        mut asked: Vec<Question>,
        ends: Vec<End<Settled>>,
    ) -> Result<Vec<Settled>, NodeError> {
        let mut all = Vec::new();
        for end in ends {
            match end {
                End::Done(settled) => all.push(settled?),
                End::Asks(questions) => asked.extend(questions),
            }
        }
        match asked.is_empty() {
            true => Ok(all),
            false => Ask(cx.clone()).pass_on(asked).await,
        }
    }

    /// What is to be done about each call, in order; nothing for those a person is asked about.
    async fn judge<'a>(
        &self,
        cx: &Cx,
        turn: &'a Turn,
        tools: &KnownTools,
    ) -> Result<Vec<(usize, &'a ToolCall, Option<Verdict>)>, NodeError> {
        let (mut judged, mut places, mut doubtful) = (Vec::new(), Vec::new(), Vec::new());
        for (place, call) in turn.calls() {
            let name = turn.name(place);
            let verdict = match self.look(name.clone(), call, tools) {
                Look::Clear(Verdict::Run(known, args)) => {
                    let doubt = Doubtful { name, call, known, args };
                    match !self.together && was_told(cx, &doubt).await? {
                        true => {
                            places.push(judged.len());
                            doubtful.push(doubt);
                            None
                        }
                        false => Some(Verdict::Run(doubt.known, doubt.args)),
                    }
                }
                Look::Clear(verdict) => Some(verdict),
                Look::Doubt(doubt) => {
                    places.push(judged.len());
                    doubtful.push(doubt);
                    None
                }
            };
            judged.push((place, call, verdict));
        }
        let said = match self.together {
            true => ask_together(cx, doubtful).await?,
            false => ask_each(cx, doubtful).await?,
        };
        for (place, verdict) in places.into_iter().zip(said) {
            judged[place].2 = verdict;
        }
        Ok(judged)
    }

    /// What is to be done about a call, as far as no person is needed to say so.
    fn look<'a>(&self, name: String, call: &'a ToolCall, tools: &KnownTools) -> Look<'a> {
        let Some(known) = tools.get(&call.name) else {
            return Look::Clear(Verdict::Fail(failure(call, FailureKind::UnknownTool, unknown(&call.name, tools))));
        };
        let rule = self.policy.rule(known.tool.spec());
        if rule == Rule::Deny {
            return Look::Clear(Verdict::Refuse(format!("the policy forbids `{}`", call.name)));
        }
        match arguments(call, known) {
            Err(text) => Look::Clear(Verdict::Fail(failure(call, FailureKind::BadArguments, text))),
            Ok(args) if rule == Rule::Ask => Look::Doubt(Doubtful { name, call, known: known.clone(), args }),
            Ok(args) => Look::Clear(Verdict::Run(known.clone(), args)),
        }
    }
}

/// What can be said of a call without a person.
enum Look<'a> {
    Clear(Verdict),
    Doubt(Doubtful<'a>),
}

impl<S, C> Node<S, C> for ToolNode {
    type Output = Output;

    async fn run(&self, cx: Cx) -> Result<Output, NodeError> {
        self.turn(&cx).await
    }
}

/// The arguments of a call that fit the tool: models write nothing where there are none.
fn arguments(call: &ToolCall, known: &Known) -> Result<Map<String, Value>, String> {
    let bad = |what: &str| format!("bad arguments for `{}`: {what}", call.name);
    let none = Value::Object(Map::new());
    let args = match &call.args {
        args @ Value::Object(_) => args,
        Value::Null => &none,
        Value::String(text) if text.trim().is_empty() => &none,
        Value::String(_) => return Err(bad("they are not JSON; expected an object")),
        _ => return Err(bad("expected an object")),
    };
    // Written only where they may be too long: nearly all are far from it.
    let bytes = if longest(args) > CAP { args.to_string().len() } else { 0 };
    if bytes > CAP {
        return Err(bad(&format!("they are {bytes} bytes long, and may be {CAP}")));
    }
    known.check(args).map_err(|error| error.message)?;
    Ok(args.as_object().cloned().unwrap_or_default())
}

/// How many bytes a value takes at most when it is written as JSON.
fn longest(value: &Value) -> usize {
    // The longest escape of a byte has six, `\u0000`.
    let quoted = |text: &str| text.len().saturating_mul(6).saturating_add(2);
    match value {
        Value::Null | Value::Bool(_) => 5,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => quoted(text),
        Value::Array(items) => items.iter().fold(2, |sum: usize, item| sum.saturating_add(longest(item) + 1)),
        Value::Object(entries) => {
            entries.iter().fold(2, |sum, (key, item)| sum.saturating_add(quoted(key)).saturating_add(longest(item) + 2))
        }
    }
}

fn unknown(name: &str, tools: &KnownTools) -> String {
    let name: String = name.chars().take(64).collect();
    let known: Vec<&str> = tools.keys().map(String::as_str).collect();
    match known.is_empty() {
        true => format!("no tool `{name}`; there are none"),
        false => format!("no tool `{name}`; {}", known_names(&name, &known)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Otherwise arguments that are too long would pass.
    #[test]
    fn no_value_is_written_longer_than_the_longest() {
        let escaped = "\u{1}\"\\\n".repeat(9);
        let rows = [
            json!(null),
            json!(false),
            json!(-1.5e-300),
            json!(u64::MAX),
            json!(escaped),
            json!([]),
            json!([[1, null], [true, "ä"], escaped]),
            json!({ "": {}, "key": [{ "a": false }], (escaped.clone()): escaped }),
        ];
        for value in rows {
            assert!(value.to_string().len() <= longest(&value), "{value}");
        }
    }
}
