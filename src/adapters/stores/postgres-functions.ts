// Functions in the database. Each does in one round trip what would take several, and decides who owns a run by the clock of the database.
//
//   postgres-epoch-in-transaction. Frames are stored only if this process owns the run with this epoch, and they follow the last one.
//   postgres-batch-once. A batch that is sent again, because nobody knows whether it was committed, is stored once: its number says so.
//   postgres-lease-of-process. A run can be acquired if nobody owns it, or if the lease of the process that owns it has lapsed. For one
//       lease after the server has started, no lease counts as lapsed: nobody could renew it while the server was away.
import { zeroHash } from '#base';

export const postgresFunctions = (schema: string): string => `
  CREATE FUNCTION is_live(lapses_at timestamptz, lease_ms integer) RETURNS boolean LANGUAGE sql AS $$
    SELECT coalesce(lapses_at > clock_timestamp()
      OR clock_timestamp() < pg_postmaster_start_time() + lease_ms * interval '1 millisecond', false)
  $$;
  ${renewLease}
  ${closeInstance}
  ${acquireRun}
  ${putSignals(schema)}
  ${shareValues}
  ${commitBatch}
`;

// Returns how often this lease was found lapsed, so that a process whose answer got lost learns of it with the next one. A renewal need not
// survive a crash of the server, after which nobody's lease lapses for a while anyway.
const renewLease = `
  CREATE FUNCTION renew_lease(self instances) RETURNS integer LANGUAGE plpgsql AS $$
  DECLARE
    until timestamptz := clock_timestamp() + self.lease_ms * interval '1 millisecond';
    count integer;
  BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    UPDATE instances SET lapses_at = until WHERE instance = self.instance AND lapses_at > clock_timestamp()
      RETURNING lapses INTO count;
    IF FOUND THEN RETURN count; END IF;
    INSERT INTO instances VALUES (self.instance, self.pid, self.host, self.started, self.since, self.lease_ms, until)
      ON CONFLICT (instance) DO UPDATE SET lapses_at = until, lapses = instances.lapses + 1
      RETURNING lapses INTO count;
    DELETE FROM batches USING instances AS gone WHERE batches.instance = gone.instance
      AND gone.lapses_at < clock_timestamp() - interval '1 day';
    DELETE FROM instances AS gone WHERE lapses_at < clock_timestamp() - interval '1 day'
      AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.owner = gone.instance);
    RETURN count;
  END $$;
`;

const closeInstance = `
  CREATE FUNCTION close_instance(self text) RETURNS void LANGUAGE sql AS $$
    DELETE FROM runs WHERE owner = self AND frames = 0;
    UPDATE runs SET owner = NULL WHERE owner = self;
    DELETE FROM batches WHERE instance = self;
    DELETE FROM instances WHERE instance = self;
  $$;
`;

const acquireRun = `
  CREATE FUNCTION acquire_run(self text, wanted text) RETURNS json LANGUAGE plpgsql AS $$
  DECLARE
    found_run runs;
    holder instances;
    new_epoch bigint;
  BEGIN
    LOOP
      SELECT * INTO found_run FROM runs WHERE run = wanted FOR UPDATE;
      EXIT WHEN FOUND;
      INSERT INTO runs(run, frames, head)
        SELECT wanted, coalesce(max(no) + 1, 0),
          coalesce((SELECT hash FROM frames WHERE run = wanted ORDER BY no DESC LIMIT 1), '${zeroHash}')
        FROM frames WHERE run = wanted
        ON CONFLICT DO NOTHING;
    END LOOP;
    -- Asked once the row is locked: whoever deletes a run locks it, too.
    IF EXISTS (SELECT 1 FROM deleted JOIN book USING (no) WHERE run = wanted) THEN
      DELETE FROM runs WHERE run = wanted AND frames = 0;
      RETURN json_build_object('run', wanted, 'isDeleted', true);
    END IF;
    IF found_run.owner <> self THEN
      SELECT * INTO holder FROM instances WHERE instance = found_run.owner FOR SHARE;
      IF FOUND AND is_live(holder.lapses_at, holder.lease_ms) THEN
        RETURN json_build_object('run', wanted, 'owner', row_to_json(holder));
      END IF;
    END IF;
    new_epoch := nextval('epochs');
    UPDATE runs SET owner = self, epoch = new_epoch WHERE run = wanted;
    RETURN json_build_object('run', wanted, 'epoch', new_epoch, 'frames', found_run.frames, 'head', found_run.head);
  END $$;
`;

