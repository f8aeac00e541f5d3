//! Schema and SQL statements of the table of posts.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};

use super::{Engagement, NewPost, PostFilter, PostPage};
use crate::types::{Mode, PostSummary};

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS posts (
        number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, author_id TEXT NOT NULL, author_name TEXT NOT NULL,
        text TEXT NOT NULL, tags TEXT NOT NULL, mode TEXT NOT NULL, lat REAL, lng REAL,
        created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
        interested_count INTEGER NOT NULL DEFAULT 0, join_count INTEGER NOT NULL DEFAULT 0);
    CREATE INDEX IF NOT EXISTS posts_by_time ON posts (created_at DESC, number DESC);
    CREATE VIRTUAL TABLE IF NOT EXISTS posts_words USING fts5(
        text, tags, content = 'posts', content_rowid = 'number', tokenize = 'porter unicode61');
    CREATE TRIGGER IF NOT EXISTS posts_added AFTER INSERT ON posts BEGIN
        INSERT INTO posts_words (rowid, text, tags) VALUES (new.number, new.text, new.tags); END;
    CREATE TRIGGER IF NOT EXISTS posts_removed AFTER DELETE ON posts BEGIN
        INSERT INTO posts_words (posts_words, rowid, text, tags) VALUES ('delete', old.number, old.text, old.tags); END;";

const COLUMNS: &str = "id, author_id, author_name, text, tags, mode, lat, lng, created_at, expires_at,
    interested_count, join_count";

/// Opens the writing connection and the read-only connection.
pub(super) fn open(file: Option<&Path>) -> Result<(Connection, Connection)> {
    let location = file.map_or_else(|| "in memory".to_owned(), |file| format!("`{}`", file.display()));
    let open_error = |cause: rusqlite::Error| {
        Error::new(ErrorCode::StoreUnavailable, format!("cannot open the posts {location}: {cause}"))
    };
    // If the folder cannot be created, opening the file fails with the reason.
    file.and_then(Path::parent).map(std::fs::create_dir_all);
    let (name, flags) = match file {
        Some(file) => (file.to_string_lossy().into_owned(), OpenFlags::empty()),
        None => (memory_database_name(), OpenFlags::SQLITE_OPEN_URI),
    };
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let create_flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let writer = Connection::open_with_flags(&name, flags | create_flags).map_err(open_error)?;
    writer.busy_timeout(Duration::from_secs(5)).map_err(open_error)?;
    if file.is_some() {
        writer.pragma_update(None, "journal_mode", "WAL").map_err(open_error)?;
    }
    writer.execute_batch(TABLES).map_err(open_error)?;
    // An in-memory database is shared by name and cannot be opened read-only; `query_only` protects it instead.
    let reader_flags =
        if file.is_some() { OpenFlags::SQLITE_OPEN_READ_ONLY } else { OpenFlags::SQLITE_OPEN_READ_WRITE };
    let reader = Connection::open_with_flags(&name, flags | reader_flags).map_err(open_error)?;
    reader.busy_timeout(Duration::from_secs(5)).map_err(open_error)?;
    reader.pragma_update(None, "query_only", true).map_err(open_error)?;
    Ok((writer, reader))
}

/// Returns a database name that is unique in this process.
fn memory_database_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("file:superstep-posts-{number}?mode=memory&cache=shared")
}

pub(super) fn create(connection: &Connection, post: &NewPost, now: Time) -> rusqlite::Result<PostSummary> {
    let mut micros = now.as_unix_micros();
    let expires_at = time(micros.saturating_add(post.ttl.micros()))?;
    loop {
        // Ids are timestamps; another process may have created a post in the same microsecond.
        let id = format!("p{micros:x}");
        let summary = PostSummary {
            id,
            author_id: post.author_id.clone(),
            author_name: post.author_name.clone(),
            text: post.text.trim().to_owned(),
            tags: post.tags.iter().map(|tag| tag.trim().to_owned()).collect(),
            mode: post.mode,
            lat: post.lat,
            lng: post.lng,
            created_at: now,
            expires_at,
            interested_count: 0,
            join_count: 0,
        };
        if insert(connection, &summary)? {
            return Ok(summary);
        }
        micros += 1;
    }
}

pub(super) fn import(connection: &mut Connection, posts: &[PostSummary]) -> rusqlite::Result<usize> {
    let transaction = connection.transaction()?;
    let mut count = 0;
    for post in posts {
        count += usize::from(insert(&transaction, post)?);
    }
    transaction.commit()?;
    Ok(count)
}

/// Inserts a post. Returns false if the id exists.
fn insert(connection: &Connection, post: &PostSummary) -> rusqlite::Result<bool> {
    let statement =
        format!("INSERT OR IGNORE INTO posts ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)");
    let tags = serde_json::Value::from(post.tags.clone()).to_string();
    let (created, expires) = (post.created_at.as_unix_micros(), post.expires_at.as_unix_micros());
    let (interested, joined) = (to_i64(post.interested_count), to_i64(post.join_count));
    let mut statement = connection.prepare_cached(&statement)?;
    let changed = statement.execute(params![
        post.id,
        post.author_id,
        post.author_name,
        post.text,
        tags,
        post.mode.name(),
        post.lat,
        post.lng,
        created,
        expires,
        interested,
        joined
    ])?;
    Ok(changed > 0)
}

