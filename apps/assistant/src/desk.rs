//! What a run of the assistant needs and nobody saves: who answers, which tools there are, what is allowed.

use std::sync::Arc;
use std::time::Duration;

use superstep::model::SharedModel;
use superstep::redact::Redaction;
use superstep::tool::{Policy as Asking, SharedTool, ToolNode, Tools};

use crate::policy::Policy;
use crate::profile::Profiles;

/// Where the assistant sits. A conversation that goes on may be given another.
#[derive(Clone)]
pub struct Desk {
    /// Who plans, judges, answers and sums up.
    pub model: SharedModel,
    /// Who answers where the model cannot: rules.
    pub spare: Option<SharedModel>,
    /// What becomes of a turn whose model cannot be reached.
    pub without_model: WithoutModel,
    /// What is allowed.
    pub policy: Arc<Policy>,
    /// Who the users are.
    pub profiles: Arc<Profiles>,
    /// Whether facts about users are kept, where they do not say so themselves.
    pub keeps_facts: bool,
    /// How much a turn may do.
    pub limits: Limits,
    /// The day on which questions are asked, `YYYY-MM-DD`, where that is not the day of the run's clock.
    pub today: Option<String>,
    tools: Tools,
    redaction: Redaction,
    runner: Arc<ToolNode>,
}

/// What becomes of a turn whose model cannot be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WithoutModel {
    /// The answer is put together by rules, and says so.
    #[default]
    UseRules,
    /// The turn fails.
    Fail,
}

/// How much a turn may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How often it is planned again.
    pub max_replans: u32,
    /// How many calls a plan may have.
    pub max_calls: usize,
    /// How long a call may take, for tools that do not say so themselves.
    pub tool_timeout: Duration,
    /// How often a call is made again, where that is safe and may help.
    pub tool_retries: u32,
    /// The longest result, in bytes; what is longer is cut, and kept whole in the store for as long as the conversation.
    pub result_bytes: usize,
    /// The longest result that is kept whole, in bytes: more than any of the assistant's own tools gives.
    pub whole_bytes: usize,
    /// How many tokens the messages of a conversation may have before the oldest are summed up.
    pub max_context_tokens: u64,
    /// How many messages a conversation may have before the oldest are summed up.
    pub max_messages: usize,
    /// How many of the latest always stay.
    pub kept_messages: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_replans: 2,
            max_calls: 8,
            tool_timeout: Duration::from_secs(10),
            tool_retries: 2,
            result_bytes: 64 * 1024,
            whole_bytes: 8 * 1024 * 1024,
            max_context_tokens: 8_000,
            max_messages: 40,
            kept_messages: 10,
        }
    }
}

impl Desk {
    /// A desk with this model, these tools, this policy and these users.
    #[must_use]
    pub fn new(model: impl Into<SharedModel>, tools: impl Into<Tools>, policy: Policy, profiles: Profiles) -> Self {
        let (policy, limits) = (Arc::new(policy), Limits::default());
        let tools = cautious(tools.into(), policy.clone());
        let runner = runner(&tools, &limits, Redaction::default());
        Self {
            model: model.into(),
            spare: None,
            without_model: WithoutModel::default(),
            policy,
            profiles: Arc::new(profiles),
            keeps_facts: false,
            limits,
            today: None,
            tools,
            redaction: Redaction::default(),
            runner,
        }
    }

    /// Asks these rules where the model cannot be reached.
    #[must_use]
    pub fn spare(mut self, rules: impl Into<SharedModel>) -> Self {
        self.spare = Some(rules.into());
        self
    }

    /// Says what becomes of a turn whose model cannot be reached.
    #[must_use]
    pub fn without_model(mut self, without_model: WithoutModel) -> Self {
        self.without_model = without_model;
        self
    }

    /// Keeps facts about users, unless they say otherwise.
    #[must_use]
    pub fn keeping_facts(mut self) -> Self {
        self.keeps_facts = true;
        self
    }

    /// Sets how much a turn may do.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.runner = runner(&self.tools, &limits, self.redaction.clone());
        self.limits = limits;
        self
    }

    /// Takes this out of results of tools, in place of all known kinds.
    #[must_use]
    pub fn redaction(mut self, redaction: Redaction) -> Self {
        self.runner = runner(&self.tools, &self.limits, redaction.clone());
        self.redaction = redaction;
        self
    }

    /// Answers as if it were this day.
    #[must_use]
    pub fn today(mut self, day: impl Into<String>) -> Self {
        self.today = Some(day.into());
        self
    }

    /// The same desk with another model.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<SharedModel>) -> Self {
        self.model = model.into();
        self
    }

    /// The tools there are.
    #[must_use]
    pub fn tools(&self) -> &Tools {
        &self.tools
    }

    /// Runs calls.
    pub(crate) fn runner(&self) -> &ToolNode {
        &self.runner
    }
}

/// The tools as the policy has them: one that it asks about is destructive, whatever the tool says of itself.
fn cautious(tools: Tools, policy: Arc<Policy>) -> Tools {
    tools.map(move |tool: SharedTool| {
        let mut spec = (**tool.spec()).clone();
        spec.annotations.destructive |= policy.asks_about(&spec.name);
        tool.with_spec(spec)
    })
}

fn runner(tools: &Tools, limits: &Limits, redaction: Redaction) -> Arc<ToolNode> {
    // People were asked by the router, which also knows what they allowed for the session.
    let node = ToolNode::new(tools.clone()).policy(Asking::allow(["*"])).redaction(redaction);
    // What is told a model is cut later, when it has been kept.
    let node = node.result_bytes(limits.whole_bytes);
    Arc::new(node.timeout(limits.tool_timeout).safe_retries(limits.tool_retries).at_most_once())
}
