//! Reading: rows that become checkpoints again, in as few journeys as there can be.
//!
//! One brings the checkpoints that are wanted, with what belongs to each and what checkpoints of the line needed the last
//! time. Mostly that is all, and one statement needs no transaction; otherwise it is asked anew within one, and the
//! next journey brings whatever is still missing, all of it at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use superstep_core::checkpoint::{Namespace, Origin, Pending, Source};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::port::{At, HistoryQuery, Loaded};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Row as SqlRow};

use super::address::Address;
use super::hints::Hints;
use super::rows::{check_given, give_parts, give_remnants, read_names, read_origin, read_pending, read_row};
use super::trouble::{Answer, Trouble};
use crate::log::{self, Base, Entry, Gather, Line, Need, Place, Row, WithMade, damaged};

/// The first column of a checkpoint, and the one that says whether it is wanted or needed.
const FIRST: usize = 8;
const WANTED: usize = FIRST + 11;

/// Checkpoints that are read at once when it is not known how many are wanted.
const PAGE: i64 = 256;

/// One connection.
pub(super) struct Reader<'a> {
    pub(super) client: &'a Client,
    pub(super) address: &'a Address,
    /// It is in a transaction, so that all statements see one state of the tables; otherwise there is only one.
    pub(super) is_within: bool,
    pub(super) hints: &'a Hints,
}

/// Which checkpoints of a line, newest first.
#[derive(Default)]
struct Which {
    id: Option<CheckpointId>,
    before: Option<i64>,
    /// As `before`, by its id.
    before_id: Option<CheckpointId>,
    source: Option<Source>,
    step: Option<i64>,
    limit: i64,
}

impl From<At> for Which {
    fn from(at: At) -> Self {
        let id = match at {
            At::Latest | At::Newer(_) => None,
            At::Id(id) => Some(id),
        };
        Self { id, limit: 1, ..Self::default() }
    }
}

/// A line, and checkpoints of it.
struct Found {
    line: i64,
    names: Vec<Arc<str>>,
    /// The number of its newest part.
    newest_part: u64,
    checkpoints: Vec<(Row, Arc<Origin>, Vec<Pending>)>,
    /// The number of the checkpoint before which they were wanted.
    before: Option<i64>,
    /// Others that may be needed.
    along: Vec<Row>,
}

/// A checkpoint as a writer sees it, and its line.
struct Standing {
    line: i64,
    newest_part: u64,
    names: Vec<Arc<str>>,
    base: Option<Base>,
}

