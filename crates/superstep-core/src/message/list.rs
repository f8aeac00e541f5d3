//! The message list of a state.
//!
//! A clone shares everything with its original, so every superstep can keep its own version of the list. At most one
//! message of the list has a given id; messages without an id cannot be found by id. The list changes only by its
//! reducer and by replayed changes (see `reduce`).

use std::fmt;
use std::iter::FusedIterator;
use std::sync::Arc;

use imbl::{OrdMap, Vector};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Message, MessageId};

/// A list of messages that is cheap to clone.
///
/// ```
/// use superstep_core::message::{Message, Messages};
///
/// let messages: Messages = [Message::user("Hi").with_id("1"), Message::assistant("Hello")].into_iter().collect();
/// assert_eq!(messages.len(), 2);
/// assert_eq!(messages.by_id("1").map(|message| message.text()), Some("Hi".into()));
/// ```
#[derive(Clone, Default)]
pub struct Messages {
    pub(super) list: Vector<Arc<Message>>,
    /// Index of the message with each id.
    pub(super) index: OrdMap<MessageId, usize>,
}

impl Messages {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns true if the list is empty.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Iterates over the messages, in order.
    pub fn iter(&self) -> MessagesIter<'_> {
        MessagesIter(self.list.iter())
    }

    /// Iterates over the shared messages, in order, for use without a copy.
    pub fn iter_arcs(&self) -> impl DoubleEndedIterator<Item = &Arc<Message>> + ExactSizeIterator {
        self.list.iter()
    }

    /// Returns all messages, shared and not copied.
    pub fn to_vec(&self) -> Vec<Arc<Message>> {
        let mut all = Vec::with_capacity(self.len());
        self.list.leaves().for_each(|leaf| all.extend_from_slice(leaf));
        all
    }

    /// Returns the message at this index.
    pub fn get(&self, index: usize) -> Option<&Message> {
        self.list.get(index).map(|message| &**message)
    }

    /// Returns the last message.
    pub fn last(&self) -> Option<&Message> {
        self.list.last().map(|message| &**message)
    }

    /// Returns the message with this id.
    pub fn by_id(&self, id: &str) -> Option<&Message> {
        self.get(self.index_of(id)?)
    }

    pub(super) fn index_of(&self, id: &str) -> Option<usize> {
        self.index.get(id).copied()
    }

    pub(super) fn push(&mut self, message: Arc<Message>) {
        if let Some(id) = &message.id {
            self.index.insert(id.clone(), self.list.len());
        }
        self.list.push_back(message);
    }
}

/// Iterator over the messages of a list, in order.
#[derive(Clone)]
pub struct MessagesIter<'a>(imbl::vector::Iter<'a, Arc<Message>, imbl::shared_ptr::DefaultSharedPtr>);

impl<'a> Iterator for MessagesIter<'a> {
    type Item = &'a Message;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|message| &**message)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl DoubleEndedIterator for MessagesIter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|message| &**message)
    }
}

impl ExactSizeIterator for MessagesIter<'_> {}

impl FusedIterator for MessagesIter<'_> {}

impl fmt::Debug for MessagesIter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}

impl<'a> IntoIterator for &'a Messages {
    type Item = &'a Message;
    type IntoIter = MessagesIter<'a>;

    fn into_iter(self) -> MessagesIter<'a> {
        self.iter()
    }
}

/// Of messages with one id the last is kept, at the position of the first, as if they came in one update.
impl<M: Into<Arc<Message>>> FromIterator<M> for Messages {
    fn from_iter<I: IntoIterator<Item = M>>(messages: I) -> Self {
        let mut all = Self::default();
        for message in messages {
            let message = message.into();
            match message.id.as_ref().and_then(|id| all.index_of(id.as_str())) {
                Some(index) => drop(all.list.set(index, message)),
                None => all.push(message),
            }
        }
        all
    }
}

impl PartialEq for Messages {
    fn eq(&self, other: &Self) -> bool {
        self.list.ptr_eq(&other.list) || self.list == other.list
    }
}

impl Eq for Messages {}

impl fmt::Debug for Messages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

impl Serialize for Messages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self)
    }
}

impl<'de> Deserialize<'de> for Messages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<Message>::deserialize(deserializer)?.into_iter().collect())
    }
}