pub(super) fn get(connection: &Connection, id: &str, now: Time) -> rusqlite::Result<Option<PostSummary>> {
    let statement = format!("SELECT {COLUMNS} FROM posts WHERE id = ?1 AND expires_at > ?2");
    connection.prepare_cached(&statement)?.query_row(params![id, now.as_unix_micros()], post_from_row).optional()
}

/// Lists a page of posts. Returns `None` if the post of `after` does not exist.
pub(super) fn list(connection: &Connection, filter: &PostFilter, now: Time) -> rusqlite::Result<Option<PostPage>> {
    if let Some(after) = &filter.after {
        let exists = connection.prepare_cached("SELECT 1 FROM posts WHERE id = ?1")?.exists([after])?;
        if !exists {
            return Ok(None);
        }
    }
    let limit = if filter.limit == 0 { 50 } else { filter.limit.min(200) };
    let statement = format!(
        "SELECT {COLUMNS} FROM posts WHERE expires_at > ?1
            AND (?2 IS NULL OR EXISTS (SELECT 1 FROM json_each(tags) WHERE lower(value) = lower(?2)))
            AND (?3 IS NULL OR mode = ?3)
            AND (?4 IS NULL OR (created_at, number) < (SELECT created_at, number FROM posts WHERE id = ?4))
         ORDER BY created_at DESC, number DESC LIMIT ?5"
    );
    let fetch_limit = i64::try_from(limit + 1).unwrap_or(i64::MAX);
    let mode = filter.mode.map(Mode::name);
    let mut statement = connection.prepare_cached(&statement)?;
    let rows = statement
        .query_map(params![now.as_unix_micros(), filter.tag, mode, filter.after, fetch_limit], post_from_row)?;
    let mut posts = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    let has_more = posts.len() > limit;
    posts.truncate(limit);
    Ok(Some(PostPage { next: posts.last().filter(|_| has_more).map(|post| post.id.clone()), posts }))
}

pub(super) fn engage(
    connection: &Connection,
    id: &str,
    engagement: Engagement,
    now: Time,
) -> rusqlite::Result<Option<PostSummary>> {
    let column = match engagement {
        Engagement::Interested => "interested_count",
        Engagement::Join => "join_count",
    };
    let statement =
        format!("UPDATE posts SET {column} = {column} + 1 WHERE id = ?1 AND expires_at > ?2 RETURNING {COLUMNS}");
    connection.prepare_cached(&statement)?.query_row(params![id, now.as_unix_micros()], post_from_row).optional()
}

/// Returns all unexpired posts, newest first.
pub(super) fn unexpired(connection: &Connection, now: Time) -> rusqlite::Result<Vec<PostSummary>> {
    let statement = format!("SELECT {COLUMNS} FROM posts WHERE expires_at > ?1 ORDER BY created_at DESC, number DESC");
    connection.prepare_cached(&statement)?.query_map([now.as_unix_micros()], post_from_row)?.collect()
}

/// Returns the ids of posts that contain a word, compared by stem.
pub(super) fn with_word(connection: &Connection, word: &str) -> rusqlite::Result<Vec<String>> {
    let statement = "SELECT id FROM posts WHERE number IN (SELECT rowid FROM posts_words WHERE posts_words MATCH ?1)";
    let quoted = format!("\"{}\"", word.replace('"', ""));
    connection.prepare_cached(statement)?.query_map([quoted], |row| row.get(0))?.collect()
}

pub(super) fn database_error(cause: &rusqlite::Error) -> Error {
    Error::new(ErrorCode::StoreUnavailable, format!("the posts cannot be read or written: {cause}"))
}

fn post_from_row(row: &Row<'_>) -> rusqlite::Result<PostSummary> {
    let (tags, mode): (String, String) = (row.get("tags")?, row.get("mode")?);
    let count = |column: &str| row.get::<_, i64>(column).map(|count| u64::try_from(count).unwrap_or(0));
    Ok(PostSummary {
        id: row.get("id")?,
        author_id: row.get("author_id")?,
        author_name: row.get("author_name")?,
        text: row.get("text")?,
        tags: serde_json::from_str(&tags).unwrap_or_default(),
        mode: Mode::from_name(&mode).unwrap_or_default(),
        lat: row.get("lat")?,
        lng: row.get("lng")?,
        created_at: time(row.get("created_at")?)?,
        expires_at: time(row.get("expires_at")?)?,
        interested_count: count("interested_count")?,
        join_count: count("join_count")?,
    })
}

fn time(micros: i64) -> rusqlite::Result<Time> {
    Time::from_unix_micros(micros).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(0, micros))
}

fn to_i64(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
