//! The user on whose behalf a tool runs. The caller comes from the code that runs the tool, never from a model.

use std::any::Any;
use std::sync::Arc;

use serde_json::{Map, Value};
use superstep::store::SharedStore;
use superstep::tools::ToolInvocation;
use superstep::{FromTask, TaskContext, ToolError, View};

use super::error::{forbidden, unavailable};
use crate::context::AssistantContext;
use crate::current_turn::permissions;
use crate::policy::Permissions;
use crate::state::AgentState;

/// Default maximum number of rows of a query.
const DEFAULT_MAX_ROWS: usize = 1_000;

/// The user of a tool call.
#[derive(Clone)]
pub struct Caller {
    /// Id of the user.
    pub user: String,
    /// IANA time zone.
    pub zone: String,
    /// Access to the data.
    pub access: DataAccess,
    /// Store with the facts about the user.
    pub store: Option<SharedStore>,
}

/// Restrictions of a user's access to the data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DataAccess {
    /// Denied tables; `*` denies all.
    pub denied_tables: Vec<String>,
    /// Denied columns, as `table.column`.
    pub denied_columns: Vec<String>,
    /// Maximum number of rows of a query.
    pub max_rows: usize,
}

impl Caller {
    /// Creates a caller without access to the data.
    pub fn new(user: impl Into<String>) -> Self {
        let access = DataAccess { denied_tables: vec!["*".to_owned()], ..DataAccess::default() };
        Self { user: user.into(), zone: "UTC".to_owned(), access, store: None }
    }

    /// Creates a tool call on behalf of this user.
    #[must_use]
    pub fn invocation(self: &Arc<Self>, id: impl Into<String>, args: Map<String, Value>) -> ToolInvocation {
        ToolInvocation { task_context: Some(self.clone()), ..ToolInvocation::new(id, args) }
    }

    /// Returns the caller of an invocation.
    pub(super) fn from_invocation(call: &ToolInvocation) -> Result<Arc<Self>, ToolError> {
        let context = call.task_context.clone();
        let caller = context.and_then(|context| {
            context.downcast::<Self>().or_else(|context| caller_of_run(&context).ok_or(context)).ok()
        });
        caller.ok_or_else(|| forbidden("the call has no user"))
    }

    pub(super) fn store(&self) -> Result<&SharedStore, ToolError> {
        self.store.as_ref().ok_or_else(|| unavailable("no memory is configured"))
    }
}

/// Returns the user of a run of the graph.
fn caller_of_run(context: &Arc<dyn Any + Send + Sync>) -> Option<Arc<Caller>> {
    let cx = context.downcast_ref::<TaskContext>()?;
    let state = <View<AgentState> as FromTask<AgentState, AssistantContext>>::from_task(cx).ok()?;
    let zone =
        state.user_context.get("preferences").and_then(|preferences| preferences["zone"].as_str()).unwrap_or("UTC");
    let (user, access, store) = (state.user_id.clone(), permissions(&state).into(), cx.store().ok().cloned());
    Some(Arc::new(Caller { user, zone: zone.to_owned(), access, store }))
}

impl From<Permissions> for DataAccess {
    fn from(permissions: Permissions) -> Self {
        let max_rows = permissions.max_rows.and_then(|rows| usize::try_from(rows).ok()).unwrap_or(DEFAULT_MAX_ROWS);
        let denied_tables = permissions.denied_tables.into_iter().collect();
        Self { denied_tables, denied_columns: permissions.denied_columns.into_iter().collect(), max_rows }
    }
}

impl DataAccess {
    /// Returns true if the table is denied.
    #[must_use]
    pub fn denies_table(&self, table: &str) -> bool {
        self.denied_tables.iter().any(|denied| matches_denied_table(denied, table))
    }

    /// Returns true if the column is denied.
    #[must_use]
    pub fn denies_column(&self, table: &str, column: &str) -> bool {
        let is_denied = |denied: &String| {
            let (denied_table, name) = split_column(denied);
            matches_denied_table(denied_table, table) && name.eq_ignore_ascii_case(column)
        };
        self.denies_table(table) || self.denied_columns.iter().any(is_denied)
    }
}

/// Returns true if a denial applies to a table. A qualifier in the denial is ignored, which denies more rather than
/// less.
pub(super) fn matches_denied_table(denied: &str, table: &str) -> bool {
    let name = denied.rsplit('.').next().unwrap_or(denied);
    denied == "*" || name.eq_ignore_ascii_case(table)
}

/// Splits a denied column into table and name; without a table it is denied in all tables.
pub(super) fn split_column(denied: &str) -> (&str, &str) {
    denied.rsplit_once('.').unwrap_or(("*", denied))
}
