-- Operations of more than one statement are functions, so that each is one round trip and one transaction.
-- Each function that changes a thread first locks its row, so that the rows it reads do not change until it ends.
-- Rows are looked up individually: a join planned while the tables were small would scan them when they are large.

-- Records the heartbeat of a holder. It has no meaning after a crash of the server, so it is not synced to disk.
CREATE FUNCTION @schema@.beat(_holder bigint, _lapse bigint) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    INSERT INTO @schema@.holder (id, seen, lapse)
        VALUES (_holder, clock_timestamp(), _lapse * interval '1 microsecond')
        ON CONFLICT (id) DO UPDATE SET seen = clock_timestamp(), lapse = excluded.lapse;
END
$function$;

-- Returns true if a thread has an active lease. `_mine` is the fence of `_me` for the thread: 0 if there is none, null
-- if one may be requested at the moment. A row of `_me` with another fence is a lease that was released or whose
-- response was lost, and is ignored.
CREATE FUNCTION @schema@.is_moved(_holder bigint, _fence bigint, _me bigint, _mine bigint) RETURNS boolean
LANGUAGE plpgsql AS $function$
BEGIN
    IF _holder IS NULL THEN
        RETURN false;
    ELSIF _holder = _me THEN
        RETURN coalesce(_mine = _fence, true);
    END IF;
    RETURN EXISTS (SELECT FROM @schema@.holder h WHERE h.id = _holder AND h.seen + h.lapse > clock_timestamp());
END
$function$;

-- Acquires the lease of a thread for a run, unless another run has an active lease.
CREATE FUNCTION @schema@.acquire(
    _name text, _run bytea, _holder bigint, _lapse bigint, _mine bigint, _least bigint,
    OUT taken bigint, OUT fence bigint, OUT before bigint, OUT moved_by bytea
) LANGUAGE plpgsql AS $function$
DECLARE
    known record;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    LOOP
        SELECT t.id, t.fence, t.holder, t.run INTO known FROM @schema@.thread t WHERE t.name = _name FOR UPDATE;
        IF FOUND THEN
            IF known.run IS DISTINCT FROM _run AND @schema@.is_moved(known.holder, known.fence, _holder, _mine) THEN
                moved_by := known.run;
                RETURN;
            END IF;
            before := known.fence;
            fence := greatest(known.fence, _least) + 1;
            taken := known.id;
            UPDATE @schema@.thread t SET fence = acquire.fence, holder = _holder, run = _run WHERE t.id = known.id;
            EXIT;
        END IF;
        before := 0;
        fence := _least + 1;
        INSERT INTO @schema@.thread (name, fence, holder, run) VALUES (_name, acquire.fence, _holder, _run)
            ON CONFLICT (name) DO NOTHING RETURNING id INTO taken;
        -- Somebody else may have made it just now.
        EXIT WHEN taken IS NOT NULL;
    END LOOP;
    PERFORM FROM @schema@.holder h WHERE h.id = _holder AND h.seen + h.lapse / 4 > clock_timestamp();
    IF NOT FOUND THEN
        PERFORM @schema@.beat(_holder, _lapse);
    END IF;
END
$function$;

-- Releases the leases of threads. Threads without a commit are deleted.
CREATE FUNCTION @schema@.release(_threads bigint[], _fences bigint[], _holder bigint) RETURNS void
LANGUAGE plpgsql AS $function$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    FOR i IN 1 .. cardinality(_threads) LOOP
        UPDATE @schema@.thread t SET holder = NULL, run = NULL
            WHERE t.id = _threads[i] AND t.fence = _fences[i] AND t.holder = _holder;
        DELETE FROM @schema@.thread t WHERE t.id = _threads[i] AND t.holder IS NULL AND t.status IS NULL;
    END LOOP;
END
$function$;

-- Releases the lease of a thread if it was acquired and the response was lost.
CREATE FUNCTION @schema@.abandon(_name text, _holder bigint) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    UPDATE @schema@.thread t SET holder = NULL, run = NULL WHERE t.name = _name AND t.holder = _holder;
    DELETE FROM @schema@.thread t WHERE t.name = _name AND t.holder IS NULL AND t.status IS NULL;
END
$function$;

