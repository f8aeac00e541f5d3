//! Row access of the change log during a commit.

use superstep_core::error::Result;
use superstep_core::id::CheckpointId;
use superstep_core::port::CheckpointSelector;

use super::writer_thread::SyncMode;
use super::{SqliteCheckpointer, read, write_rows};
use crate::change_log::{
    CachedHistory, CheckpointWithChanges, HistoryCache, HistoryKey, ParentCheckpoint, RowStorage, RowTransaction,
    WriteRejection,
};

impl RowStorage for SqliteCheckpointer {
    fn history_cache(&self) -> &HistoryCache {
        &self.0.history_cache
    }

    async fn load_history(&self, thread: i64, history_key: HistoryKey) -> Result<CachedHistory> {
        self.read(move |connection| read::entry(connection, thread, &history_key)).await
    }

    async fn load_parent(&self, (thread, namespace): HistoryKey, id: CheckpointId) -> Result<Option<ParentCheckpoint>> {
        self.read(move |connection| read::base(connection, &thread, &namespace, CheckpointSelector::Id(id))).await
    }

    async fn number_of(&self, history_id: i64, id: CheckpointId) -> Result<Option<u64>> {
        self.read(move |connection| write_rows::number_of(connection, history_id, id)).await
    }

    async fn load_with_changes(
        &self,
        (thread, namespace): HistoryKey,
        id: CheckpointId,
    ) -> Result<Option<CheckpointWithChanges>> {
        self.read(move |connection| read::read_with_changes(connection, &thread, &namespace, id)).await
    }

    async fn write(&self, job: RowTransaction) -> Result<Vec<i64>, WriteRejection> {
        let written = self.0.writer.execute(SyncMode::Sync, move |context| job.write(context)).await;
        written.map_err(|error| error.into_rejection(&self.0.writer.database().name()))
    }
}
