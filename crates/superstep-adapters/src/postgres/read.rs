//! Reading of checkpoints in as few round trips as possible.
//!
//! The first round trip reads the requested checkpoints with their related rows, and the rows that the history needed
//! the last time. Usually this is sufficient, and a single statement needs no transaction; otherwise reading starts
//! again inside a transaction, and each further round trip reads all missing rows at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use superstep_core::checkpoint::{CheckpointNamespace, CheckpointSource, PendingEntry, RunInfo};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::port::{CheckpointSelector, CheckpointTuple, HistoryQuery};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row as SqlRow};

use super::config::PgConfig;
use super::error::{PgError, PgResult};
use super::read_hints::ReadHints;
use super::rows::{
    add_missing_parts, add_retained_values, read_names, read_origin, read_pending, read_row, require_rows,
};
use crate::change_log::{
    self, CachedHistory, CheckpointAssembler, CheckpointRow, CheckpointWithChanges, HistoryKey, HistoryWriter,
    MissingRows, ParentCheckpoint, corrupt_row_error,
};

/// Index of the first checkpoint column, and of the column that is true for requested checkpoints.
const FIRST_CHECKPOINT_COLUMN: usize = 8;
const IS_REQUESTED_COLUMN: usize = FIRST_CHECKPOINT_COLUMN + 11;

/// Number of checkpoints per page if the query has no limit.
const PAGE_SIZE: i64 = 256;

/// A reader on one connection.
pub(super) struct PgHistoryReader<'a> {
    pub(super) client: &'a Client,
    pub(super) address: &'a PgConfig,
    /// True inside a transaction, in which all statements see one snapshot; otherwise only one statement may be used.
    pub(super) in_transaction: bool,
    pub(super) hints: &'a ReadHints,
}

/// Selection of checkpoints of a history, newest first.
#[derive(Default)]
struct CheckpointFilter {
    id: Option<CheckpointId>,
    before: Option<i64>,
    /// Selects checkpoints before the one with this id, like `before`.
    before_id: Option<CheckpointId>,
    source: Option<CheckpointSource>,
    step: Option<i64>,
    limit: i64,
}

impl From<CheckpointSelector> for CheckpointFilter {
    fn from(at: CheckpointSelector) -> Self {
        let id = match at {
            CheckpointSelector::Latest | CheckpointSelector::NewerThan(_) => None,
            CheckpointSelector::Id(id) => Some(id),
        };
        Self { id, limit: 1, ..Self::default() }
    }
}

/// A history with some of its checkpoints.
struct FoundHistory {
    history_id: i64,
    names: Vec<Arc<str>>,
    /// Number of its newest part.
    newest_part: u64,
    checkpoints: Vec<(CheckpointRow, Arc<RunInfo>, Vec<PendingEntry>)>,
    /// Number of the checkpoint that the query named as the end.
    before: Option<i64>,
    /// Further rows that the assembler may need.
    related_rows: Vec<CheckpointRow>,
}

/// A checkpoint and its history as a writer needs them.
struct WriteBase {
    history_id: i64,
    newest_part: u64,
    names: Vec<Arc<str>>,
    base: Option<ParentCheckpoint>,
}