-- Writes a transaction of the log completely or not at all. The columns of the rows are passed as arrays; `_line` in
-- them is an index of the arrays of histories, from 1. The code is 0 if the transaction was written, 1 if the lease is
-- not the newest, 2 if there was a concurrent write or prune, 3 if checkpoint `place` already exists, and 4 if the
-- checkpoint of task entry `place` does not exist.
CREATE FUNCTION @schema@.commit(
    _thread bigint, _fence bigint, _holder bigint, _status smallint,
    _line_row bigint[], _line_namespace bytea[], _line_newest bigint[], _line_adds boolean[], _line_names bytea[],
    _base_line integer[], _base_number bigint[], _base_id bytea[],
    _row_line integer[], _row_number bigint[], _row_id bytea[], _row_parent bytea[], _row_step bigint[],
    _row_source smallint[], _row_time bigint[], _row_origin bigint[], _row_ahead bytea[], _row_heads bytea[],
    _row_vals bytea[], _row_sum integer[],
    _origin_line integer[], _origin_number bigint[], _origin_body bytea[],
    _part_line integer[], _part_number bigint[], _part_field integer[], _part_before bigint[], _part_change bytea[],
    _part_body bytea[], _part_sum integer[],
    _task_line integer[], _task_checkpoint bigint[], _task_id bytea[], _task_slot bytea[], _task_body bytea[],
    _task_sum integer[],
    OUT code integer, OUT lines bigint[], OUT place bigint
) LANGUAGE plpgsql AS $function$
DECLARE
    known record;
    fresh bigint;
BEGIN
    SELECT t.fence, t.holder, t.status INTO known FROM @schema@.thread t WHERE t.id = _thread FOR UPDATE;
    IF NOT FOUND OR known.fence <> _fence OR known.holder IS DISTINCT FROM _holder THEN
        code := 1;
        RETURN;
    END IF;
    lines := _line_row;
    -- First: what is sent again is known by its id, whatever has become of what it builds on.
    FOR i IN 1 .. cardinality(_row_line) LOOP
        PERFORM FROM @schema@.checkpoint c WHERE c.line = lines[_row_line[i]] AND c.id = _row_id[i];
        IF FOUND THEN
            code := 3;
            place := i;
            RETURN;
        END IF;
    END LOOP;
    FOR i IN 1 .. cardinality(lines) LOOP
        IF lines[i] IS NULL THEN
            PERFORM FROM @schema@.line l WHERE l.thread = _thread AND sha256(l.namespace) = sha256(_line_namespace[i]);
            IF FOUND THEN
                code := 2;
                RETURN;
            END IF;
        ELSIF _line_adds[i] AND _line_newest[i] <> coalesce(
            (SELECT max(c.number) FROM @schema@.checkpoint c WHERE c.line = lines[i]), 0)
        THEN
            code := 2;
            RETURN;
        END IF;
    END LOOP;
    FOR i IN 1 .. cardinality(_base_line) LOOP
        PERFORM FROM @schema@.checkpoint c
            WHERE c.line = lines[_base_line[i]] AND c.number = _base_number[i] AND c.id = _base_id[i];
        IF NOT FOUND THEN
            code := 2;
            RETURN;
        END IF;
    END LOOP;
    FOR i IN 1 .. cardinality(_task_line) LOOP
        -- Many are of one checkpoint; one that this transaction adds is there in a moment.
        CONTINUE WHEN i > 1 AND _task_line[i] = _task_line[i - 1] AND _task_checkpoint[i] = _task_checkpoint[i - 1];
        PERFORM FROM @schema@.checkpoint c WHERE c.line = lines[_task_line[i]] AND c.number = _task_checkpoint[i];
        CONTINUE WHEN FOUND;
        PERFORM FROM unnest(_row_line, _row_number) AS added(line, number)
            WHERE added.line = _task_line[i] AND added.number = _task_checkpoint[i];
        IF NOT FOUND THEN
            code := 4;
            place := i;
            RETURN;
        END IF;
    END LOOP;

    FOR i IN 1 .. cardinality(lines) LOOP
        IF lines[i] IS NULL THEN
            INSERT INTO @schema@.line (thread, namespace, names)
                VALUES (_thread, _line_namespace[i], coalesce(_line_names[i], '[]')) RETURNING id INTO fresh;
            lines[i] := fresh;
        ELSIF _line_names[i] IS NOT NULL THEN
            UPDATE @schema@.line l SET names = _line_names[i] WHERE l.id = lines[i];
        END IF;
    END LOOP;
    IF cardinality(_row_line) > 0 THEN
        INSERT INTO @schema@.checkpoint
                (line, number, id, parent, step, source, time, origin, ahead, heads, vals, sum)
            SELECT lines[added.line], added.number, added.id, added.parent, added.step, added.source, added.time, added.origin,
                added.ahead, added.heads, added.vals, added.sum
            FROM unnest(_row_line, _row_number, _row_id, _row_parent, _row_step, _row_source, _row_time, _row_origin,
                _row_ahead, _row_heads, _row_vals, _row_sum)
                AS added(line, number, id, parent, step, source, time, origin, ahead, heads, vals, sum);
    END IF;
    IF cardinality(_origin_line) > 0 THEN
        INSERT INTO @schema@.origin (line, number, body)
            SELECT lines[origin.line], origin.number, origin.body
            FROM unnest(_origin_line, _origin_number, _origin_body) AS origin(line, number, body);
    END IF;
    IF cardinality(_part_line) > 0 THEN
        INSERT INTO @schema@.part (line, number, field, before, change, body, sum)
            SELECT lines[part.line], part.number, part.field, part.before, part.change, part.body, part.sum
            FROM unnest(_part_line, _part_number, _part_field, _part_before, _part_change, _part_body, _part_sum)
                AS part(line, number, field, before, change, body, sum);
    END IF;
    IF cardinality(_task_line) > 0 THEN
        -- One with the same task and slot is replaced, and keeps its place.
        INSERT INTO @schema@.pending (line, checkpoint, task, slot, body, sum)
            SELECT lines[task.line], task.checkpoint, task.id, task.slot, task.body, task.sum
            FROM unnest(_task_line, _task_checkpoint, _task_id, _task_slot, _task_body, _task_sum) WITH ORDINALITY
                AS task(line, checkpoint, id, slot, body, sum, place)
            ORDER BY task.place
            ON CONFLICT (line, checkpoint, task, sha256(slot)) DO UPDATE SET body = excluded.body, sum = excluded.sum;
    END IF;
    IF known.status IS NULL OR known.status <> _status THEN
        UPDATE @schema@.thread t SET status = coalesce(_status, 1) WHERE t.id = _thread;
    END IF;
    code := 0;
