//! On whose behalf a tool runs. It comes with the call from whoever runs it and never from a model.

use std::any::Any;
use std::sync::Arc;

use serde_json::{Map, Value};
use superstep::store::SharedStore;
use superstep::tool::Invocation;
use superstep::{Cx, FromTask, ToolError, View};

use super::failure::{forbidden, unavailable};
use crate::desk::Desk;
use crate::policy::Rights;
use crate::state::Assistant;
use crate::turn::rights;

/// The most rows one query gives where nobody says less.
const ROWS: usize = 1_000;

/// Whoever asks.
#[derive(Clone)]
pub struct Caller {
    /// Their id.
    pub user: String,
    /// Their IANA time zone.
    pub zone: String,
    /// What they may see of the data.
    pub access: Access,
    /// Where is kept what is known of them.
    pub store: Option<SharedStore>,
}

/// What somebody may see of the data.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// Tables they may not see; `*` for all.
    pub denied_tables: Vec<String>,
    /// Columns they may not see, as `table.column`.
    pub denied_columns: Vec<String>,
    /// The most rows one query gives them.
    pub rows: usize,
}

impl Caller {
    /// Somebody who sees nothing of the data.
    pub fn new(user: impl Into<String>) -> Self {
        let access = Access { denied_tables: vec!["*".to_owned()], ..Access::default() };
        Self { user: user.into(), zone: "UTC".to_owned(), access, store: None }
    }

    /// A call of a tool on their behalf.
    #[must_use]
    pub fn invocation(self: &Arc<Self>, id: impl Into<String>, args: Map<String, Value>) -> Invocation {
        Invocation { host: Some(self.clone()), ..Invocation::new(id, args) }
    }

    /// Whoever is behind a call.
    pub(super) fn of(call: &Invocation) -> Result<Arc<Self>, ToolError> {
        let host = call.host.clone();
        let found = host.and_then(|host| host.downcast::<Self>().or_else(|host| of_run(&host).ok_or(host)).ok());
        found.ok_or_else(|| forbidden("nobody said on whose behalf this is asked"))
    }

    pub(super) fn store(&self) -> Result<&SharedStore, ToolError> {
        self.store.as_ref().ok_or_else(|| unavailable("there is no memory here"))
    }
}

/// Whoever asks in a run of the graph.
fn of_run(host: &Arc<dyn Any + Send + Sync>) -> Option<Arc<Caller>> {
    let cx = host.downcast_ref::<Cx>()?;
    let state = <View<Assistant> as FromTask<Assistant, Desk>>::from_task(cx).ok()?;
    let zone = state.user_context.get("preferences").and_then(|known| known["zone"].as_str()).unwrap_or("UTC");
    let (user, access, store) = (state.user_id.clone(), rights(&state).into(), cx.store().ok().cloned());
    Some(Arc::new(Caller { user, zone: zone.to_owned(), access, store }))
}

impl From<Rights> for Access {
    fn from(rights: Rights) -> Self {
        let rows = rights.rows.and_then(|rows| usize::try_from(rows).ok()).unwrap_or(ROWS);
        let denied_tables = rights.denied_tables.into_iter().collect();
        Self { denied_tables, denied_columns: rights.denied_columns.into_iter().collect(), rows }
    }
}

impl Access {
    /// Whether this table is hidden from them.
    #[must_use]
    pub fn denies_table(&self, table: &str) -> bool {
        self.denied_tables.iter().any(|denied| is_meant(denied, table))
    }

    /// Whether this column is hidden from them.
    #[must_use]
    pub fn denies_column(&self, table: &str, column: &str) -> bool {
        let is_denied = |denied: &String| {
            let (of, name) = split_column(denied);
            is_meant(of, table) && name.eq_ignore_ascii_case(column)
        };
        self.denies_table(table) || self.denied_columns.iter().any(is_denied)
    }
}

/// Whether a denial is about this table. A place in front of its name does not make it another: more is hidden then.
pub(super) fn is_meant(denied: &str, table: &str) -> bool {
    let name = denied.rsplit('.').next().unwrap_or(denied);
    denied == "*" || name.eq_ignore_ascii_case(table)
}

/// The table and the name of a denied column; without a table it is denied in all.
pub(super) fn split_column(denied: &str) -> (&str, &str) {
    denied.rsplit_once('.').unwrap_or(("*", denied))
}
