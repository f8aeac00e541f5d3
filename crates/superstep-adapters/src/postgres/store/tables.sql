-- The tables of the long-term store, version 1, independent of those of checkpoints.
-- Names and values are bytes: they may contain characters that the text type of PostgreSQL cannot, and sort as in core.
-- `doc` and `marks` only preselect the rows that core checks; a row without them is always checked.

CREATE TABLE @schema@.memory_version (
    number integer NOT NULL
);
CREATE TABLE @schema@.memory (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    space bytea NOT NULL,
    key bytea NOT NULL,
    value bytea NOT NULL,
    doc jsonb,
    paths text,
    marks tsvector,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    expires bigint,
    lasts bigint,
    UNIQUE (space, key)
);
CREATE INDEX memory_by_end ON @schema@.memory (expires) WHERE expires IS NOT NULL;
CREATE INDEX memory_by_mark ON @schema@.memory USING gin (marks);
CREATE INDEX memory_without_marks ON @schema@.memory (space) WHERE marks IS NULL AND paths IS NOT NULL;
CREATE INDEX memory_by_doc ON @schema@.memory USING gin (doc jsonb_path_ops);
CREATE INDEX memory_without_doc ON @schema@.memory (space) WHERE doc IS NULL;
CREATE TABLE @schema@.memory_vector (
    item bigint NOT NULL REFERENCES @schema@.memory ON DELETE CASCADE,
    model bytea NOT NULL,
    floats real[] NOT NULL
);
CREATE INDEX memory_vector_by_item ON @schema@.memory_vector (item);
INSERT INTO @schema@.memory_version (number) VALUES (1);