// In the order in which they came, because one may be stored and removed in the same batch.
const putSignals = (schema: string): string => `
  CREATE FUNCTION put_signals(items json, max_waiting integer) RETURNS json LANGUAGE plpgsql AS $$
  DECLARE
    item record;
    decisions text[] := '{}';
    waiting bigint;
    same boolean;
    is_new boolean := false;
  BEGIN
    FOR item IN SELECT * FROM json_to_recordset(items) AS one(run text, id text, sender text, at bigint, body text) LOOP
      IF item.body IS NULL THEN
        DELETE FROM signals WHERE run = item.run AND id = item.id;
        CONTINUE;
      END IF;
      SELECT count(*), coalesce(bool_or(id = item.id), false) INTO waiting, same FROM signals WHERE run = item.run;
      IF NOT same AND waiting < max_waiting THEN
        INSERT INTO signals(run, id, sender, at, body) VALUES (item.run, item.id, item.sender, item.at, item.body)
          ON CONFLICT DO NOTHING;
        same := NOT FOUND;
        is_new := is_new OR FOUND;
        decisions := decisions || CASE WHEN same THEN 'known' ELSE 'stored' END;
      ELSE
        decisions := decisions || CASE WHEN same THEN 'known' ELSE 'full' END;
      END IF;
    END LOOP;
    IF is_new THEN PERFORM pg_notify('cloister_${schema}', 's'); END IF;
    RETURN to_json(decisions);
  END $$;
`;

// A value that nobody has written has version 0.
const shareValues = `
  CREATE FUNCTION share_values(items json) RETURNS json LANGUAGE plpgsql AS $$
  DECLARE
    item record;
    written boolean[] := '{}';
  BEGIN
    FOR item IN SELECT * FROM json_to_recordset(items) AS one(name text, value text, version bigint) LOOP
      IF item.version = 1 THEN
        INSERT INTO shared VALUES (item.name, item.value, 1) ON CONFLICT DO NOTHING;
      ELSE
        UPDATE shared SET value = item.value, version = item.version WHERE key = item.name AND version = item.version - 1;
      END IF;
      written := written || FOUND;
    END LOOP;
    RETURN to_json(written);
  END $$;
`;