END
$function$;

-- Writes the transaction of most supersteps: one checkpoint in an existing history, optionally with an origin and
-- parts. The codes are those of `commit`.
CREATE FUNCTION @schema@.add(
    _thread bigint, _fence bigint, _holder bigint, _status smallint, _line bigint, _newest bigint,
    _base_number bigint, _base_id bytea,
    _number bigint, _id bytea, _parent bytea, _step bigint, _source smallint, _time bigint, _origin bigint,
    _ahead bytea, _heads bytea, _vals bytea, _sum integer, _origin_body bytea,
    _part_number bigint, _part_field integer[], _part_before bigint[], _part_change bytea[], _part_body bytea[],
    _part_sum integer[]
) RETURNS integer LANGUAGE plpgsql AS $function$
DECLARE
    known record;
    last record;
BEGIN
    SELECT t.fence, t.holder, t.status INTO known FROM @schema@.thread t WHERE t.id = _thread FOR UPDATE;
    IF NOT FOUND OR known.fence <> _fence OR known.holder IS DISTINCT FROM _holder THEN
        RETURN 1;
    END IF;
    SELECT c.number, c.id INTO last FROM @schema@.checkpoint c WHERE c.line = _line ORDER BY c.number DESC LIMIT 1;
    IF coalesce(last.number, 0) <> _newest THEN
        PERFORM FROM @schema@.checkpoint c WHERE c.line = _line AND c.id = _id;
        RETURN CASE WHEN FOUND THEN 3 ELSE 2 END;
    END IF;
    IF _base_number = last.number THEN
        IF last.id <> _base_id THEN
            RETURN 2;
        END IF;
    ELSIF _base_number IS NOT NULL THEN
        PERFORM FROM @schema@.checkpoint c WHERE c.line = _line AND c.number = _base_number AND c.id = _base_id;
        IF NOT FOUND THEN
            PERFORM FROM @schema@.checkpoint c WHERE c.line = _line AND c.id = _id;
            RETURN CASE WHEN FOUND THEN 3 ELSE 2 END;
        END IF;
    END IF;
    INSERT INTO @schema@.checkpoint (line, number, id, parent, step, source, time, origin, ahead, heads, vals, sum)
        VALUES (_line, _number, _id, _parent, _step, _source, _time, _origin, _ahead, _heads, _vals, _sum)
        ON CONFLICT (line, id) DO NOTHING;
    IF NOT FOUND THEN
        RETURN 3;
    END IF;
    IF _origin_body IS NOT NULL THEN
        INSERT INTO @schema@.origin (line, number, body) VALUES (_line, _number, _origin_body);
    END IF;
    FOR i IN 1 .. coalesce(cardinality(_part_field), 0) LOOP
        INSERT INTO @schema@.part (line, number, field, before, change, body, sum)
            VALUES (_line, _part_number + i - 1, _part_field[i], _part_before[i], _part_change[i], _part_body[i], _part_sum[i]);
    END LOOP;
    IF known.status IS NULL OR known.status <> _status THEN
        UPDATE @schema@.thread t SET status = coalesce(_status, 1) WHERE t.id = _thread;
    END IF;
    RETURN 0;