impl PgHistoryReader<'_> {
    /// Reads checkpoints of a history with their run info and pending entries.
    async fn find(
        &self,
        (thread, namespace): (&ThreadId, &CheckpointNamespace),
        filter: &CheckpointFilter,
    ) -> PgResult<Option<FoundHistory>> {
        let bytes = |id: Option<CheckpointId>| id.map(|id| id.bits().to_be_bytes().to_vec());
        let (id, before) = (bytes(filter.id), bytes(filter.before_id));
        let related_rows = if self.in_transaction { Vec::new() } else { self.hints.rows_for(thread, namespace) };
        let source = filter.source.map(|source| i16::from(source.to_u8()));
        let arguments = [
            (&thread.as_str() as _, Type::TEXT),
            (&namespace.as_str().as_bytes() as _, Type::BYTEA),
            (&id as _, Type::BYTEA),
            (&filter.before as _, Type::INT8),
            (&source as _, Type::INT2),
            (&filter.step as _, Type::INT8),
            (&filter.limit as _, Type::INT8),
            (&before as _, Type::BYTEA),
            (&related_rows as _, Type::INT8_ARRAY),
        ];
        let rows = self.client.query_typed(&self.address.statements.find, &arguments).await?;
        let Some(first) = rows.first() else { return Ok(None) };
        let (history_id, names) = (first.try_get(0)?, read_names(namespace, first.try_get(1)?)?);
        let newest_part = first.try_get::<_, Option<i64>>(2)?.unwrap_or(0).cast_unsigned();
        let (checkpoints, before) = (Vec::with_capacity(rows.len()), first.try_get(IS_REQUESTED_COLUMN + 1)?);
        let mut history =
            FoundHistory { history_id, names, newest_part, checkpoints, before, related_rows: Vec::new() };
        for row in &rows {
            match row.try_get::<_, Option<bool>>(IS_REQUESTED_COLUMN)? {
                Some(true) => history.add(row)?,
                Some(false) => history.related_rows.push(read_row(row, FIRST_CHECKPOINT_COLUMN)?),
                None => {}
            }
        }
        Ok(Some(history))
    }

    /// Reads missing rows until the checkpoints are complete.
    async fn fill(
        &self,
        (history_id, distance): (i64, u64),
        key: (&ThreadId, &CheckpointNamespace),
        assembler: &mut CheckpointAssembler,
        missing: impl Fn(&CheckpointAssembler) -> superstep_core::error::Result<Vec<MissingRows>>,
    ) -> PgResult<()> {
        loop {
            let missing = missing(assembler)?;
            if missing.is_empty() {
                return Ok(());
            } else if !self.in_transaction {
                return Err(PgError::InconsistentRead);
            }
            let (mut numbers, mut values, mut parts) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
            for missing_row in &missing {
                match missing_row {
                    // A row usually builds on the one before it, so earlier rows are read as well.
                    MissingRows::Row(number) => numbers.extend(number.saturating_sub(distance).max(1)..=*number),
                    MissingRows::Values(number) => drop(values.insert(*number)),
                    MissingRows::Parts(number) => parts.push(number.cast_signed()),
                }
            }
            self.hints.record(key, &values, !parts.is_empty());
            numbers.extend(&values);
            let (rows, retained_values, parts) = tokio::join!(
                self.rows(history_id, &numbers),
                self.retained_values(history_id, &values),
                self.parts(history_id, &parts)
            );
            add_missing_parts(assembler, parts?)?;
            rows?.into_values().try_for_each(|row| assembler.add_row(row))?;
            add_retained_values(assembler, retained_values?)?;
            require_rows(assembler, &missing)?;
        }
    }

    async fn rows(&self, history_id: i64, numbers: &BTreeSet<u64>) -> PgResult<BTreeMap<u64, CheckpointRow>> {
        if numbers.is_empty() {
            return Ok(BTreeMap::new());
        }
        let rows = self.numbered(history_id, &self.address.statements.rows, numbers).await?;
        rows.iter().map(|row| read_row(row, 0).map(|row| (row.number, row))).collect()
    }

    /// Reads retained values of pruned checkpoints.
    async fn retained_values(&self, history_id: i64, numbers: &BTreeSet<u64>) -> PgResult<Vec<SqlRow>> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        self.numbered(history_id, &self.address.statements.retained_values, numbers).await
    }

    async fn numbered(&self, history_id: i64, statement: &str, numbers: &BTreeSet<u64>) -> PgResult<Vec<SqlRow>> {
        let numbers: Vec<i64> = numbers.iter().map(|number| number.cast_signed()).collect();
        let arguments = [(&history_id as _, Type::INT8), (&numbers as _, Type::INT8_ARRAY)];
        Ok(self.client.query_typed(statement, &arguments).await?)
    }

    /// Reads parts and all parts they build on. Each part is returned once, even if a corrupt one refers to itself.
    async fn parts(&self, history_id: i64, numbers: &[i64]) -> PgResult<Vec<SqlRow>> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let arguments = [(&history_id as _, Type::INT8), (&numbers as _, Type::INT8_ARRAY)];
        Ok(self.client.query_typed(&self.address.statements.parts, &arguments).await?)
    }

    /// Returns `InconsistentRead` if a single statement was not sufficient the last time.
    fn check_single_statement(&self, thread: &ThreadId, namespace: &CheckpointNamespace) -> PgResult<()> {
        if self.in_transaction || !self.hints.has_parts(thread, namespace) {
            Ok(())
        } else {
            Err(PgError::InconsistentRead)
        }
    }

    /// Loads a checkpoint.
    pub(super) async fn load(
        &self,
        (thread, namespace): &HistoryKey,
        at: CheckpointSelector,
    ) -> PgResult<Option<CheckpointTuple>> {
        self.check_single_statement(thread, namespace)?;
        let Some(history) = self.find((thread, namespace), &at.into()).await? else { return Ok(None) };
        let history_id = history.history_id;
        if let Some((row, ..)) = history.checkpoints.first()
            && at == CheckpointSelector::NewerThan(row.header.id)
        {
            return history.outline((thread, namespace));
        }
        let (mut assembler, distance) = history.assembler((thread, namespace))?;
        Box::pin(self.fill(
            (history_id, distance),
            (thread, namespace),
            &mut assembler,
            CheckpointAssembler::missing_rows,
        ))
        .await?;
        Ok(assembler.finish()?.pop())
    }

    /// Loads a section of a history, newest first.
    pub(super) async fn history(
        &self,
        (thread, namespace): &HistoryKey,
        query: &HistoryQuery,
    ) -> PgResult<Vec<CheckpointTuple>> {
        self.check_single_statement(thread, namespace)?;
        let key = (thread, namespace);
        let mut filter = CheckpointFilter { source: query.source, step: query.step, ..CheckpointFilter::default() };
        filter.before_id = query.before;
        let (mut all, mut remaining) = (None::<FoundHistory>, query.limit.unwrap_or(usize::MAX));
        while remaining > 0 {
            filter.limit = i64::try_from(remaining).unwrap_or(PAGE_SIZE).min(PAGE_SIZE);
            let Some(mut page) = self.find(key, &filter).await? else { break };
            if let (Some(id), None) = (query.before, page.before) {
                return Err(change_log::checkpoint_not_found(id).into());
            }
            let (read, last) = (page.checkpoints.len(), page.checkpoints.last().map(|last| last.0.number));
            page.checkpoints.retain(|(row, origin, _)| query.matches_columns(&row.header, origin));
            remaining -= page.checkpoints.len();
            match &mut all {
                Some(all) => all.checkpoints.append(&mut page.checkpoints),
                None => all = Some(page),
            }
            if (read as i64) < filter.limit {
                break;
            }
            if remaining > 0 && !self.in_transaction {
                return Err(PgError::InconsistentRead);
            }
            filter.before = last.map(u64::cast_signed);
        }
        let Some(history) = all else { return Ok(Vec::new()) };
        let history_id = history.history_id;
        let (mut assembler, distance) = history.assembler(key)?;
        Box::pin(self.fill((history_id, distance), key, &mut assembler, CheckpointAssembler::missing_rows)).await?;
        Ok(assembler.finish()?)
    }

    /// Reads the information about a checkpoint that its child builds on, with the history, its newest part and its
    /// field names.
    async fn base(&self, (thread, namespace): &HistoryKey, at: CheckpointSelector) -> PgResult<Option<WriteBase>> {
        let Some(history) = self.find((thread, namespace), &at.into()).await? else { return Ok(None) };
        let (history_id, newest_part, names) = (history.history_id, history.newest_part, history.names.clone());
        if history.checkpoints.is_empty() {
            return Ok(Some(WriteBase { history_id, newest_part, names, base: None }));
        }
        let (mut assembler, distance) = history.assembler((thread, namespace))?;
        let missing =
            |assembler: &CheckpointAssembler| Ok(assembler.base()?.err().map(MissingRows::Row).into_iter().collect());
        Box::pin(self.fill((history_id, distance), (thread, namespace), &mut assembler, missing)).await?;
        let base = assembler.base()?.ok().flatten();
        Ok(Some(WriteBase { history_id, newest_part, names, base }))
    }

    /// Reads the information about a checkpoint that its child builds on.
    pub(super) async fn base_of(&self, key: &HistoryKey, id: CheckpointId) -> PgResult<Option<ParentCheckpoint>> {
        Ok(self.base(key, CheckpointSelector::Id(id)).await?.and_then(|write_base| write_base.base))
    }

    /// Reads a history as its writer needs it.
    pub(super) async fn entry(&self, key: &HistoryKey) -> PgResult<CachedHistory> {
        let Some(write_base) = self.base(key, CheckpointSelector::Latest).await? else {
            return Ok(CachedHistory::default());
        };
        let WriteBase { history_id, newest_part, names, base } = write_base;
        let base = base.unwrap_or_default();
        Ok(CachedHistory::new(Some(history_id), HistoryWriter::new((base.number, newest_part), names, base)))
    }

    /// Loads a checkpoint with the fields it changed.
    pub(super) async fn read_with_changes(
        &self,
        key: &HistoryKey,
        id: CheckpointId,
    ) -> PgResult<Option<CheckpointWithChanges>> {
        if !self.in_transaction {
            return Err(PgError::InconsistentRead);
        }
        let Some(loaded) = self.load(key, CheckpointSelector::Id(id)).await? else { return Ok(None) };
        let Some(WriteBase { names, base: Some(child), .. }) = self.base(key, CheckpointSelector::Id(id)).await? else {
            return Ok(None);
        };
        let parent = match loaded.checkpoint.parent {
            None => Some(ParentCheckpoint::default()),
            Some(parent) => self.base_of(key, parent).await?,
        };
        let changed_fields = parent.map(|parent| change_log::changed_fields(&names, &child, &parent));
        Ok(Some((loaded, changed_fields)))
    }

    /// Reads the number of a checkpoint in its history.
    pub(super) async fn number_of(&self, history_id: i64, id: CheckpointId) -> PgResult<Option<u64>> {
        let statement = self.address.fill("SELECT number FROM @schema@.checkpoint WHERE line = $1 AND id = $2");
        let bits = &id.bits().to_be_bytes()[..];
        let row = self.client.query_typed_opt(&statement, &[(&history_id, Type::INT8), (&bits, Type::BYTEA)]).await?;
        Ok(row.map(|row| row.try_get::<_, i64>(0)).transpose()?.map(i64::cast_unsigned))
    }

    /// Reads the namespaces of a thread that have checkpoints.
    pub(super) async fn namespaces(&self, thread: &ThreadId) -> PgResult<Vec<CheckpointNamespace>> {
        let statement = self.address.fill(
            "SELECT l.namespace FROM @schema@.thread t JOIN @schema@.line l ON l.thread = t.id WHERE t.name = $1 \
             AND EXISTS (SELECT FROM @schema@.checkpoint c WHERE c.line = l.id) ORDER BY l.namespace",
        );
        let rows = self.client.query_typed(&statement, &[(&thread.as_str(), Type::TEXT)]).await?;
        let corrupt_error = || corrupt_row_error(CheckpointId::from_bits(0), "the namespace is not valid UTF-8");
        let read = rows.iter().map(|row| {
            let path = std::str::from_utf8(row.try_get(0)?).map_err(|_| corrupt_error())?;
            Ok(CheckpointNamespace::from(path))
        });
        read.collect()
    }
}

