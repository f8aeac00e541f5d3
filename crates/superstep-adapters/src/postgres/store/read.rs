//! What finds items. Indexes narrow down which rows come here; core says which are wanted.

use superstep_core::store::{Finder, Get, Hit, Item, ListNamespaces, Namespace, Query, Search, select, similarity};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::super::address::Address;
use super::super::trouble::Answer;
use super::{Names, narrow};
use crate::items::{Columns, marks_of, read_index};

/// What `read` reads, of a `memory` named so.
const COLUMNS: &str = "memory.space, memory.key, value, created, updated, expires, lasts";
/// Rows under a prefix that have not expired: from, up to, and now; and that have in them what all wanted ones have.
const UNDER: &str = "memory.space >= $1 AND memory.space < $2 AND (expires IS NULL OR expires > $3) \
                     AND ($4::text IS NULL OR doc IS NULL OR doc @> $4::jsonb)";
/// How many rows come at a time.
const PAGE: usize = 200;
/// How far the server's idea of nearness may be from ours.
const MARGIN: f64 = 1e-4;

/// A parameter, as the driver takes it.
type Given<'a> = (&'a (dyn ToSql + Sync), Type);

/// Where and when it is read.
pub(super) struct Reader<'a> {
    pub(super) client: &'a Client,
    pub(super) address: &'a Address,
    pub(super) model: &'a str,
    /// The schema of pgvector, where the server has it.
    pub(super) extension: Option<&'a str>,
    pub(super) now: i64,
}