impl Reader<'_> {
    /// Checkpoints of a line, with what belongs to each.
    async fn find(&self, (thread, namespace): (&ThreadId, &Namespace), which: &Which) -> Answer<Option<Found>> {
        let bytes = |id: Option<CheckpointId>| id.map(|id| id.bits().to_be_bytes().to_vec());
        let (id, before) = (bytes(which.id), bytes(which.before_id));
        let along = if self.is_within { Vec::new() } else { self.hints.of(thread, namespace) };
        let source = which.source.map(|source| i16::from(source.number()));
        let given = [
            (&thread.as_str() as _, Type::TEXT),
            (&namespace.as_str().as_bytes() as _, Type::BYTEA),
            (&id as _, Type::BYTEA),
            (&which.before as _, Type::INT8),
            (&source as _, Type::INT2),
            (&which.step as _, Type::INT8),
            (&which.limit as _, Type::INT8),
            (&before as _, Type::BYTEA),
            (&along as _, Type::INT8_ARRAY),
        ];
        let rows = self.client.query_typed(&self.address.statements.find, &given).await?;
        let Some(first) = rows.first() else { return Ok(None) };
        let (line, names) = (first.try_get(0)?, read_names(namespace, first.try_get(1)?)?);
        let newest_part = first.try_get::<_, Option<i64>>(2)?.unwrap_or(0).cast_unsigned();
        let (checkpoints, before) = (Vec::with_capacity(rows.len()), first.try_get(WANTED + 1)?);
        let mut found = Found { line, names, newest_part, checkpoints, before, along: Vec::new() };
        for row in &rows {
            match row.try_get::<_, Option<bool>>(WANTED)? {
                Some(true) => found.add(row)?,
                Some(false) => found.along.push(read_row(row, FIRST)?),
                None => {}
            }
        }
        Ok(Some(found))
    }

    /// Reads whatever checkpoints still need, until that is nothing.
    async fn fill(
        &self,
        (line, way): (i64, u64),
        place: (&ThreadId, &Namespace),
        gather: &mut Gather,
        needs: impl Fn(&Gather) -> superstep_core::error::Result<Vec<Need>>,
    ) -> Answer<()> {
        loop {
            let needs = needs(gather)?;
            if needs.is_empty() {
                return Ok(());
            } else if !self.is_within {
                return Err(Trouble::Torn);
            }
            let (mut numbers, mut values, mut parts) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
            for need in &needs {
                match need {
                    // Rows mostly build on the one before, so those before are read along.
                    Need::Row(number) => numbers.extend(number.saturating_sub(way).max(1)..=*number),
                    Need::Values(number) => drop(values.insert(*number)),
                    Need::Parts(number) => parts.push(number.cast_signed()),
                }
            }
            self.hints.remember(place, &values, !parts.is_empty());
            numbers.extend(&values);
            let (rows, remnants, parts) =
                tokio::join!(self.rows(line, &numbers), self.remnants(line, &values), self.parts(line, &parts));
            give_parts(gather, parts?)?;
            rows?.into_values().try_for_each(|row| gather.give_row(row))?;
            give_remnants(gather, remnants?)?;
            check_given(gather, &needs)?;
        }
    }

    async fn rows(&self, line: i64, numbers: &BTreeSet<u64>) -> Answer<BTreeMap<u64, Row>> {
        if numbers.is_empty() {
            return Ok(BTreeMap::new());
        }
        let rows = self.numbered(line, &self.address.statements.rows, numbers).await?;
        rows.iter().map(|row| read_row(row, 0).map(|row| (row.number, row))).collect()
    }

    /// What is left of checkpoints that were pruned.
    async fn remnants(&self, line: i64, numbers: &BTreeSet<u64>) -> Answer<Vec<SqlRow>> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        self.numbered(line, &self.address.statements.remnants, numbers).await
    }

    async fn numbered(&self, line: i64, asked: &str, numbers: &BTreeSet<u64>) -> Answer<Vec<SqlRow>> {
        let numbers: Vec<i64> = numbers.iter().map(|number| number.cast_signed()).collect();
        let given = [(&line as _, Type::INT8), (&numbers as _, Type::INT8_ARRAY)];
        Ok(self.client.query_typed(asked, &given).await?)
    }

    /// Parts and all that they build on. Each comes once, also where a damaged one leads back to itself.
    async fn parts(&self, line: i64, numbers: &[i64]) -> Answer<Vec<SqlRow>> {
        if numbers.is_empty() {
            return Ok(Vec::new());
        }
        let given = [(&line as _, Type::INT8), (&numbers as _, Type::INT8_ARRAY)];
        Ok(self.client.query_typed(&self.address.statements.parts, &given).await?)
    }

    /// Where one statement was not enough the last time it is not tried.
    fn check_enough(&self, thread: &ThreadId, namespace: &Namespace) -> Answer<()> {
        if self.is_within || !self.hints.has_parts(thread, namespace) { Ok(()) } else { Err(Trouble::Torn) }
    }

    /// A checkpoint, where there is one.
    pub(super) async fn load(&self, (thread, namespace): &Place, at: At) -> Answer<Option<Loaded>> {
        self.check_enough(thread, namespace)?;
        let Some(found) = self.find((thread, namespace), &at.into()).await? else { return Ok(None) };
        let line = found.line;
        if let Some((row, ..)) = found.checkpoints.first()
            && at == At::Newer(row.mark.id)
        {
            return found.outline((thread, namespace));
        }
        let (mut gather, way) = found.gather((thread, namespace))?;
        Box::pin(self.fill((line, way), (thread, namespace), &mut gather, Gather::needs)).await?;
        Ok(gather.finish()?.pop())
    }

    /// A part of a history, newest first.
    pub(super) async fn history(&self, (thread, namespace): &Place, query: &HistoryQuery) -> Answer<Vec<Loaded>> {
        self.check_enough(thread, namespace)?;
        let place = (thread, namespace);
        let mut which = Which { source: query.source, step: query.step, ..Which::default() };
        which.before_id = query.before;
        let (mut all, mut left) = (None::<Found>, query.limit.unwrap_or(usize::MAX));
        while left > 0 {
            which.limit = i64::try_from(left).unwrap_or(PAGE).min(PAGE);
            let Some(mut page) = self.find(place, &which).await? else { break };
            if let (Some(id), None) = (query.before, page.before) {
                return Err(log::missing(id).into());
            }
            let (read, last) = (page.checkpoints.len(), page.checkpoints.last().map(|last| last.0.number));
            page.checkpoints.retain(|(row, origin, _)| query.matches_pieces(&row.mark, origin));
            left -= page.checkpoints.len();
            match &mut all {
                Some(all) => all.checkpoints.append(&mut page.checkpoints),
                None => all = Some(page),
            }
            if (read as i64) < which.limit {
                break;
            }
            if left > 0 && !self.is_within {
                return Err(Trouble::Torn);
            }
            which.before = last.map(u64::cast_signed);
        }
        let Some(found) = all else { return Ok(Vec::new()) };
        let line = found.line;
        let (mut gather, way) = found.gather(place)?;
        Box::pin(self.fill((line, way), place, &mut gather, Gather::needs)).await?;
        Ok(gather.finish()?)
    }

    /// A checkpoint as far as the next one builds on it, with the line, its newest part and the names of its fields.
    async fn base(&self, (thread, namespace): &Place, at: At) -> Answer<Option<Standing>> {
        let Some(found) = self.find((thread, namespace), &at.into()).await? else { return Ok(None) };
        let (line, newest_part, names) = (found.line, found.newest_part, found.names.clone());
        if found.checkpoints.is_empty() {
            return Ok(Some(Standing { line, newest_part, names, base: None }));
        }
        let (mut gather, way) = found.gather((thread, namespace))?;
        let needs = |gather: &Gather| Ok(gather.base()?.err().map(Need::Row).into_iter().collect());
        Box::pin(self.fill((line, way), (thread, namespace), &mut gather, needs)).await?;
        let base = gather.base()?.ok().flatten();
        Ok(Some(Standing { line, newest_part, names, base }))
    }

    /// A checkpoint as far as the next one builds on it.
    pub(super) async fn base_of(&self, place: &Place, id: CheckpointId) -> Answer<Option<Base>> {
        Ok(self.base(place, At::Id(id)).await?.and_then(|standing| standing.base))
    }

    /// A line as its writer needs it.
    pub(super) async fn entry(&self, place: &Place) -> Answer<Entry> {
        let Some(standing) = self.base(place, At::Latest).await? else { return Ok(Entry::default()) };
        let Standing { line, newest_part, names, base } = standing;
        let base = base.unwrap_or_default();
        Ok(Entry::new(Some(line), Line::new((base.number, newest_part), names, base)))
    }

    /// A checkpoint and which fields it changed.
    pub(super) async fn with_made(&self, place: &Place, id: CheckpointId) -> Answer<Option<WithMade>> {
        if !self.is_within {
            return Err(Trouble::Torn);
        }
        let Some(loaded) = self.load(place, At::Id(id)).await? else { return Ok(None) };
        let Some(Standing { names, base: Some(own), .. }) = self.base(place, At::Id(id)).await? else {
            return Ok(None);
        };
        let parent = match loaded.checkpoint.parent {
            None => Some(Base::default()),
            Some(parent) => self.base_of(place, parent).await?,
        };
        let made = parent.map(|parent| log::made(&names, &own, &parent));
        Ok(Some((loaded, made)))
    }

    /// The number of a checkpoint in its line.
    pub(super) async fn number_of(&self, line: i64, id: CheckpointId) -> Answer<Option<u64>> {
        let asked = self.address.fill("SELECT number FROM @schema@.checkpoint WHERE line = $1 AND id = $2");
        let bits = &id.bits().to_be_bytes()[..];
        let row = self.client.query_typed_opt(&asked, &[(&line, Type::INT8), (&bits, Type::BYTEA)]).await?;
        Ok(row.map(|row| row.try_get::<_, i64>(0)).transpose()?.map(i64::cast_unsigned))
    }

    /// The paths of all graphs that have checkpoints on a thread.
    pub(super) async fn namespaces(&self, thread: &ThreadId) -> Answer<Vec<Namespace>> {
        let asked = self.address.fill(
            "SELECT l.namespace FROM @schema@.thread t JOIN @schema@.line l ON l.thread = t.id WHERE t.name = $1 \
             AND EXISTS (SELECT FROM @schema@.checkpoint c WHERE c.line = l.id) ORDER BY l.namespace",
        );
        let rows = self.client.query_typed(&asked, &[(&thread.as_str(), Type::TEXT)]).await?;
        let spoilt = || damaged(CheckpointId::from_bits(0), "the path of its graph is no text");
        let read = rows.iter().map(|row| {
            let path = std::str::from_utf8(row.try_get(0)?).map_err(|_| spoilt())?;
            Ok(Namespace::from(path))
        });
        read.collect()
    }
}