// The bodies of all frames are one value, with the place of each, so that nothing need be escaped.
const commitBatch = `
  CREATE FUNCTION commit_batch(
    self text, number bigint,
    of_run text[], of_epoch bigint[], first_no integer[], previous_head text[], new_head text[], frame_count integer[],
    frame_run integer[], frame_no integer[], frame_start integer[], frame_length integer[], frame_hash text[], bodies bytea,
    facts json, fork_frames integer[],
    confirmed text[], confirmed_epoch bigint[], released text[], wanted text[], signal_items json, shared_items json, max_waiting integer,
    blob_ref text[], blob_start integer[], blob_length integer[], blob_bytes bytea
  ) RETURNS text LANGUAGE plpgsql AS $$
  DECLARE
    answer text;
    written integer[] := '{}';
    first_place bigint;
    broken json;
    owned json;
    decisions json;
    shared_written json;
  BEGIN
    UPDATE batches SET batch = number, ack = NULL WHERE instance = self AND batch < number;
    IF NOT FOUND THEN
      INSERT INTO batches VALUES (self, number) ON CONFLICT DO NOTHING;
      IF NOT FOUND THEN
        SELECT coalesce(ack, '{}') INTO answer FROM batches WHERE instance = self AND batch = number;
        RETURN answer;
      END IF;
    END IF;
    IF cardinality(of_run) > 0 THEN
      IF 0 = ANY (first_no) THEN first_place := nextval('places'); END IF;
      WITH stored AS (
        UPDATE runs SET frames = n.first + n.more, head = n.new_head, place = coalesce(runs.place, first_place + n.nth),
          agent = coalesce(f.agent, runs.agent), goal = coalesce(f.goal, runs.goal), caller = coalesce(f.caller, runs.caller),
          started_at = coalesce(f.started_at, runs.started_at), format = coalesce(f.format, runs.format),
          build = coalesce(f.build, runs.build), ended_at = coalesce(f.ended_at, runs.ended_at),
          status = coalesce(f.status, runs.status), spent = coalesce(f.spent, runs.spent),
          cells = runs.cells + coalesce(f.cells, 0)
        FROM unnest(of_run, of_epoch, first_no, previous_head, new_head, frame_count)
          WITH ORDINALITY AS n(run, epoch, first, previous, new_head, more, nth)
        LEFT JOIN json_to_recordset(facts) AS f(nth bigint, agent text, goal text, caller text, started_at bigint, format integer,
          build text, ended_at bigint, status text, spent text, cells integer) USING (nth)
        WHERE runs.run = n.run AND runs.owner = self AND runs.epoch = n.epoch AND runs.frames = n.first AND runs.head = n.previous
        RETURNING n.nth::integer
      ) SELECT coalesce(array_agg(nth), '{}') INTO written FROM stored;
      INSERT INTO frames(run, no, body, hash)
        SELECT n.run, f.no, convert_from(substring(bodies FROM f.start FOR f.length), 'UTF8'), f.hash
        FROM unnest(frame_run, frame_no, frame_start, frame_length, frame_hash) AS f(nth, no, start, length, hash)
        JOIN unnest(of_run) WITH ORDINALITY AS n(run, nth) ON n.nth = f.nth
        WHERE f.nth = ANY (written);
      IF cardinality(fork_frames) > 0 THEN
        INSERT INTO forks SELECT of_run[frame_run[nth]], frame_no[nth] FROM unnest(fork_frames) AS nth
          WHERE frame_run[nth] = ANY (written) ON CONFLICT DO NOTHING;
      END IF;
    END IF;
    -- Frames that were not stored, and runs that were asked about and are no longer owned.
    IF cardinality(written) < cardinality(of_run) OR cardinality(confirmed) > 0 THEN
      SELECT json_agg(json_build_object('run', n.run, 'first', n.first, 'frames', runs.frames,
          'isOwned', n.first IS NOT NULL AND coalesce(runs.owner = self AND runs.epoch = n.epoch, false),
          'owner', row_to_json(instances)))
        INTO broken
        FROM (
          SELECT f.run, f.epoch, f.first FROM unnest(of_run, of_epoch, first_no) WITH ORDINALITY AS f(run, epoch, first, nth)
            WHERE NOT f.nth = ANY (written)
          UNION ALL
          SELECT c.run, c.epoch, NULL FROM unnest(confirmed, confirmed_epoch) AS c(run, epoch)
            WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.run = c.run AND runs.owner = self AND runs.epoch = c.epoch)
        ) AS n
        LEFT JOIN runs USING (run) LEFT JOIN instances ON instances.instance = runs.owner;
    END IF;
    IF cardinality(released) > 0 THEN
      DELETE FROM runs WHERE run = ANY (released) AND owner = self AND frames = 0;
      UPDATE runs SET owner = NULL WHERE run = ANY (released) AND owner = self;
    END IF;
    IF cardinality(wanted) > 0 THEN
      SELECT json_agg(acquire_run(self, one)) INTO owned FROM unnest(wanted) AS one;
    END IF;
    IF cardinality(blob_ref) > 0 THEN
      INSERT INTO blobs(ref, bytes)
        SELECT ref, substring(blob_bytes FROM start FOR length) FROM unnest(blob_ref, blob_start, blob_length) AS one(ref, start, length)
        ON CONFLICT (ref) DO UPDATE SET bytes = excluded.bytes WHERE blobs.bytes <> excluded.bytes;
      -- Somebody is about to refer to them.
      DELETE FROM loose_blobs WHERE ref = ANY (blob_ref);
    END IF;
    IF signal_items IS NOT NULL THEN decisions := put_signals(signal_items, max_waiting); END IF;
    IF shared_items IS NOT NULL THEN shared_written := share_values(shared_items); END IF;
    IF broken IS NULL AND owned IS NULL AND decisions IS NULL AND shared_written IS NULL THEN RETURN '{}'; END IF;
    answer := json_build_object('broken', broken, 'owned', owned, 'decisions', decisions, 'shared', shared_written);
    UPDATE batches SET ack = answer WHERE instance = self;
    RETURN answer;
  END $$;
`;
