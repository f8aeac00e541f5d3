-- The tables, version 3. `@schema@` is the quoted name of the schema.
-- Text that a user chose is stored as bytes: it may contain characters that the text type of PostgreSQL cannot, and is
-- independent of the encoding of the database. Its indexes use a hash because the length of an index entry is limited.

CREATE TABLE @schema@.version (
    number integer NOT NULL
);
CREATE TABLE @schema@.holder (
    id bigint PRIMARY KEY,
    seen timestamptz NOT NULL,
    lapse interval NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE @schema@.thread (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    fence bigint NOT NULL,
    holder bigint,
    run bytea,
    status smallint,
    forgotten bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
CREATE TABLE @schema@.line (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    thread bigint NOT NULL,
    namespace bytea NOT NULL,
    names bytea NOT NULL
);
CREATE UNIQUE INDEX line_by_namespace ON @schema@.line (thread, sha256(namespace));
CREATE TABLE @schema@.origin (
    line bigint NOT NULL,
    number bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (line, number)
);
CREATE TABLE @schema@.checkpoint (
    line bigint NOT NULL,
    number bigint NOT NULL,
    id bytea NOT NULL,
    parent bytea,
    step bigint NOT NULL,
    source smallint NOT NULL,
    time bigint NOT NULL,
    origin bigint NOT NULL,
    ahead bytea NOT NULL,
    heads bytea NOT NULL,
    vals bytea NOT NULL,
    sum integer NOT NULL,
    PRIMARY KEY (line, number)
);
CREATE UNIQUE INDEX checkpoint_by_id ON @schema@.checkpoint (line, id);
CREATE TABLE @schema@.part (
    line bigint NOT NULL,
    number bigint NOT NULL,
    field integer NOT NULL,
    before bigint NOT NULL,
    change bytea NOT NULL,
    body bytea NOT NULL,
    sum integer NOT NULL,
    PRIMARY KEY (line, number)
);
CREATE TABLE @schema@.remnant (
    line bigint NOT NULL,
    number bigint NOT NULL,
    vals bytea NOT NULL,
    sum integer NOT NULL,
    PRIMARY KEY (line, number)
);
CREATE TABLE @schema@.pending (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    line bigint NOT NULL,
    checkpoint bigint NOT NULL,
    task bytea NOT NULL,
    slot bytea NOT NULL,
    body bytea NOT NULL,
    sum integer NOT NULL
);
CREATE UNIQUE INDEX pending_by_slot ON @schema@.pending (line, checkpoint, task, sha256(slot));
CREATE TABLE @schema@.event (
    thread bigint NOT NULL,
    number bigint NOT NULL,
    run bytea NOT NULL,
    body bytea NOT NULL,
    sum integer NOT NULL,
    PRIMARY KEY (thread, number)
);

INSERT INTO @schema@.version (number) VALUES (3);