impl Found {
    fn add(&mut self, row: &SqlRow) -> Answer<()> {
        let read = read_row(row, FIRST)?;
        let shared = self.checkpoints.last().filter(|(known, ..)| known.origin == read.origin);
        let origin = match (shared, row.try_get::<_, Option<&[u8]>>(3)?) {
            (Some((_, origin, _)), _) => origin.clone(),
            (None, body) => Arc::new(read_origin(body, &read)?),
        };
        let pending = read_pending(row, 4, &read)?;
        self.checkpoints.push((read, origin, pending));
        Ok(())
    }

    /// The first checkpoint without its values.
    fn outline(self, (thread, namespace): (&ThreadId, &Namespace)) -> Answer<Option<Loaded>> {
        let gather = Gather::new(thread, namespace, self.names.into());
        let first = self.checkpoints.into_iter().next();
        Ok(first.map(|(row, origin, pending)| gather.outline(row, &origin, pending)).transpose()?)
    }

    /// The checkpoints while they are being put together, and how many rows each may build on.
    fn gather(self, (thread, namespace): (&ThreadId, &Namespace)) -> Answer<(Gather, u64)> {
        let (mut gather, mut way) = (Gather::new(thread, namespace, self.names.into()), 0);
        for (row, origin, pending) in self.checkpoints {
            way = way.max(row.heads()?.way.saturating_sub(1));
            gather.want(row, origin, pending)?;
        }
        self.along.into_iter().try_for_each(|row| gather.give_row(row))?;
        Ok((gather, way))
    }
}
