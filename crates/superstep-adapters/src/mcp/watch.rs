//! What a server says without being asked: how far a call is, and that its list of tools is another.
//!
//! Heard where messages arrive, one after the other. The library hands notifications on in tasks of their own, where
//! "half" could overtake "a quarter" or come after the result.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::RoleClient;
use rmcp::model::{
    JsonRpcMessage, JsonRpcNotification, NumberOrString, ProgressNotificationParam, ProgressToken, ServerNotification,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// How much is kept of one call that nobody has read yet; what comes on top is lost, as it is only news.
const UNREAD: usize = 64;

/// What is heard on one connection.
#[derive(Default)]
pub(super) struct Watch {
    /// Counts the lists of tools there have been.
    generation: AtomicU64,
    calls: Mutex<Calls>,
}

#[derive(Default)]
struct Calls {
    open: BTreeMap<i64, mpsc::Sender<Value>>,
    /// The number of a call is known only once it is sent, and an answer may be faster.
    early: VecDeque<(i64, Value)>,
}

impl Watch {
    /// Which list of tools this is.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// From now on the list of tools may be another.
    pub(super) fn changed(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Listens to how far a call is.
    pub(super) fn follow(self: &Arc<Self>, token: &ProgressToken) -> Option<Following> {
        let NumberOrString::Number(token) = token.0 else { return None };
        let (sender, news) = mpsc::channel(UNREAD);
        let mut calls = self.calls();
        for (_, value) in calls.early.iter().filter(|(early, _)| *early == token) {
            // As many as there is room for, like all others.
            let _ = sender.try_send(value.clone());
        }
        calls.early.retain(|(early, _)| *early != token);
        calls.open.insert(token, sender);
        drop(calls);
        Some(Following { watch: Arc::clone(self), token, news })
    }

    fn hear(&self, message: &RxJsonRpcMessage<RoleClient>) {
        let JsonRpcMessage::Notification(JsonRpcNotification { notification, .. }) = message else { return };
        match notification {
            ServerNotification::ToolListChangedNotification(_) => self.changed(),
            ServerNotification::ProgressNotification(progress) => self.progressed(&progress.params),
            _ => {}
        }
    }

    fn progressed(&self, progress: &ProgressNotificationParam) {
        let NumberOrString::Number(token) = progress.progress_token.0 else { return };
        let mut calls = self.calls();
        match calls.open.get(&token) {
            // A watcher that is behind by so much does not miss one more.
            Some(call) => drop(call.try_send(news(progress))),
            None => {
                calls.early.push_back((token, news(progress)));
                if calls.early.len() > UNREAD {
                    calls.early.pop_front();
                }
            }
        }
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As `Progress` gets it: `progress`, and `total` and `message` where the server says them.
fn news(progress: &ProgressNotificationParam) -> Value {
    let mut news = json!({ "progress": number(progress.progress) });
    if let Some(total) = progress.total {
        news["total"] = number(total);
    }
    if let Some(message) = &progress.message {
        news["message"] = json!(message);
    }
    news
}

/// A whole number looks like one.
fn number(value: f64) -> Value {
    let whole = value as i64;
    if whole as f64 == value { json!(whole) } else { json!(value) }
}

/// The news of one call, until it is let go.
pub(super) struct Following {
    watch: Arc<Watch>,
    token: i64,
    news: mpsc::Receiver<Value>,
}

impl Following {
    /// The next news. Never ends while this is held.
    pub(super) async fn next(&mut self) -> Option<Value> {
        self.news.recv().await
    }

    /// The next news, if there is one already.
    pub(super) fn waiting(&mut self) -> Option<Value> {
        self.news.try_recv().ok()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.watch.calls().open.remove(&self.token);
    }
}

/// A transport whose messages are heard.
pub(super) struct Watched<T> {
    pub(super) transport: T,
    pub(super) watch: Arc<Watch>,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Watched<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.transport.receive().await?;
        self.watch.hear(&message);
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}
