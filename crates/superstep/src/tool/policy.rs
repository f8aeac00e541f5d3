//! Which tools need a person's word before they run, and what that word is.
//!
//! An approval is bound to the tool and its arguments by a hash: it holds for what the person saw and for nothing else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use superstep_core::canonical::sorted;
use superstep_core::checkpoint::Question;
use superstep_core::error::{Code, Error, Result};
use superstep_core::id::derive;
use superstep_core::message::ToolCall;
use superstep_core::tool::ToolSpec;

/// What happens before a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    Run,
    Ask,
    Deny,
}

/// Which tools run, which are asked about, which never run. Unless told, a person is asked about destructive ones.
///
/// Names are those of tools, `"*"` is all that are not named; of two words on one name the later counts.
///
/// ```
/// use superstep::tool::Policy;
/// let policy = Policy::allow(["delete_draft"]).and_ask(["send_mail"]).and_deny(["format_disk"]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Policy(BTreeMap<String, Rule>);

impl Policy {
    /// These run without a question.
    #[must_use]
    pub fn allow(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::default().and_allow(names)
    }

    /// A person is asked about these.
    #[must_use]
    pub fn ask(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::default().and_ask(names)
    }

    /// These never run.
    #[must_use]
    pub fn deny(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::default().and_deny(names)
    }

    /// Also, these run without a question.
    #[must_use]
    pub fn and_allow(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.say(names, Rule::Run)
    }

    /// Also, a person is asked about these.
    #[must_use]
    pub fn and_ask(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.say(names, Rule::Ask)
    }

    /// Also, these never run.
    #[must_use]
    pub fn and_deny(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.say(names, Rule::Deny)
    }

    fn say(mut self, names: impl IntoIterator<Item = impl Into<String>>, rule: Rule) -> Self {
        self.0.extend(names.into_iter().map(|name| (name.into(), rule)));
        self
    }

    /// Whether a person is asked before this tool runs.
    #[must_use]
    pub fn asks(&self, spec: &ToolSpec) -> bool {
        self.rule(spec) == Rule::Ask
    }

    /// Whether this tool never runs.
    #[must_use]
    pub fn forbids(&self, spec: &ToolSpec) -> bool {
        self.rule(spec) == Rule::Deny
    }

    pub(super) fn rule(&self, spec: &ToolSpec) -> Rule {
        let usual = if spec.annotations.destructive { Rule::Ask } else { Rule::Run };
        self.0.get(&spec.name).or_else(|| self.0.get("*")).copied().unwrap_or(usual)
    }
}

/// What a person says about a call: the answer to the question whether it may be made.
///
/// ```
/// use superstep::tool::Approval;
/// let no = serde_json::to_value(Approval::reject("not today")).unwrap();
/// assert_eq!(no, serde_json::json!({ "decision": "reject", "reason": "not today" }));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Approval {
    /// Make it.
    Approve {
        /// The hash that the question showed.
        hash: String,
    },
    /// Make it with these arguments instead.
    Edit {
        /// The hash that the question showed.
        hash: String,
        /// The arguments.
        args: Map<String, Value>,
    },
    /// Do not make it.
    Reject {
        /// Why; the model is told.
        #[serde(default)]
        reason: String,
    },
}

impl Approval {
    /// Approves the call that a question shows.
    ///
    /// # Errors
    /// When the question is not about a call.
    pub fn approve(question: &Question) -> Result<Self> {
        Ok(Self::Approve { hash: hash_in(question)? })
    }

    /// Approves the call that a question shows, with other arguments.
    ///
    /// # Errors
    /// When the question is not about a call.
    pub fn edit(question: &Question, args: Map<String, Value>) -> Result<Self> {
        Ok(Self::Edit { hash: hash_in(question)?, args })
    }

    /// Refuses the call.
    pub fn reject(reason: impl Into<String>) -> Self {
        Self::Reject { reason: reason.into() }
    }
}

fn hash_in(question: &Question) -> Result<String> {
    let hash = question.value.get("hash").and_then(Value::as_str);
    hash.map(str::to_owned).ok_or_else(|| {
        Error::new(Code::InvalidResume, format!("`{}` does not ask about a call of a tool", question.name))
    })
}

/// The name of every question about calls.
pub(super) const APPROVE: &str = "approve tool call";

/// What a person is shown of a call.
pub(super) fn shown(call: &ToolCall, args: &Map<String, Value>, spec: &ToolSpec) -> Value {
    let hash = hash(&call.name, args);
    json!({ "tool": call.name, "description": spec.description, "call": call.id, "arguments": args, "hash": hash })
}

/// The form of an answer. The hash is a part of it: an approval of something else does not fit the question.
pub(super) fn answer_schema(hash: &str) -> Value {
    let form = |decision: &str, more: Value, required: &[&str]| {
        let mut properties = Map::from_iter([("decision".to_owned(), json!({ "const": decision }))]);
        properties.extend(more.as_object().cloned().unwrap_or_default());
        json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        })
    };
    let hash = json!({ "const": hash });
    json!({ "anyOf": [
        form("approve", json!({ "hash": hash }), &["decision", "hash"]),
        form("edit", json!({ "hash": hash, "args": { "type": "object" } }), &["decision", "hash", "args"]),
        form("reject", json!({ "reason": { "type": "string" } }), &["decision"]),
    ]})
}

/// Names a tool with its arguments: equal for equal arguments, in whatever order they were written.
pub(super) fn hash(tool: &str, args: &Map<String, Value>) -> String {
    let text = sorted(Value::Object(args.clone())).to_string();
    format!("{:032x}", derive(&[b"tool call", tool.as_bytes(), text.as_bytes()]))
}