impl FoundHistory {
    fn add(&mut self, row: &SqlRow) -> PgResult<()> {
        let read = read_row(row, FIRST_CHECKPOINT_COLUMN)?;
        let shared = self.checkpoints.last().filter(|(previous, ..)| previous.origin == read.origin);
        let origin = match (shared, row.try_get::<_, Option<&[u8]>>(3)?) {
            (Some((_, origin, _)), _) => origin.clone(),
            (None, body) => Arc::new(read_origin(body, &read)?),
        };
        let pending = read_pending(row, 4, &read)?;
        self.checkpoints.push((read, origin, pending));
        Ok(())
    }

    /// Returns the first checkpoint without its values.
    fn outline(self, (thread, namespace): (&ThreadId, &CheckpointNamespace)) -> PgResult<Option<CheckpointTuple>> {
        let assembler = CheckpointAssembler::new(thread, namespace, self.names.into());
        let first = self.checkpoints.into_iter().next();
        Ok(first.map(|(row, origin, pending)| assembler.without_values(row, &origin, pending)).transpose()?)
    }

    /// Returns an assembler for the checkpoints, and the maximum number of rows that one of them may build on.
    fn assembler(self, (thread, namespace): (&ThreadId, &CheckpointNamespace)) -> PgResult<(CheckpointAssembler, u64)> {
        let (mut assembler, mut distance) = (CheckpointAssembler::new(thread, namespace, self.names.into()), 0);
        for (row, origin, pending) in self.checkpoints {
            distance = distance.max(row.heads()?.distance_to_full_index.saturating_sub(1));
            assembler.request(row, origin, pending)?;
        }
        self.related_rows.into_iter().try_for_each(|row| assembler.add_row(row))?;
        Ok((assembler, distance))
    }
}
