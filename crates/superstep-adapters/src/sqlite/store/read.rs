//! Reading and searching items. The index selects the candidates; core decides which of them match.

use rusqlite::{Connection, Row, params};
use superstep_core::store::{
    GetOp, Item, ListNamespacesOp, SearchCollector, SearchItem, SearchOp, SearchQuery, StoreNamespace, from_bytes,
    select, similarity,
};

use super::super::error::{SqliteError, SqliteResult};
use super::ItemNames;
use crate::store_rows::{ItemColumns, query_terms, read_index};

/// The columns that `read` reads from the table `memory`.
const COLUMNS: &str = "memory.space, memory.key, value, created, updated, expires, lasts, paths";
/// Selects items under a prefix that are not expired: `?1` from, `?2` to, `?3` now.
const UNDER_PREFIX: &str = "memory.space >= ?1 AND memory.space < ?2 AND (expires IS NULL OR expires > ?3)";

/// A reader on one connection at one time.
pub(super) struct ItemReader<'a> {
    pub(super) connection: &'a Connection,
    pub(super) database: &'a str,
    pub(super) model: &'a str,
    pub(super) now: i64,
}

impl ItemReader<'_> {
    /// Decodes the item of a row.
    fn read(&self, row: &Row<'_>) -> SqliteResult<Item> {
        let columns = ItemColumns {
            space: row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?,
            key: row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?,
            value: row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?,
            created: row.get(3)?,
            updated: row.get(4)?,
            expires: row.get(5)?,
        };
        Ok(columns.read(&format_args!("`{}`", self.database))?)
    }

    /// Reads an item; if its time to live has to be renewed, it is added to `refresh`.
    pub(super) fn get(&self, get: &GetOp, refresh: Option<&mut ItemNames>) -> SqliteResult<Option<Item>> {
        let space = get.namespace.to_bytes();
        let sql =
            format!("SELECT {COLUMNS} FROM memory WHERE space = ?1 AND key = ?2 AND (expires IS NULL OR expires > ?3)");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![space, get.key.as_bytes(), self.now])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let mut item = self.read(row)?;
        if let (Some(names), Some(ttl)) = (refresh, row.get::<_, Option<i64>>(6)?) {
            item.expires_at = Some(self.now.saturating_add(ttl));
            names.push((space, get.key.as_bytes().to_vec()));
        }
        Ok(Some(item))
    }

    pub(super) fn search(
        &self,
        search: &SearchOp,
        query: &SearchQuery,
        refresh: Option<&mut ItemNames>,
    ) -> SqliteResult<Vec<SearchItem>> {
        let mut collector = SearchCollector::new(search, query);
        match query {
            SearchQuery::Nothing => self.newest(search, &mut collector)?,
            SearchQuery::Words(words) => self.by_words(search, words, &mut collector)?,
            SearchQuery::Vector(query_vector) => self.by_vector(search, query_vector, &mut collector)?,
        }
        let mut hits = collector.finish();
        if let Some(names) = refresh {
            for hit in hits.iter_mut().filter(|hit| hit.item.expires_at.is_some()) {
                let get = GetOp::new(&hit.item.namespace, hit.item.key.as_str());
                hit.item.expires_at = self.get(&get, Some(names))?.and_then(|item| item.expires_at);
            }
        }
        Ok(hits)
    }

    /// Reads items in the requested order until there are enough. Values are read one by one, because sorting would
    /// copy them.
    fn newest(&self, search: &SearchOp, collector: &mut SearchCollector<'_>) -> SqliteResult<()> {
        let order = format!("SELECT id FROM memory WHERE {UNDER_PREFIX} ORDER BY updated DESC, space, key");
        let (from, to) = search.prefix.range();
        let mut order = self.connection.prepare_cached(&order)?;
        let mut value = self.connection.prepare_cached(&format!("SELECT {COLUMNS} FROM memory WHERE id = ?1"))?;
        let mut ids = order.query(params![from, to, self.now])?;
        while !collector.is_full() {
            let Some(id) = ids.next()? else { break };
            let mut rows = value.query([id.get::<_, i64>(0)?])?;
            if let Some(row) = rows.next()? {
                collector.add_item(self.read(row)?);
            }
        }
        Ok(())
    }

    fn by_words(&self, search: &SearchOp, words: &[String], collector: &mut SearchCollector<'_>) -> SqliteResult<()> {
        if words.is_empty() {
            return Ok(());
        }
        let sql = format!(
            "SELECT {COLUMNS} FROM memory_word JOIN memory ON memory.id = memory_word.rowid \
             WHERE memory_word MATCH ?4 AND {UNDER_PREFIX}"
        );
        let (from, to) = search.prefix.range();
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![from, to, self.now, query_terms(words).join(" OR ")])?;
        while let Some(row) = rows.next()? {
            let index = read_index(row.get_ref(7)?.as_str_or_null().map_err(rusqlite::Error::from)?);
            collector.add_text_match(self.read(row)?, &index);
        }
        Ok(())
    }

    /// Searches by vector: compares every vector under the prefix, which is exact and fast enough for the data of one
    /// user or project.
    fn by_vector(
        &self,
        search: &SearchOp,
        query_vector: &[f32],
        collector: &mut SearchCollector<'_>,
    ) -> SqliteResult<()> {
        let sql = format!(
            "SELECT {COLUMNS}, memory.id, floats FROM memory JOIN memory_vector ON memory_vector.item = memory.id \
             AND memory_vector.model = ?4 WHERE {UNDER_PREFIX} ORDER BY memory.id"
        );
        let (from, to) = search.prefix.range();
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query(params![from, to, self.now, self.model])?;
        let mut best: Option<(i64, Item, f64)> = None;
        while let Some(row) = rows.next()? {
            let floats = row.get_ref(9)?.as_blob().map_err(rusqlite::Error::from)?;
            let cosine = from_bytes(floats).map_or(0.0, |vector| similarity(query_vector, &vector));
            match &mut best {
                Some((id, _, nearest)) if *id == row.get::<_, i64>(8)? => *nearest = nearest.max(cosine),
                _ => {
                    let next = (row.get(8)?, self.read(row)?, cosine);
                    if let Some((_, item, nearest)) = best.replace(next) {
                        collector.add_vector_match(item, nearest);
                    }
                }
            }
        }
        if let Some((_, item, nearest)) = best {
            collector.add_vector_match(item, nearest);
        }
        Ok(())
    }

    pub(super) fn namespaces(&self, list: &ListNamespacesOp) -> SqliteResult<Vec<StoreNamespace>> {
        let sql = format!("SELECT DISTINCT space FROM memory WHERE {UNDER_PREFIX} ORDER BY space");
        let (from, to) = list.literal_prefix().range();
        let mut statement = self.connection.prepare_cached(&sql)?;
        let spaces = statement.query_map(params![from, to, self.now], |row| row.get::<_, Vec<u8>>(0))?;
        let spaces = spaces.map(|space| Ok(StoreNamespace::from_bytes(&space?).unwrap_or_default()));
        Ok(select(spaces.collect::<Result<Vec<_>, SqliteError>>()?, list))
    }
}