impl Reader<'_> {
    /// The item of a row.
    fn read(&self, row: &Row) -> Answer<Item> {
        let columns = Columns {
            space: row.try_get(0)?,
            key: row.try_get(1)?,
            value: row.try_get(2)?,
            created: row.try_get(3)?,
            updated: row.try_get(4)?,
            expires: row.try_get(5)?,
        };
        Ok(columns.read(&format_args!("PostgreSQL at {}", self.address))?)
    }

    /// An item; where it is to last anew, its name goes on the list.
    pub(super) async fn get(&self, get: &Get, refresh: Option<&mut Names>) -> Answer<Option<Item>> {
        let (space, key) = (get.namespace.to_bytes(), get.key.as_bytes());
        let found = self.address.fill(&format!(
            "SELECT {COLUMNS} FROM @schema@.memory WHERE space = $1 AND key = $2 AND (expires IS NULL OR expires > $3)"
        ));
        let given = [(&space as _, Type::BYTEA), (&key as _, Type::BYTEA), (&self.now as _, Type::INT8)];
        let Some(row) = self.client.query_typed_opt(&found, &given).await? else { return Ok(None) };
        let mut item = self.read(&row)?;
        if let (Some((spaces, keys)), Some(lasts)) = (refresh, row.try_get::<_, Option<i64>>(6)?) {
            item.expires_at = Some(self.now.saturating_add(lasts));
            keys.push(key.to_vec());
            spaces.push(space);
        }
        Ok(Some(item))
    }

    pub(super) async fn search(&self, search: &Search, query: &Query, refresh: Option<&mut Names>) -> Answer<Vec<Hit>> {
        let mut finder = Finder::new(search, query);
        match (query, self.extension) {
            (Query::Nothing, _) => self.newest(search, &mut finder).await?,
            (Query::Words(words), _) => self.by_words(search, words, &mut finder).await?,
            (Query::Vector(wanted), Some(extension)) => self.nearest(search, (wanted, extension), &mut finder).await?,
            (Query::Vector(wanted), None) => self.by_vector(search, wanted, &mut finder).await?,
        }
        let mut hits = finder.finish();
        if let Some(names) = refresh {
            for hit in hits.iter_mut().filter(|hit| hit.item.expires_at.is_some()) {
                let get = Get::new(&hit.item.namespace, hit.item.key.as_str());
                hit.item.expires_at = self.get(&get, Some(names)).await?.and_then(|item| item.expires_at);
            }
        }
        Ok(hits)
    }

    /// Hands rows on, a page at a time, until somebody has enough. They are those of one moment.
    async fn each(
        &self,
        search: &Search,
        (statement, more): (&str, &[Given<'_>]),
        mut take: impl FnMut(&Row) -> Answer<bool>,
    ) -> Answer<()> {
        let ((from, to), musts) = (search.prefix.range(), narrow::musts(&search.filter));
        let mut given: Vec<Given<'_>> =
            vec![(&from, Type::BYTEA), (&to, Type::BYTEA), (&self.now, Type::INT8), (&musts, Type::TEXT)];
        given.extend(more.iter().cloned());
        let open = self.address.fill(&format!("DECLARE found NO SCROLL CURSOR FOR {statement}"));
        self.client.execute_typed(&open, &given).await?;
        let mut wants_more = true;
        while wants_more {
            let rows = self.client.query_typed(&format!("FETCH {PAGE} FROM found"), &[]).await?;
            wants_more = rows.len() == PAGE;
            for row in &rows {
                if !take(row)? {
                    wants_more = false;
                    break;
                }
            }
        }
        self.client.batch_execute("CLOSE found").await?;
        Ok(())
    }

    async fn newest(&self, search: &Search, finder: &mut Finder<'_>) -> Answer<()> {
        let statement =
            format!("SELECT {COLUMNS} FROM @schema@.memory WHERE {UNDER} ORDER BY updated DESC, space, key");
        let take = |row: &Row| {
            finder.offer(self.read(row)?);
            Ok(!finder.is_full())
        };
        self.each(search, (&statement, &[]), take).await
    }

    async fn by_words(&self, search: &Search, words: &[String], finder: &mut Finder<'_>) -> Answer<()> {
        if words.is_empty() {
            return Ok(());
        }
        let statement = format!(
            "SELECT {COLUMNS}, paths FROM @schema@.memory WHERE {UNDER} \
             AND (marks @@ $5::tsquery OR (marks IS NULL AND paths IS NOT NULL))"
        );
        let marks = marks_of(words).join(" | ");
        let take = |row: &Row| {
            finder.offer_text(self.read(row)?, &read_index(row.try_get(7)?));
            Ok(true)
        };
        self.each(search, (&statement, &[(&marks, Type::TEXT)]), take).await
    }

    /// With pgvector the nearest come first, and the rest need not come. What is nearest is still decided here: the server
    /// computes in single precision.
    async fn nearest(
        &self,
        search: &Search,
        (wanted, extension): (&[f32], &str),
        finder: &mut Finder<'_>,
    ) -> Answer<()> {
        let statement = format!(
            "SELECT {COLUMNS}, near.floats, near.distance FROM @schema@.memory JOIN LATERAL (SELECT v.floats, \
             coalesce(nullif(v.floats::{extension}.vector OPERATOR({extension}.<=>) $6::real[]::{extension}.vector, \
             'NaN'), 1) AS distance FROM @schema@.memory_vector v WHERE v.item = memory.id AND v.model = $5 \
             ORDER BY distance LIMIT 1) AS near ON true WHERE {UNDER} ORDER BY near.distance, space, key"
        );
        let (model, mut last) = (self.model.as_bytes(), None);
        let take = |row: &Row| {
            let (floats, distance): (Vec<f32>, f64) = (row.try_get(7)?, row.try_get(8)?);
            finder.offer_vector(self.read(row)?, similarity(wanted, &floats));
            if finder.is_full() {
                last = last.or(Some(distance));
            }
            Ok(last.is_none_or(|last| distance <= last + MARGIN))
        };
        let more: [Given<'_>; 2] = [(&model, Type::BYTEA), (&wanted, Type::FLOAT4_ARRAY)];
        self.each(search, (&statement, &more), take).await
    }

    /// Without pgvector every vector under the prefix comes here.
    async fn by_vector(&self, search: &Search, wanted: &[f32], finder: &mut Finder<'_>) -> Answer<()> {
        let statement = format!(
            "SELECT {COLUMNS}, floats, memory.id FROM @schema@.memory JOIN @schema@.memory_vector v ON v.item = memory.id \
             AND v.model = $5 WHERE {UNDER} ORDER BY memory.id"
        );
        let model = self.model.as_bytes();
        let mut best: Option<(i64, Item, f64)> = None;
        let take = |row: &Row| {
            let (floats, id): (Vec<f32>, i64) = (row.try_get(7)?, row.try_get(8)?);
            let cosine = similarity(wanted, &floats);
            match &mut best {
                Some((known, _, nearest)) if *known == id => *nearest = nearest.max(cosine),
                _ => {
                    if let Some((_, item, nearest)) = best.replace((id, self.read(row)?, cosine)) {
                        finder.offer_vector(item, nearest);
                    }
                }
            }
            Ok(true)
        };
        self.each(search, (&statement, &[(&model, Type::BYTEA)]), take).await?;
        if let Some((_, item, nearest)) = best {
            finder.offer_vector(item, nearest);
        }
        Ok(())
    }

    pub(super) async fn namespaces(&self, list: &ListNamespaces) -> Answer<Vec<Namespace>> {
        let found = self.address.fill(
            "SELECT DISTINCT space FROM @schema@.memory WHERE space >= $1 AND space < $2 \
             AND (expires IS NULL OR expires > $3) ORDER BY space",
        );
        let (from, to) = list.place().range();
        let given = [(&from as _, Type::BYTEA), (&to as _, Type::BYTEA), (&self.now as _, Type::INT8)];
        let rows = self.client.query_typed(&found, &given).await?;
        let spaces = rows.iter().map(|row| Ok(Namespace::from_bytes(row.try_get(0)?).unwrap_or_default()));
        Ok(select(spaces.collect::<Answer<Vec<_>>>()?, list))
    }
}
