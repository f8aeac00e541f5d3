//! Reading and searching items. Indexes select the candidates; core decides which of them match.

use superstep_core::store::{
    GetOp, Item, ListNamespacesOp, SearchCollector, SearchItem, SearchOp, SearchQuery, StoreNamespace, select,
    similarity,
};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::super::config::PgConfig;
use super::super::error::PgResult;
use super::{ItemNames, index_filter};
use crate::store_rows::{ItemColumns, query_terms, read_index};

/// The columns that `read` reads from the table `memory`.
const COLUMNS: &str = "memory.space, memory.key, value, created, updated, expires, lasts";
/// Selects items under a prefix that are not expired and contain the indexable condition: `$1` from, `$2` to, `$3`
/// now, `$4` condition.
const UNDER_PREFIX: &str = "memory.space >= $1 AND memory.space < $2 AND (expires IS NULL OR expires > $3) \
                     AND ($4::text IS NULL OR doc IS NULL OR doc @> $4::jsonb)";
/// Number of rows per fetch.
const PAGE_SIZE: usize = 200;
/// Tolerance between distances computed by the server and by core.
const DISTANCE_TOLERANCE: f64 = 1e-4;

/// A query parameter with its type.
type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

/// A reader on one connection at one time.
pub(super) struct ItemReader<'a> {
    pub(super) client: &'a Client,
    pub(super) address: &'a PgConfig,
    pub(super) model: &'a str,
    /// Schema of pgvector, if it is installed.
    pub(super) extension: Option<&'a str>,
    pub(super) now: i64,
}

