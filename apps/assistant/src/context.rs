//! Run context of the assistant, which is not persisted: model, tools, policy, users and limits.

use std::sync::Arc;
use std::time::Duration;

use superstep::models::SharedModel;
use superstep::redaction::Redaction;
use superstep::tools::{SharedTool, ToolNode, ToolPolicy as ApprovalPolicy, ToolSet};

use crate::policy::Policy;
use crate::profile::Profiles;

/// Run context of the assistant. A later run on the same thread may use a different context.
#[derive(Clone)]
pub struct AssistantContext {
    /// Model that plans, verifies, answers and summarises.
    pub model: SharedModel,
    /// Rule model that answers if the model cannot be reached.
    pub fallback_model: Option<SharedModel>,
    /// Reaction to a model that cannot be reached.
    pub on_model_unavailable: ModelUnavailablePolicy,
    /// Policy of the assistant.
    pub policy: Arc<Policy>,
    /// Users.
    pub profiles: Arc<Profiles>,
    /// True if facts about users are saved; a user's own preference takes precedence.
    pub remember_facts: bool,
    /// Limits of a turn.
    pub limits: TurnLimits,
    /// Date on which questions are asked, `YYYY-MM-DD`. Default: the date of the run's clock.
    pub today: Option<String>,
    tools: ToolSet,
    redaction: Redaction,
    tool_node: Arc<ToolNode>,
}

/// Reaction to a model that cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ModelUnavailablePolicy {
    /// Rules write the answer, which says so.
    #[default]
    UseRules,
    /// The turn fails.
    Fail,
}

/// Limits of a turn and of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnLimits {
    /// Maximum number of additional plans after the first.
    pub max_replans: u32,
    /// Maximum number of calls in a plan.
    pub max_calls: usize,
    /// Time limit of a call, for tools without a timeout of their own.
    pub tool_timeout: Duration,
    /// Maximum number of retries of a call, if a retry is safe and the error is transient.
    pub tool_retries: u32,
    /// Maximum size of a result in bytes; a longer result is cut, and its full text stays in the store as long as
    /// the thread.
    pub result_bytes: usize,
    /// Maximum size in bytes of a result that is stored in full; larger than every result of the assistant's own
    /// tools.
    pub max_stored_result_bytes: usize,
    /// Maximum number of tokens in the messages of a conversation before the oldest are summarised.
    pub max_context_tokens: u64,
    /// Maximum number of messages in a conversation before the oldest are summarised.
    pub max_messages: usize,
    /// Number of most recent messages that are never summarised away.
    pub min_recent_messages: usize,
}

impl Default for TurnLimits {
    fn default() -> Self {
        Self {
            max_replans: 2,
            max_calls: 8,
            tool_timeout: Duration::from_secs(10),
            tool_retries: 2,
            result_bytes: 64 * 1024,
            max_stored_result_bytes: 8 * 1024 * 1024,
            max_context_tokens: 8_000,
            max_messages: 40,
            min_recent_messages: 10,
        }
    }
}

impl AssistantContext {
    /// Creates a context from a model, tools, a policy and users.
    #[must_use]
    pub fn new(model: impl Into<SharedModel>, tools: impl Into<ToolSet>, policy: Policy, profiles: Profiles) -> Self {
        let (policy, limits) = (Arc::new(policy), TurnLimits::default());
        let tools = mark_destructive(tools.into(), policy.clone());
        let tool_node = build_tool_node(&tools, &limits, Redaction::default());
        Self {
            model: model.into(),
            fallback_model: None,
            on_model_unavailable: ModelUnavailablePolicy::default(),
            policy,
            profiles: Arc::new(profiles),
            remember_facts: false,
            limits,
            today: None,
            tools,
            redaction: Redaction::default(),
            tool_node,
        }
    }

    /// Sets the rule model that answers if the model cannot be reached.
    #[must_use]
    pub fn fallback_model(mut self, rules: impl Into<SharedModel>) -> Self {
        self.fallback_model = Some(rules.into());
        self
    }

    /// Sets the reaction to a model that cannot be reached.
    #[must_use]
    pub fn on_model_unavailable(mut self, on_model_unavailable: ModelUnavailablePolicy) -> Self {
        self.on_model_unavailable = on_model_unavailable;
        self
    }

    /// Saves facts about users, unless a user's preference says otherwise.
    #[must_use]
    pub fn remember_facts(mut self) -> Self {
        self.remember_facts = true;
        self
    }

    /// Sets the limits of a turn.
    #[must_use]
    pub fn limits(mut self, limits: TurnLimits) -> Self {
        self.tool_node = build_tool_node(&self.tools, &limits, self.redaction.clone());
        self.limits = limits;
        self
    }

    /// Sets the redaction of tool results, in place of the default, which covers all known kinds of secrets.
    #[must_use]
    pub fn redaction(mut self, redaction: Redaction) -> Self {
        self.tool_node = build_tool_node(&self.tools, &self.limits, redaction.clone());
        self.redaction = redaction;
        self
    }

    /// Sets the current date for all turns.
    #[must_use]
    pub fn today(mut self, day: impl Into<String>) -> Self {
        self.today = Some(day.into());
        self
    }

    /// Returns this context with a different model.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<SharedModel>) -> Self {
        self.model = model.into();
        self
    }

    /// Returns all tools, before permissions apply.
    #[must_use]
    pub fn tools(&self) -> &ToolSet {
        &self.tools
    }

    /// Returns the node that runs tool calls.
    pub(crate) fn tool_node(&self) -> &ToolNode {
        &self.tool_node
    }
}

/// Marks every tool as destructive that needs approval under the policy, whatever its own annotations say.
fn mark_destructive(tools: ToolSet, policy: Arc<Policy>) -> ToolSet {
    tools.map(move |tool: SharedTool| {
        let mut spec = (**tool.spec()).clone();
        spec.annotations.destructive |= policy.requires_approval(&spec.name);
        tool.with_spec(spec)
    })
}

fn build_tool_node(tools: &ToolSet, limits: &TurnLimits, redaction: Redaction) -> Arc<ToolNode> {
    // The router has already requested the approvals; only the router knows the approvals for the session.
    let node = ToolNode::new(tools.clone()).policy(ApprovalPolicy::allow(["*"])).redaction(redaction);
    // The text for the model is cut later, after the full result is stored.
    let node = node.max_result_bytes(limits.max_stored_result_bytes);
    Arc::new(node.timeout(limits.tool_timeout).safe_retries(limits.tool_retries).at_most_once())
}
