-- A family's calendar. Times are written with their offset, as they were given; lists and maps are JSON.

CREATE TABLE families (
    id text PRIMARY KEY,
    name text NOT NULL,
    zone text NOT NULL,
    week_start text NOT NULL,
    always_ask boolean NOT NULL,
    revision bigint NOT NULL
);

CREATE TABLE members (
    family text NOT NULL REFERENCES families (id),
    id text NOT NULL,
    name text NOT NULL,
    aliases text NOT NULL,
    role text NOT NULL CHECK (role IN ('parent', 'child', 'other')),
    zone text,
    preferences text NOT NULL,
    PRIMARY KEY (family, id)
);

CREATE TABLE calendars (
    family text NOT NULL REFERENCES families (id),
    id text NOT NULL,
    name text NOT NULL,
    owner text,
    visibility text NOT NULL CHECK (visibility IN ('family', 'private')),
    PRIMARY KEY (family, id),
    FOREIGN KEY (family, owner) REFERENCES members (family, id)
);

CREATE TABLE resources (
    family text NOT NULL REFERENCES families (id),
    id text NOT NULL,
    name text NOT NULL,
    aliases text NOT NULL,
    kind text NOT NULL,
    capacity bigint NOT NULL CHECK (capacity >= 0),
    attributes text NOT NULL,
    PRIMARY KEY (family, id)
);

-- A rule without a weight is hard. `settings` is all that its kind says.
CREATE TABLE rules (
    family text NOT NULL REFERENCES families (id),
    id text NOT NULL,
    name text NOT NULL,
    member text,
    kind text NOT NULL,
    settings text NOT NULL,
    weight bigint,
    is_active boolean NOT NULL,
    PRIMARY KEY (family, id),
    FOREIGN KEY (family, member) REFERENCES members (family, id)
);

-- A series has a rule, perhaps an empty one; an exception names its series and the start it stands for.
CREATE TABLE events (
    family text NOT NULL REFERENCES families (id),
    id text NOT NULL,
    uid text NOT NULL,
    calendar text NOT NULL,
    title text NOT NULL,
    start_time text NOT NULL,
    end_time text NOT NULL,
    zone text NOT NULL,
    is_all_day boolean NOT NULL,
    rule text,
    left_out text NOT NULL,
    added text NOT NULL,
    series text,
    series_start text,
    priority text NOT NULL,
    flexibility text NOT NULL,
    status text NOT NULL CHECK (status IN ('proposed', 'validated', 'confirmed', 'rejected')),
    owner text NOT NULL,
    sequence bigint NOT NULL,
    location text NOT NULL,
    notes text NOT NULL,
    extra text NOT NULL,
    created_at text NOT NULL,
    updated_at text NOT NULL,
    PRIMARY KEY (family, id),
    FOREIGN KEY (family, calendar) REFERENCES calendars (family, id)
);

CREATE TABLE participants (
    family text NOT NULL,
    event text NOT NULL,
    member text NOT NULL,
    position bigint NOT NULL,
    is_required boolean NOT NULL,
    PRIMARY KEY (family, event, member),
    FOREIGN KEY (family, event) REFERENCES events (family, id) ON DELETE CASCADE,
    FOREIGN KEY (family, member) REFERENCES members (family, id) ON DELETE CASCADE
);
CREATE INDEX participants_by_member ON participants (family, member);

-- What an event uses, for its time or for that of the whole series.
CREATE TABLE reservations (
    family text NOT NULL,
    event text NOT NULL,
    resource text NOT NULL,
    position bigint NOT NULL,
    start_time text NOT NULL,
    end_time text NOT NULL,
    rule text,
    state text NOT NULL CHECK (state IN ('tentative', 'confirmed', 'released')),
    PRIMARY KEY (family, event, resource),
    FOREIGN KEY (family, event) REFERENCES events (family, id) ON DELETE CASCADE,
    FOREIGN KEY (family, resource) REFERENCES resources (family, id) ON DELETE CASCADE
);
CREATE INDEX reservations_by_resource ON reservations (family, resource);

-- What stands in the way among confirmed events, as it was last found.
CREATE TABLE conflicts (
    family text NOT NULL REFERENCES families (id),
    id text NOT NULL,
    kind text NOT NULL,
    severity text NOT NULL CHECK (severity IN ('low', 'medium', 'high', 'critical')),
    other_event text,
    other_title text,
    participants text NOT NULL,
    details text NOT NULL,
    PRIMARY KEY (family, id)
);

-- A row for each thing that a change touched, as it was before and after.
CREATE TABLE audit (
    family text NOT NULL REFERENCES families (id),
    revision bigint NOT NULL,
    position bigint NOT NULL,
    at_micros bigint NOT NULL,
    who text NOT NULL,
    action text NOT NULL,
    undoes bigint,
    kind text NOT NULL,
    thing text NOT NULL,
    before_image text,
    after_image text,
    PRIMARY KEY (family, revision, position)
);