END
$function$;

-- Returns the highest number that an event of a thread ever had.
CREATE FUNCTION @schema@.last_event(_thread bigint) RETURNS bigint LANGUAGE sql STABLE AS $function$
    SELECT greatest(t.forgotten,
        (SELECT e.number FROM @schema@.event e WHERE e.thread = _thread ORDER BY e.number DESC LIMIT 1))
    FROM @schema@.thread t WHERE t.id = _thread
$function$;

-- Writes the events of a transaction in the order of their numbers, after `add` or `commit` in the same statement
-- returned `_code`, which is returned; the row of the thread is still locked. Events that do not follow the last one
-- roll back the transaction, unless they already exist unchanged or a checkpoint of the transaction did (`_is_repeat`).
CREATE FUNCTION @schema@.say(
    _code integer, _thread bigint, _number bigint[], _run bytea[], _body bytea[], _sum integer[], _is_repeat boolean
) RETURNS integer LANGUAGE plpgsql AS $function$
DECLARE
    last bigint;
BEGIN
    IF _code <> 0 THEN
        RETURN _code;
    END IF;
    last := @schema@.last_event(_thread);
    IF _number[1] <= last AND NOT _is_repeat THEN
        FOR i IN 1 .. cardinality(_number) LOOP
            PERFORM FROM @schema@.event e
                WHERE e.thread = _thread AND e.number = _number[i] AND e.run = _run[i] AND e.sum = _sum[i];
            IF NOT FOUND THEN
                RAISE EXCEPTION USING ERRCODE = 'SS001', MESSAGE = last;
            END IF;
        END LOOP;
        RETURN _code;
    END IF;
    INSERT INTO @schema@.event (thread, number, run, body, sum)
        SELECT _thread, said.number, said.run, said.body, said.sum
        FROM unnest(_number, _run, _body, _sum) AS said(number, run, body, sum) WHERE said.number > last;
    RETURN _code;
END
$function$;

-- Deletes events up to a number; the highest number is retained.
CREATE FUNCTION @schema@.forget_events(_name text, _up_to bigint) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
    known bigint;
BEGIN
    SELECT t.id INTO known FROM @schema@.thread t WHERE t.name = _name FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    UPDATE @schema@.thread t SET forgotten = greatest(t.forgotten, least(_up_to, @schema@.last_event(known)))
        WHERE t.id = known;
    DELETE FROM @schema@.event e WHERE e.thread = known AND e.number <= _up_to;
END
$function$;

-- Deletes all rows of a thread. If a run has an active lease, nothing is deleted and the run is returned.
CREATE FUNCTION @schema@.delete_thread(_name text, _me bigint, _mine bigint) RETURNS bytea
LANGUAGE plpgsql AS $function$
DECLARE
    known record;
    gone bigint;
