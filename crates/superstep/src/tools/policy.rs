//! Approval policy of tools, and the approval itself.
//!
//! An approval is bound to a tool and its arguments by a hash: it is valid only for the call that the interrupt
//! displayed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use superstep_core::canonical::sort_keys;
use superstep_core::checkpoint::Interrupt;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::hash_id;
use superstep_core::message::ToolCall;
use superstep_core::tool::ToolSpec;

/// Rule for a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PolicyRule {
    Run,
    RequireApproval,
    Deny,
}

/// Policy that decides which tools run, which require approval, and which are denied. Default: destructive tools
/// require approval.
///
/// Names are those of tools, `"*"` applies to all tools that are not named; of several rules for one name the last
/// applies.
///
/// ```
/// use superstep::tools::ToolPolicy;
/// let policy = ToolPolicy::allow(["delete_draft"]).and_require_approval(["send_mail"]).and_deny(["format_disk"]);
/// ```
#[derive(Debug, Clone, Default)]
pub struct ToolPolicy(BTreeMap<String, PolicyRule>);

impl ToolPolicy {
    /// Creates a policy in which these tools run without approval.
    #[must_use]
    pub fn allow(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::default().and_allow(names)
    }

    /// Creates a policy in which these tools require approval.
    #[must_use]
    pub fn require_approval(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::default().and_require_approval(names)
    }

    /// Creates a policy that denies these tools.
    #[must_use]
    pub fn deny(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::default().and_deny(names)
    }

    /// Lets these tools run without approval.
    #[must_use]
    pub fn and_allow(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.set_rule(names, PolicyRule::Run)
    }

    /// Requires approval for these tools.
    #[must_use]
    pub fn and_require_approval(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.set_rule(names, PolicyRule::RequireApproval)
    }

    /// Denies these tools.
    #[must_use]
    pub fn and_deny(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.set_rule(names, PolicyRule::Deny)
    }

    fn set_rule(mut self, names: impl IntoIterator<Item = impl Into<String>>, rule: PolicyRule) -> Self {
        self.0.extend(names.into_iter().map(|name| (name.into(), rule)));
        self
    }

    /// Returns true if this tool requires approval.
    #[must_use]
    pub fn requires_approval(&self, spec: &ToolSpec) -> bool {
        self.rule(spec) == PolicyRule::RequireApproval
    }

    /// Returns true if this tool is denied.
    #[must_use]
    pub fn is_denied(&self, spec: &ToolSpec) -> bool {
        self.rule(spec) == PolicyRule::Deny
    }

    pub(super) fn rule(&self, spec: &ToolSpec) -> PolicyRule {
        let default_rule = if spec.annotations.destructive { PolicyRule::RequireApproval } else { PolicyRule::Run };
        self.0.get(&spec.name).or_else(|| self.0.get("*")).copied().unwrap_or(default_rule)
    }
}

/// Human decision about a tool call: the resume value of its interrupt.
///
/// ```
/// use superstep::tools::Approval;
/// let no = serde_json::to_value(Approval::reject("not today")).unwrap();
/// assert_eq!(no, serde_json::json!({ "decision": "reject", "reason": "not today" }));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Approval {
    /// Runs the call unchanged.
    Approve {
        /// Hash from the interrupt.
        hash: String,
    },
    /// Runs the call with other arguments.
    Edit {
        /// Hash from the interrupt.
        hash: String,
        /// Arguments of the call.
        args: Map<String, Value>,
    },
    /// Does not run the call.
    Reject {
        /// Reason, which is reported to the model.
        #[serde(default)]
        reason: String,
    },
}

impl Approval {
    /// Approves the call of an interrupt.
    ///
    /// # Errors
    /// Returns an error if the interrupt is not about a tool call.
    pub fn approve(interrupt: &Interrupt) -> Result<Self> {
        Ok(Self::Approve { hash: hash_in(interrupt)? })
    }

    /// Approves the call of an interrupt, with other arguments.
    ///
    /// # Errors
    /// Returns an error if the interrupt is not about a tool call.
    pub fn edit(interrupt: &Interrupt, args: Map<String, Value>) -> Result<Self> {
        Ok(Self::Edit { hash: hash_in(interrupt)?, args })
    }

    /// Rejects the call.
    pub fn reject(reason: impl Into<String>) -> Self {
        Self::Reject { reason: reason.into() }
    }
}

fn hash_in(interrupt: &Interrupt) -> Result<String> {
    let hash = interrupt.value.get("hash").and_then(Value::as_str);
    hash.map(str::to_owned).ok_or_else(|| {
        Error::new(
            ErrorCode::InvalidResume,
            format!("interrupt `{}` does not request the approval of a tool call", interrupt.name),
        )
    })
}

/// Name of every approval interrupt.
pub(super) const APPROVAL_INTERRUPT_NAME: &str = "approve tool call";

/// Returns the payload of an approval interrupt.
pub(super) fn approval_payload(call: &ToolCall, args: &Map<String, Value>, spec: &ToolSpec) -> Value {
    let hash = hash(&call.name, args);
    json!({ "tool": call.name, "description": spec.description, "call": call.id, "arguments": args, "hash": hash })
}

/// Returns the schema of a resume value. The hash is part of the schema, so that an approval of another call is not
/// valid.
pub(super) fn approval_schema(hash: &str) -> Value {
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

/// Returns the hash of a tool call; it does not depend on the order of the arguments.
pub(super) fn hash(tool: &str, args: &Map<String, Value>) -> String {
    let text = sort_keys(Value::Object(args.clone())).to_string();
    format!("{:032x}", hash_id(&[b"tool call", tool.as_bytes(), text.as_bytes()]))
}
