-- A family's calendar. Times are written with their offset, as they were given; lists and maps are JSON.

CREATE TABLE families (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    zone TEXT NOT NULL,
    week_start TEXT NOT NULL,
    always_ask INTEGER NOT NULL,
    revision INTEGER NOT NULL
) STRICT;

CREATE TABLE members (
    family TEXT NOT NULL REFERENCES families (id),
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    aliases TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('parent', 'child', 'other')),
    zone TEXT,
    preferences TEXT NOT NULL,
    PRIMARY KEY (family, id)
) STRICT;

CREATE TABLE calendars (
    family TEXT NOT NULL REFERENCES families (id),
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    owner TEXT,
    visibility TEXT NOT NULL CHECK (visibility IN ('family', 'private')),
    PRIMARY KEY (family, id),
    FOREIGN KEY (family, owner) REFERENCES members (family, id)
) STRICT;

CREATE TABLE resources (
    family TEXT NOT NULL REFERENCES families (id),
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    aliases TEXT NOT NULL,
    kind TEXT NOT NULL,
    capacity INTEGER NOT NULL CHECK (capacity >= 0),
    attributes TEXT NOT NULL,
    PRIMARY KEY (family, id)
) STRICT;

-- A rule without a weight is hard. `settings` is all that its kind says.
CREATE TABLE rules (
    family TEXT NOT NULL REFERENCES families (id),
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    member TEXT,
    kind TEXT NOT NULL,
    settings TEXT NOT NULL,
    weight INTEGER,
    is_active INTEGER NOT NULL,
    PRIMARY KEY (family, id),
    FOREIGN KEY (family, member) REFERENCES members (family, id)
) STRICT;

-- A series has a rule, perhaps an empty one; an exception names its series and the start it stands for.
CREATE TABLE events (
    family TEXT NOT NULL REFERENCES families (id),
    id TEXT NOT NULL,
    uid TEXT NOT NULL,
    calendar TEXT NOT NULL,
    title TEXT NOT NULL,
    start_time TEXT NOT NULL,
    end_time TEXT NOT NULL,
    zone TEXT NOT NULL,
    is_all_day INTEGER NOT NULL,
    rule TEXT,
    left_out TEXT NOT NULL,
    added TEXT NOT NULL,
    series TEXT,
    series_start TEXT,
    priority TEXT NOT NULL,
    flexibility TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('proposed', 'validated', 'confirmed', 'rejected')),
    owner TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    location TEXT NOT NULL,
    notes TEXT NOT NULL,
    extra TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (family, id),
    FOREIGN KEY (family, calendar) REFERENCES calendars (family, id)
) STRICT;

CREATE TABLE participants (
    family TEXT NOT NULL,
    event TEXT NOT NULL,
    member TEXT NOT NULL,
    position INTEGER NOT NULL,
    is_required INTEGER NOT NULL,
    PRIMARY KEY (family, event, member),
    FOREIGN KEY (family, event) REFERENCES events (family, id) ON DELETE CASCADE,
    FOREIGN KEY (family, member) REFERENCES members (family, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX participants_by_member ON participants (family, member);

-- What an event uses, for its time or for that of the whole series.
CREATE TABLE reservations (
    family TEXT NOT NULL,
    event TEXT NOT NULL,
    resource TEXT NOT NULL,
    position INTEGER NOT NULL,
    start_time TEXT NOT NULL,
    end_time TEXT NOT NULL,
    rule TEXT,
    state TEXT NOT NULL CHECK (state IN ('tentative', 'confirmed', 'released')),
    PRIMARY KEY (family, event, resource),
    FOREIGN KEY (family, event) REFERENCES events (family, id) ON DELETE CASCADE,
    FOREIGN KEY (family, resource) REFERENCES resources (family, id) ON DELETE CASCADE
) STRICT;
CREATE INDEX reservations_by_resource ON reservations (family, resource);

-- What stands in the way among confirmed events, as it was last found.
CREATE TABLE conflicts (
    family TEXT NOT NULL REFERENCES families (id),
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    severity TEXT NOT NULL CHECK (severity IN ('low', 'medium', 'high', 'critical')),
    other_event TEXT,
    other_title TEXT,
    participants TEXT NOT NULL,
    details TEXT NOT NULL,
    PRIMARY KEY (family, id)
) STRICT;

-- A row for each thing that a change touched, as it was before and after.
CREATE TABLE audit (
    family TEXT NOT NULL REFERENCES families (id),
    revision INTEGER NOT NULL,
    position INTEGER NOT NULL,
    at_micros INTEGER NOT NULL,
    who TEXT NOT NULL,
    action TEXT NOT NULL,
    undoes INTEGER,
    kind TEXT NOT NULL,
    thing TEXT NOT NULL,
    before_image TEXT,
    after_image TEXT,
    PRIMARY KEY (family, revision, position)
) STRICT;
