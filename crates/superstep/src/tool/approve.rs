//! Asks a person about calls, and reads what was said.
//!
//! Questions of a task are told apart by their order, so all are asked, whether or not the first has an answer. Nothing
//! waits here: the other calls run first.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use serde_json::{Map, Value, json};
use superstep_core::message::ToolCall;

use super::call::{Verdict, failure};
use super::errors::FailureKind;
use super::list::Known;
use super::policy::{APPROVE, Approval, answer_schema, hash, shown};
use crate::context::Cx;
use crate::output::NodeError;

/// A call that a person is asked about.
pub(super) struct Doubtful<'a> {
    /// What it is known by among the calls of the task.
    pub(super) name: String,
    pub(super) call: &'a ToolCall,
    pub(super) known: Arc<Known>,
    pub(super) args: Map<String, Value>,
}

impl Doubtful<'_> {
    /// The part of the task in which it is asked about.
    fn part(&self, cx: &Cx) -> Cx {
        cx.part(&format!("approve {}", self.name), None)
    }

    fn shown(&self) -> Value {
        shown(self.call, &self.args, self.known.tool.spec())
    }

    fn schema(&self) -> Value {
        answer_schema(&hash(&self.call.name, &self.args))
    }

    /// What a person's word means for the call.
    fn verdict(self, approval: Approval) -> Verdict {
        let hash = hash(&self.call.name, &self.args);
        match approval {
            Approval::Reject { reason } if reason.is_empty() => Verdict::Refuse("it was rejected".to_owned()),
            Approval::Reject { reason } => Verdict::Refuse(reason),
            Approval::Approve { hash: given } | Approval::Edit { hash: given, .. } if given != hash => {
                Verdict::Refuse("the approval is for another call".to_owned())
            }
            Approval::Approve { .. } => Verdict::Run(self.known, self.args),
            Approval::Edit { args, .. } => match self.known.check(&Value::Object(args.clone())) {
                Ok(()) => Verdict::Run(self.known, args),
                Err(error) => Verdict::Fail(failure(self.call, FailureKind::BadArguments, error.message)),
            },
        }
    }
}

/// Asks about each call by itself; nothing for those whose question is open. The question of a call is its own: whatever
/// becomes of the others, and of the list of tools, its answer stays with it.
pub(super) async fn ask_each(cx: &Cx, calls: Vec<Doubtful<'_>>) -> Result<Vec<Option<Verdict>>, NodeError> {
    let mut verdicts = Vec::new();
    for call in calls {
        let part = call.part(cx);
        let text = format!("May `{}` be run?", call.call.name);
        let answer = ask(&part, call.shown(), &text, call.schema()).await?;
        cx.0.cell.add_asked(part.0.cell.take_asked());
        let approval = answer.map(serde_json::from_value).transpose()?;
        verdicts.push(approval.map(|approval| call.verdict(approval)));
    }
    Ok(verdicts)
}

/// What a person said of a call that nobody would be asked about any more: it still counts.
pub(super) async fn was_told(cx: &Cx, call: &Doubtful<'_>) -> Result<bool, NodeError> {
    if cx.answers().is_none() {
        return Ok(false);
    }
    Ok(ask(&call.part(cx), Value::Null, "", Value::Null).await?.is_some())
}

/// Asks about all calls in one question, whose answer is a list in the same order; nothing while it is open.
pub(super) async fn ask_together(cx: &Cx, calls: Vec<Doubtful<'_>>) -> Result<Vec<Option<Verdict>>, NodeError> {
    if calls.is_empty() {
        return Ok(Vec::new());
    }
    let shown: Vec<Value> = calls.iter().map(Doubtful::shown).collect();
    let forms: Vec<Value> = calls.iter().map(Doubtful::schema).collect();
    let count = calls.len();
    let schema = json!({ "type": "array", "prefixItems": forms, "minItems": count, "maxItems": count });
    let Some(answer) = ask(cx, shown.into(), "May these tools be run?", schema).await? else {
        return Ok(calls.into_iter().map(|_| None).collect());
    };
    let approvals: Vec<Approval> = serde_json::from_value(answer)?;
    if approvals.len() != count {
        let changed = "the tools are not those that were asked about";
        return Ok(calls.into_iter().map(|_| Some(Verdict::Refuse(changed.to_owned()))).collect());
    }
    Ok(calls.into_iter().zip(approvals).map(|(call, approval)| Some(call.verdict(approval))).collect())
}

/// The answer to a question, where there is one already.
async fn ask(cx: &Cx, show: Value, text: &str, schema: Value) -> Result<Option<Value>, NodeError> {
    let asks = cx.ask();
    let mut question = pin!(asks.with(APPROVE, show, text, Some(schema)));
    match poll_fn(|context| Poll::Ready(question.as_mut().poll(context))).await {
        Poll::Ready(answer) => answer.map(Some),
        Poll::Pending => Ok(None),
    }
}