impl ItemReader<'_> {
    /// Decodes the item of a row.
    fn read(&self, row: &Row) -> PgResult<Item> {
        let columns = ItemColumns {
            space: row.try_get(0)?,
            key: row.try_get(1)?,
            value: row.try_get(2)?,
            created: row.try_get(3)?,
            updated: row.try_get(4)?,
            expires: row.try_get(5)?,
        };
        Ok(columns.read(&format_args!("PostgreSQL at {}", self.address))?)
    }

    /// Reads an item; if its time to live has to be renewed, it is added to `refresh`.
    pub(super) async fn get(&self, get: &GetOp, refresh: Option<&mut ItemNames>) -> PgResult<Option<Item>> {
        let (space, key) = (get.namespace.to_bytes(), get.key.as_bytes());
        let statement = self.address.fill(&format!(
            "SELECT {COLUMNS} FROM @schema@.memory WHERE space = $1 AND key = $2 AND (expires IS NULL OR expires > $3)"
        ));
        let arguments = [(&space as _, Type::BYTEA), (&key as _, Type::BYTEA), (&self.now as _, Type::INT8)];
        let Some(row) = self.client.query_typed_opt(&statement, &arguments).await? else { return Ok(None) };
        let mut item = self.read(&row)?;
        if let (Some((spaces, keys)), Some(ttl)) = (refresh, row.try_get::<_, Option<i64>>(6)?) {
            item.expires_at = Some(self.now.saturating_add(ttl));
            keys.push(key.to_vec());
            spaces.push(space);
        }
        Ok(Some(item))
    }

    pub(super) async fn search(
        &self,
        search: &SearchOp,
        query: &SearchQuery,
        refresh: Option<&mut ItemNames>,
    ) -> PgResult<Vec<SearchItem>> {
        let mut collector = SearchCollector::new(search, query);
        match (query, self.extension) {
            (SearchQuery::Nothing, _) => self.newest(search, &mut collector).await?,
            (SearchQuery::Words(words), _) => self.by_words(search, words, &mut collector).await?,
            (SearchQuery::Vector(query_vector), Some(extension)) => {
                self.nearest(search, (query_vector, extension), &mut collector).await?
            }
            (SearchQuery::Vector(query_vector), None) => self.by_vector(search, query_vector, &mut collector).await?,
        }
        let mut hits = collector.finish();
        if let Some(names) = refresh {
            for hit in hits.iter_mut().filter(|hit| hit.item.expires_at.is_some()) {
                let get = GetOp::new(&hit.item.namespace, hit.item.key.as_str());
                hit.item.expires_at = self.get(&get, Some(names)).await?.and_then(|item| item.expires_at);
            }
        }
        Ok(hits)
    }

    /// Passes rows to `on_row` page by page until it returns false. A cursor makes all pages see one snapshot.
    async fn for_each_row(
        &self,
        search: &SearchOp,
        (statement, extra_arguments): (&str, &[Parameter<'_>]),
        mut on_row: impl FnMut(&Row) -> PgResult<bool>,
    ) -> PgResult<()> {
        let ((from, to), conditions) = (search.prefix.range(), index_filter::containment_filter(&search.filter));
        let mut arguments: Vec<Parameter<'_>> =
            vec![(&from, Type::BYTEA), (&to, Type::BYTEA), (&self.now, Type::INT8), (&conditions, Type::TEXT)];
        arguments.extend(extra_arguments.iter().cloned());
        let open = self.address.fill(&format!("DECLARE found NO SCROLL CURSOR FOR {statement}"));
        self.client.execute_typed(&open, &arguments).await?;
        let mut has_more = true;
        while has_more {
            let rows = self.client.query_typed(&format!("FETCH {PAGE_SIZE} FROM found"), &[]).await?;
            has_more = rows.len() == PAGE_SIZE;
            for row in &rows {
                if !on_row(row)? {
                    has_more = false;
                    break;
                }
            }
        }
        self.client.batch_execute("CLOSE found").await?;
        Ok(())
    }

    async fn newest(&self, search: &SearchOp, collector: &mut SearchCollector<'_>) -> PgResult<()> {
        let statement =
            format!("SELECT {COLUMNS} FROM @schema@.memory WHERE {UNDER_PREFIX} ORDER BY updated DESC, space, key");
        let on_row = |row: &Row| {
            collector.add_item(self.read(row)?);
            Ok(!collector.is_full())
        };
        self.for_each_row(search, (&statement, &[]), on_row).await
    }

    async fn by_words(&self, search: &SearchOp, words: &[String], collector: &mut SearchCollector<'_>) -> PgResult<()> {
        if words.is_empty() {
            return Ok(());
        }
        let statement = format!(
            "SELECT {COLUMNS}, paths FROM @schema@.memory WHERE {UNDER_PREFIX} \
             AND (marks @@ $5::tsquery OR (marks IS NULL AND paths IS NOT NULL))"
        );
        let terms = query_terms(words).join(" | ");
        let on_row = |row: &Row| {
            collector.add_text_match(self.read(row)?, &read_index(row.try_get(7)?));
            Ok(true)
        };
        self.for_each_row(search, (&statement, &[(&terms, Type::TEXT)]), on_row).await
    }

    /// Searches by vector with pgvector: rows arrive by distance, so the rest need not be fetched. The final order is
    /// computed here, because the server uses single precision.
    async fn nearest(
        &self,
        search: &SearchOp,
        (query_vector, extension): (&[f32], &str),
        collector: &mut SearchCollector<'_>,
    ) -> PgResult<()> {
        let statement = format!(
            "SELECT {COLUMNS}, near.floats, near.distance FROM @schema@.memory JOIN LATERAL (SELECT v.floats, \
             coalesce(nullif(v.floats::{extension}.vector OPERATOR({extension}.<=>) $6::real[]::{extension}.vector, \
             'NaN'), 1) AS distance FROM @schema@.memory_vector v WHERE v.item = memory.id AND v.model = $5 \
             ORDER BY distance LIMIT 1) AS near ON true WHERE {UNDER_PREFIX} ORDER BY near.distance, space, key"
        );
        let (model, mut last_distance) = (self.model.as_bytes(), None);
        let on_row = |row: &Row| {
            let (floats, distance): (Vec<f32>, f64) = (row.try_get(7)?, row.try_get(8)?);
            collector.add_vector_match(self.read(row)?, similarity(query_vector, &floats));
            if collector.is_full() {
                last_distance = last_distance.or(Some(distance));
            }
            Ok(last_distance.is_none_or(|last_distance| distance <= last_distance + DISTANCE_TOLERANCE))
        };
        let extra_arguments: [Parameter<'_>; 2] = [(&model, Type::BYTEA), (&query_vector, Type::FLOAT4_ARRAY)];
        self.for_each_row(search, (&statement, &extra_arguments), on_row).await
    }

    /// Searches by vector without pgvector, which transfers every vector under the prefix.
    async fn by_vector(
        &self,
        search: &SearchOp,
        query_vector: &[f32],
        collector: &mut SearchCollector<'_>,
    ) -> PgResult<()> {
        let statement = format!(
            "SELECT {COLUMNS}, floats, memory.id FROM @schema@.memory JOIN @schema@.memory_vector v ON v.item = memory.id \
             AND v.model = $5 WHERE {UNDER_PREFIX} ORDER BY memory.id"
        );
        let model = self.model.as_bytes();
        let mut best: Option<(i64, Item, f64)> = None;
        let on_row = |row: &Row| {
            let (floats, id): (Vec<f32>, i64) = (row.try_get(7)?, row.try_get(8)?);
            let cosine = similarity(query_vector, &floats);
            match &mut best {
                Some((best_id, _, nearest)) if *best_id == id => *nearest = nearest.max(cosine),
                _ => {
                    if let Some((_, item, nearest)) = best.replace((id, self.read(row)?, cosine)) {
                        collector.add_vector_match(item, nearest);
                    }
                }
            }
            Ok(true)
        };
        self.for_each_row(search, (&statement, &[(&model, Type::BYTEA)]), on_row).await?;
        if let Some((_, item, nearest)) = best {
            collector.add_vector_match(item, nearest);
        }
        Ok(())
    }

    pub(super) async fn namespaces(&self, list: &ListNamespacesOp) -> PgResult<Vec<StoreNamespace>> {
        let statement = self.address.fill(
            "SELECT DISTINCT space FROM @schema@.memory WHERE space >= $1 AND space < $2 \
             AND (expires IS NULL OR expires > $3) ORDER BY space",
        );
        let (from, to) = list.literal_prefix().range();
        let arguments = [(&from as _, Type::BYTEA), (&to as _, Type::BYTEA), (&self.now as _, Type::INT8)];
        let rows = self.client.query_typed(&statement, &arguments).await?;
        let spaces = rows.iter().map(|row| Ok(StoreNamespace::from_bytes(row.try_get(0)?).unwrap_or_default()));
        Ok(select(spaces.collect::<PgResult<Vec<_>>>()?, list))
    }
}