BEGIN
    SELECT t.id, t.fence, t.holder, t.run INTO known FROM @schema@.thread t WHERE t.name = _name FOR UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    ELSIF @schema@.is_moved(known.holder, known.fence, _me, _mine) THEN
        RETURN known.run;
    END IF;
    FOR gone IN SELECT l.id FROM @schema@.line l WHERE l.thread = known.id LOOP
        DELETE FROM @schema@.origin o WHERE o.line = gone;
        DELETE FROM @schema@.checkpoint c WHERE c.line = gone;
        DELETE FROM @schema@.part p WHERE p.line = gone;
        DELETE FROM @schema@.remnant r WHERE r.line = gone;
        DELETE FROM @schema@.pending p WHERE p.line = gone;
    END LOOP;
    DELETE FROM @schema@.line l WHERE l.thread = known.id;
    DELETE FROM @schema@.event e WHERE e.thread = known.id;
    DELETE FROM @schema@.thread t WHERE t.id = known.id;
    RETURN NULL;
END
$function$;

-- Copies all rows of a thread to a new thread. Returns 0 if they were copied, 1 if there is nothing to copy, and 2 if
-- the target exists. `_mark` distinguishes a repeated request from another copy.
CREATE FUNCTION @schema@.copy_thread(_from text, _to text, _mark bytea) RETURNS integer
LANGUAGE plpgsql AS $function$
DECLARE
    source record;
    target bigint;
    old_line bigint;
    new_line bigint;
BEGIN
    PERFORM FROM @schema@.thread t WHERE t.name = _to AND t.holder IS NULL AND t.run = _mark;
    IF FOUND THEN
        RETURN 0;
    END IF;
    SELECT t.id, t.status, t.forgotten INTO source FROM @schema@.thread t WHERE t.name = _from FOR UPDATE;
    IF NOT FOUND OR source.status IS NULL THEN
        RETURN 1;
    END IF;
    -- Nobody moves the copy.
    INSERT INTO @schema@.thread (name, fence, run, status, forgotten)
        VALUES (_to, 0, _mark, CASE source.status WHEN 2 THEN 1 ELSE source.status END, source.forgotten)
        ON CONFLICT (name) DO NOTHING RETURNING id INTO target;
    IF target IS NULL THEN
        RETURN 2;
    END IF;
    INSERT INTO @schema@.event (thread, number, run, body, sum)
        SELECT target, e.number, e.run, e.body, e.sum FROM @schema@.event e WHERE e.thread = source.id;
    FOR old_line IN SELECT l.id FROM @schema@.line l WHERE l.thread = source.id ORDER BY l.id LOOP
        INSERT INTO @schema@.line (thread, namespace, names)
            SELECT target, l.namespace, l.names FROM @schema@.line l WHERE l.id = old_line RETURNING id INTO new_line;
        INSERT INTO @schema@.origin (line, number, body)
            SELECT new_line, o.number, o.body FROM @schema@.origin o WHERE o.line = old_line;
        INSERT INTO @schema@.checkpoint (line, number, id, parent, step, source, time, origin, ahead, heads, vals, sum)
            SELECT new_line, c.number, c.id, c.parent, c.step, c.source, c.time, c.origin, c.ahead, c.heads, c.vals,
                c.sum
            FROM @schema@.checkpoint c WHERE c.line = old_line;
        INSERT INTO @schema@.part (line, number, field, before, change, body, sum)
            SELECT new_line, p.number, p.field, p.before, p.change, p.body, p.sum
            FROM @schema@.part p WHERE p.line = old_line;
        INSERT INTO @schema@.remnant (line, number, vals, sum)
            SELECT new_line, r.number, r.vals, r.sum FROM @schema@.remnant r WHERE r.line = old_line;
        -- In the order of the keys: the order in which tasks became known is the order of the rows.
        INSERT INTO @schema@.pending (line, checkpoint, task, slot, body, sum)
            SELECT new_line, p.checkpoint, p.task, p.slot, p.body, p.sum
            FROM @schema@.pending p WHERE p.line = old_line ORDER BY p.id;
    END LOOP;
    RETURN 0;
END
$function$;
