//! Notifications of a server: the progress of calls, and changes of its list of tools.
//!
//! Read from the message stream in order. The library handles each notification in a task of its own, so 50 % could
//! be reported before 25 %, or after the result.

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

/// Maximum number of unread progress values per call; further ones are dropped.
const PROGRESS_BUFFER: usize = 64;

/// Notifications of one connection.
#[derive(Default)]
pub(super) struct Notifications {
    /// Counter of changes of the tool list.
    generation: AtomicU64,
    calls: Mutex<ProgressChannels>,
}

#[derive(Default)]
struct ProgressChannels {
    open: BTreeMap<i64, mpsc::Sender<Value>>,
    /// Progress received before its call was registered: the token is known only after sending, and the server may be
    /// faster.
    unclaimed: VecDeque<(i64, Value)>,
}

impl Notifications {
    /// Returns the current generation of the tool list.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Records that the list of tools may have changed.
    pub(super) fn tools_changed(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// Subscribes to the progress of a call.
    pub(super) fn subscribe_progress(self: &Arc<Self>, token: &ProgressToken) -> Option<ProgressReceiver> {
        let NumberOrString::Number(token) = token.0 else { return None };
        let (sender, receiver) = mpsc::channel(PROGRESS_BUFFER);
        let mut calls = self.calls();
        for (_, value) in calls.unclaimed.iter().filter(|(other, _)| *other == token) {
            // Values beyond the capacity are dropped.
            let _ = sender.try_send(value.clone());
        }
        calls.unclaimed.retain(|(other, _)| *other != token);
        calls.open.insert(token, sender);
        drop(calls);
        Some(ProgressReceiver { notifications: Arc::clone(self), token, receiver })
    }

    fn on_message(&self, message: &RxJsonRpcMessage<RoleClient>) {
        let JsonRpcMessage::Notification(JsonRpcNotification { notification, .. }) = message else { return };
        match notification {
            ServerNotification::ToolListChangedNotification(_) => self.tools_changed(),
            ServerNotification::ProgressNotification(progress) => self.on_progress(&progress.params),
            _ => {}
        }
    }

    fn on_progress(&self, progress: &ProgressNotificationParam) {
        let NumberOrString::Number(token) = progress.progress_token.0 else { return };
        let mut calls = self.calls();
        match calls.open.get(&token) {
            // A subscriber that is this far behind does not need another value.
            Some(call) => drop(call.try_send(progress_json(progress))),
            None => {
                calls.unclaimed.push_back((token, progress_json(progress)));
                if calls.unclaimed.len() > PROGRESS_BUFFER {
                    calls.unclaimed.pop_front();
                }
            }
        }
    }

    fn calls(&self) -> MutexGuard<'_, ProgressChannels> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Converts progress to the form of `ToolProgress`: `progress`, and `total` and `message` if the server sends them.
fn progress_json(progress: &ProgressNotificationParam) -> Value {
    let mut update = json!({ "progress": number(progress.progress) });
    if let Some(total) = progress.total {
        update["total"] = number(total);
    }
    if let Some(message) = &progress.message {
        update["message"] = json!(message);
    }
    update
}

/// Converts a float; a whole number becomes an integer.
fn number(value: f64) -> Value {
    let integer = value as i64;
    if integer as f64 == value { json!(integer) } else { json!(value) }
}

/// Subscription to the progress of one call.
pub(super) struct ProgressReceiver {
    notifications: Arc<Notifications>,
    token: i64,
    receiver: mpsc::Receiver<Value>,
}

impl ProgressReceiver {
    /// Waits for the next value. Never returns `None` before this subscription is dropped.
    pub(super) async fn next(&mut self) -> Option<Value> {
        self.receiver.recv().await
    }

    /// Returns the next value if one has arrived.
    pub(super) fn try_next(&mut self) -> Option<Value> {
        self.receiver.try_recv().ok()
    }
}

impl Drop for ProgressReceiver {
    fn drop(&mut self) {
        self.notifications.calls().open.remove(&self.token);
    }
}

/// A transport that reports its received messages.
pub(super) struct ObservedTransport<T> {
    pub(super) transport: T,
    pub(super) notifications: Arc<Notifications>,
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for ObservedTransport<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.transport.receive().await?;
        self.notifications.on_message(&message);
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}
