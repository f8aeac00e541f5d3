//! Banned words in names, with the words to use instead.
//!
//! Contains only data; `words` applies it. Each row has forms of related words and the standard words for them. A form
//! with an underscore is a phrase: its words must be consecutive in a name.

/// A row: the banned forms, and the words to use instead.
pub(super) type Row = (&'static str, &'static str);

/// Words and phrases banned as any part of any name.
pub(super) const PARTS: &[Row] = &[
    // Places and furniture.
    ("rim rims", "engine, boundary"),
    ("room rooms lobby", "adapter, module, pool, thread"),
    ("door doors", "port, gate"),
    ("desk desks", "service, executor"),
    ("hall halls", "context"),
    ("house houses household households furniture", "project, family"),
    ("office offices", "app state"),
    ("shelf shelves", "index, cache"),
    ("wall walls", "local time, validator, boundary"),
    ("ledger ledgers", "repository, log"),
    ("vault vaults", "secrets"),
    ("curtain curtains grave graves bury buried", "fault, tombstone, delete"),
    ("board boards", "snapshot"),
    ("tale tales tape tapes", "story state, cassette"),
    // People and their traits.
    ("keeper keepers saver savers", "checkpointer, journal"),
    ("asker askers", "requester, caller"),
    ("teller tellers bringer bringers", "publisher, importer"),
    ("mover movers victim victims", "lease holder, worker"),
    ("whoever nobody somebody anybody", "client, user, caller"),
    ("belongings", "thread data"),
    ("voice voices", "debate agent, model"),
    ("ear ears", "listener"),
    ("puppet puppets meddle meddles meddled unruly", "scripted, hook, faulty"),
    ("patience patient patiently", "timeout, retry timeout"),
    ("careless neglect planted", "seeded bug, ignored sync"),
    ("wish wishes", "request, criteria"),
    ("doubt doubts doubted doubtful unsure", "ambiguity, outcome unknown"),
    ("errand errands journey journeys", "job, request"),
    ("thing things", "resource, item"),
    // What happens to data.
    ("trouble troubles troubled", "error"),
    ("misfit misfits unfit", "validation error"),
    ("spoilt spoils damage damages damaged torn bent bend bends", "corruption, corrupt"),
    ("sealed seal seals sealing unseal", "encrypted, encrypt"),
    ("spilled spill spills", "offloaded, offload"),
    ("squeeze squeezed squeezes unsqueeze", "compress, compressed"),
    ("doomed", "pending deletion"),
    ("remnant remnants", "remainder, leftover rows"),
    ("upkeep", "prune, maintenance"),
    ("lapse lapsed lapses", "lease timeout, expired"),
    ("mend mends mended", "repair"),
    ("debt debts owed owes", "backlog, unsent"),
    ("lent loan loans parcel parcels", "guard"),
    ("brake brakes", "cancel, stop handle"),
    ("lap laps", "cycle, superstep"),
    ("wiring wired", "topology, edges"),
    ("cue", "turn prompt"),
    ("sighting sightings misheard overhear", "observation, misread"),
    ("nameless", "unnamed"),
    ("outward", "parent graph"),
    // Everyday verbs used as nouns.
    ("told tell telling", "event, publish"),
    ("said say saying", "message, text"),
    ("heard hear hears hearing unheard", "received, last sent"),
    ("kept unkept", "saved, stored, cached"),
    ("asked asking askable", "request, requested, interrupt"),
    ("meant", "matched, resolved"),
    ("understood understand", "parsed"),
    ("begun began begins", "started, starts"),
    ("refuse refused refuses refusing refusal refusals", "reject, rejected, error"),
    ("forget forgets forgot", "evict, delete, release"),
    ("remembered", "cached"),
    // Phrases.
    ("take_up takes_up taken_up took_up taking_up", "recover, recovery"),
    ("take_back takes_back taken_back", "undo, release"),
    ("give_back gives_back given_back", "release"),
    ("go_on goes_on going_on gone_on went_on", "continue, resume"),
    ("let_go lets_go", "release, evict"),
    ("call_off called_off set_aside wind_up", "cancel, drain"),
    ("write_down written_down writes_down", "save, commit"),
    ("held_against", "validation error"),
    ("in_the_way way_out ways_out", "conflict, resolution"),
    ("sign_of_life show_life", "heartbeat"),
];

/// Words banned as a whole name of any kind.
pub(super) const NAMES: &[Row] = &[
    ("what", "input, request, or the noun it stands for"),
    ("who whose whom", "user, owner, requester"),
    ("why", "reason, cause, trigger"),
    ("given", "input, arguments, options"),
    ("shown show shows", "response, display, json"),
    ("found", "matches, hit, result"),
    ("known", "registered, cached, existing, pending"),
    ("made", "created, result"),
    ("place places", "location, index, path, slot"),
    ("way ways", "method, route, resolution"),
    ("hand hands", "worker, slot"),
    ("wanted wants", "requested, filter"),
    ("tells says gives give", "publish, report, add"),
    ("ask asks", "request, interrupt"),
    ("spoken", "displayed, described"),
    ("lie lies", "ignored sync, fault"),
    ("keep keeps", "save, retain, journal"),
    ("look looks looked", "read, check, find"),
    ("whole", "full, complete, root"),
    ("inside", "subgraph, nested"),
    ("around", "wrapped, parent"),
    ("beside", "offloaded, separate"),
    ("due ahead", "next tasks"),
    ("gone", "removed, expired"),
    ("wrong", "invalid"),
    ("fresh", "new"),
    ("tried tries again", "attempts, retries"),
    ("beat beats", "heartbeat"),
    ("standing standings", "status, conflicts"),
    ("at_once", "max concurrency"),
];

/// Words banned as the whole name of a type or module.
pub(super) const TYPES: &[Row] = &[
    ("line", "the text, history or message it is"),
    ("turn", "queue position, lease, agent turn"),
    ("work", "task, job, function"),
    ("mark", "marker, checkpoint header"),
    ("part", "delta, content part"),
    ("held taken left", "guard, lease, cache"),
    ("seen", "visible, recorded"),
    ("how where which", "mode, location"),
    ("moment", "instant, date-time"),
    ("own", "arguments, or the noun it stands for"),
    ("life", "lifetime, ttl"),
    ("scratch", "temporary file, scratchpad"),
    ("news", "events"),
];

/// Words banned at the start of a constant: a limit is `MAX_…` or `MIN_…`.
pub(super) const LIMITS: &[Row] = &[
    ("most longest deepest furthest largest widest", "MAX"),
    ("least shortest fewest smallest", "MIN"),
    ("pause pauses", "DELAY, INTERVAL"),
];
