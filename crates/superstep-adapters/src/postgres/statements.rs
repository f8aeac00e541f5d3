//! The most frequent statements, formatted once per schema.

use super::rows::{COLUMNS, TASKS};
use super::{append, commit, journal};

pub(super) struct Statements {
    pub(super) acquire: String,
    pub(super) add: String,
    pub(super) commit: String,
    /// `add` with events as additional arguments.
    pub(super) add_with_events: String,
    /// `commit` with events as additional arguments.
    pub(super) commit_with_events: String,
    /// Statement that selects events of a thread.
    pub(super) events: String,
    /// Statement that selects checkpoints of a history with their related rows.
    pub(super) find: String,
    /// Statement that selects checkpoints by number.
    pub(super) rows: String,
    /// Statement that selects retained values of pruned checkpoints by number.
    pub(super) retained_values: String,
    /// Statement that selects parts and all parts they build on.
    pub(super) parts: String,
}

impl Statements {
    pub(super) fn new(schema: &str) -> Self {
        let fill = |statement: &str| statement.replace("@schema@", schema);
        let named = |numbers: std::ops::RangeInclusive<usize>| {
            numbers.map(|number| format!("${number}")).collect::<Vec<_>>().join(",")
        };
        let placeholders = |count: usize| named(1..=count);
        let event_placeholders = |count: usize| named(count + 1..=count + journal::ARGUMENTS);
        let (add, commit) = (append::ARGUMENTS, commit::ARGUMENTS);
        Self {
            acquire: fill("SELECT taken, fence, before, moved_by FROM @schema@.acquire($1,$2,$3,$4,$5,$6)"),
            add: format!("SELECT {schema}.add({})", placeholders(add)),
            commit: format!("SELECT code, lines, place FROM {schema}.commit({})", placeholders(commit)),
            // `$1` is the thread in both.
            add_with_events: format!(
                "SELECT {schema}.say({schema}.add({}),$1,{})",
                placeholders(add),
                event_placeholders(add)
            ),
            commit_with_events: format!(
                "SELECT {schema}.say(code,$1,{}), lines, place FROM {schema}.commit({})",
                event_placeholders(commit),
                placeholders(commit)
            ),
            events: fill(
                "SELECT e.number, e.run, e.body, e.sum FROM @schema@.thread t \
                 JOIN @schema@.event e ON e.thread = t.id WHERE t.name = $1 AND e.number > $2 \
                 AND ($3::bytea IS NULL OR e.run = $3) ORDER BY e.number LIMIT $4",
            ),
            // `$3` selects one checkpoint, `$4` and `$8` those before one, `$9` others that are probably needed.
            find: fill(&format!(
                "SELECT l.id, l.names, (SELECT max(p.number) FROM @schema@.part p WHERE p.line = l.id), o.body, \
                 known.tasks, known.slots, known.bodies, known.sums, {COLUMNS}, c.is_wanted, b.number \
                 FROM @schema@.thread t JOIN @schema@.line l ON l.thread = t.id AND sha256(l.namespace) = sha256($2) \
                 LEFT JOIN LATERAL (SELECT coalesce($4::bigint, \
                 (SELECT c.number FROM @schema@.checkpoint c WHERE c.line = l.id AND c.id = $8::bytea)) AS number) AS b \
                 ON true \
                 LEFT JOIN LATERAL ((SELECT c.*, true AS is_wanted FROM @schema@.checkpoint c WHERE c.line = l.id \
                 AND ($3::bytea IS NULL OR c.id = $3) AND (b.number IS NULL OR c.number < b.number) \
                 AND ($5::smallint IS NULL OR c.source = $5) AND ($6::bigint IS NULL OR c.step = $6) \
                 ORDER BY c.number DESC LIMIT $7) UNION ALL \
                 (SELECT c.*, false FROM @schema@.checkpoint c WHERE c.line = l.id AND c.number = ANY ($9))) AS c ON true \
                 LEFT JOIN @schema@.origin o ON c.is_wanted AND o.line = c.line AND o.number = c.origin {TASKS} \
                 WHERE t.name = $1 ORDER BY c.is_wanted DESC, c.number DESC"
            )),
            rows: fill(&format!(
                "SELECT {COLUMNS} FROM @schema@.checkpoint c WHERE c.line = $1 AND c.number = ANY ($2)"
            )),
            retained_values: fill(
                "SELECT number, vals, sum FROM @schema@.remnant WHERE line = $1 AND number = ANY ($2)",
            ),
            // `UNION` returns each part once, even if a corrupt one refers to itself.
            parts: fill(
                "WITH RECURSIVE needed(number) AS (SELECT unnest($2) UNION \
                 SELECT p.before FROM needed JOIN @schema@.part p ON p.line = $1 AND p.number = needed.number \
                 WHERE p.before > 0) \
                 SELECT p.number, p.field, p.before, p.change, p.body, p.sum \
                 FROM needed JOIN @schema@.part p ON p.line = $1 AND p.number = needed.number",
            ),
        }
    }
}
