//! The file as the log of changes sees it: how rows are read and written while a commit is put together.

use superstep_core::error::Result;
use superstep_core::id::CheckpointId;
use superstep_core::port::At;

use super::writer::Effect;
use super::{Sqlite, read, write};
use crate::log::{Base, Entry, Held, Job, Place, Refusal, Tables, WithMade};

impl Tables for Sqlite {
    fn held(&self) -> &Held {
        &self.0.held
    }

    async fn entry(&self, thread: i64, place: Place) -> Result<Entry> {
        self.ask(move |connection| read::entry(connection, thread, &place)).await
    }

    async fn base(&self, (thread, namespace): Place, id: CheckpointId) -> Result<Option<Base>> {
        self.ask(move |connection| read::base(connection, &thread, &namespace, At::Id(id))).await
    }

    async fn number_of(&self, line: i64, id: CheckpointId) -> Result<Option<u64>> {
        self.ask(move |connection| write::number_of(connection, line, id)).await
    }

    async fn with_made(&self, (thread, namespace): Place, id: CheckpointId) -> Result<Option<WithMade>> {
        self.ask(move |connection| read::with_made(connection, &thread, &namespace, id)).await
    }

    async fn write(&self, job: Job) -> Result<Vec<i64>, Refusal> {
        let written = self.0.writer.ask(Effect::Durable, move |desk| job.write(desk)).await;
        written.map_err(|trouble| trouble.into_refusal(&self.0.writer.place().name()))
    }
}
