// Workspace records, deletions and imports: rare, so a transaction of several steps decides them with the code that SQLite uses, over what was
// read before. A lock of the database lets one process at a time do this, so what was read stays true until it is committed.
import type { Client } from 'pg';
import type { RunId } from '#base';
import type { Tail } from './chain.ts';
import { encodeFacts, forkMark, list, nameOf } from './postgres-batch.ts';
import type { ChangeItem } from './postgres-batch.ts';
import type { StoredRow } from './decode-owner.ts';
import { decodeOwner } from './decode-owner.ts';
import type { RunOwner } from './processes.ts';
import type { RunFacts } from './run-facts.ts';
import { applyItems } from './tables.ts';
import type { AppliedBatch, EpochOwner, Tables } from './tables.ts';

/** Until the transaction ends. */
export const lockChanges = 'SELECT pg_advisory_xact_lock(1668507507, hashtext(current_schema()))';

export const applyChanges = async (
  client: Client,
  items: readonly ChangeItem[],
  self: RunOwner,
): Promise<Pick<AppliedBatch, 'records' | 'changes'>> => {
  const found = await readRuns(client, items);
  const writes: Write[] = [];
  const tables = changeTables(found, await readLogTail(client), writes);
  const owners = {
    isAlive: ({ instance }: RunOwner) => found.live.has(instance),
    describe: ({ instance }: RunOwner) => found.live.get(instance) ?? '',
  };
  const { records, changes } = applyItems(tables, items, { tails: new Map(), self, owners });
  for (const write of writes) await write(client);
  return { records, changes };
};

type Write = (client: Client) => Promise<unknown>;

type KnownRun = { readonly tail: Tail | undefined; readonly owner: EpochOwner | undefined };

type FoundRuns = {
  readonly runs: Map<RunId, KnownRun>;
  /** The record that says that a run was deleted. */
  readonly deleted: Map<RunId, number>;
  /** Processes whose lease has not lapsed, with their descriptions. */
  readonly live: ReadonlyMap<string, string>;
};

/** They are locked, so nobody acquires or continues them meanwhile. */
const readRuns = async (client: Client, items: readonly ChangeItem[]): Promise<FoundRuns> => {
  const ids = items.flatMap((item) =>
    item.do === 'delete' ? item.runs.map(({ run }) => run) : item.do === 'import' ? [item.run] : [],
  );
  const none = { runs: new Map(), deleted: new Map(), live: new Map() };
  if (ids.length === 0) return none;
  await client.query('SELECT 1 FROM runs WHERE run = ANY ($1) ORDER BY run FOR UPDATE', [ids]);
  const { rows } = await client.query(
    `SELECT runs.run, frames, head, owner, epoch, instances.*, is_live(lapses_at, lease_ms) AS lives
     FROM runs LEFT JOIN instances ON instance = owner WHERE runs.run = ANY ($1)`,
    [ids],
  );
  const deleted = await client.query('SELECT run, no FROM deleted JOIN book USING (no) WHERE run = ANY ($1)', [ids]);
  return {
    runs: new Map(rows.map((row) => [row.run as RunId, knownRun(row)])),
    deleted: new Map(deleted.rows.map(({ run, no }) => [run as RunId, Number(no)])),
    live: new Map(rows.flatMap((row) => (row.lives === true ? [[String(row.owner), nameOf(row) ?? '']] : []))),
  };
};

const knownRun = (row: StoredRow): KnownRun => {
  const [frames, instance] = [Number(row['frames']), row['owner']];
  const process = decodeOwner(row) ?? { pid: 0, host: '', started: '', since: 0 };
  return {
    tail: frames === 0 ? undefined : { no: frames - 1, hash: String(row['head']) },
    owner: typeof instance === 'string' ? { ...process, instance, epoch: Number(row['epoch']) } : undefined,
  };
};

const readLogTail = async (client: Client): Promise<Tail | undefined> =>
  (await client.query<Tail>('SELECT no, hash FROM book ORDER BY no DESC LIMIT 1')).rows[0];

const changeTables = ({ runs, deleted }: FoundRuns, logTail: Tail | undefined, writes: Write[]): Tables => {
  let end = logTail;
  const imports = new Map<RunId, { body: string; hash: string }[]>();
  return {
    ...unusedTables,
    tail: (run) => runs.get(run)?.tail,
    owner: (run) => runs.get(run)?.owner,
    recordOfDeletion: (run) => deleted.get(run),
    workspaceLogTail: () => end,
    insertRecord(no, body, hash) {
      end = { no, hash };
      writes.push((client) => insertRecord(client, { no, body, hash }));
    },
    deleteRun(run, no, pending) {
      runs.delete(run);
      deleted.set(run, no);
      writes.push((client) => deleteRun(client, run, { no, pending }));
    },
    loosenBlobs: (refs) =>
      void writes.push((client) =>
        client.query(`INSERT INTO loose_blobs SELECT ref FROM blobs WHERE ref = ANY ($1) ${ifNew}`, [refs]),
      ),
    undeleteRun(run) {
      deleted.delete(run);
      imports.set(run, []);
      writes.push((client) => client.query('DELETE FROM deleted WHERE run = $1', [run]));
    },
    insertFrame: (run, _no, body, hash) => void imports.get(run)?.push({ body, hash }),
    updateRun(run, facts, tail) {
      runs.set(run, { tail, owner: undefined });
      const frames = imports.get(run) ?? [];
      writes.push((client) => insertRun(client, run, { facts, tail, frames }));
    },
  };
};

const ifNew = 'ON CONFLICT DO NOTHING';

const unused = (): never => {
  throw new Error('only changes are decided here');
};

/** What `commit_batch` does. */
const unusedTables = {
  putBlob: unused,
  setOwner: unused,
  nextEpoch: unused,
  release: unused,
  releaseAll: unused,
  waitingSignals: unused,
  insertSignal: unused,
  removeSignal: unused,
  sharedVersion: unused,
  setShared: unused,
};

export const insertRecord = async (
  client: Client,
  { no, body, hash }: { readonly no: number; readonly body: string; readonly hash: string },
): Promise<void> => {
  await client.query('INSERT INTO book VALUES ($1, $2, $3)', [no, body, hash]);
  await client.query(`INSERT INTO meta VALUES ('book', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, [
    `${no} ${hash}`,
  ]);
};

/** Blobs are named by their hash, wherever a record names one. */
export const blobNames = "regexp_matches(body, '[0-9a-f]{64}', 'g')";

const deleteRun = async (
  client: Client,
  run: RunId,
  { no, pending }: { readonly no: number; readonly pending: string },
): Promise<void> => {
  await client.query(
    `INSERT INTO loose_blobs SELECT ref FROM blobs
     WHERE ref IN (SELECT name[1] FROM frames, ${blobNames} AS name WHERE run = $1) ${ifNew}`,
    [run],
  );
  for (const table of ['frames', 'forks', 'runs', 'signals'])
    await client.query(`DELETE FROM ${table} WHERE run = $1`, [run]);
  await insertDeleted(client, { run, no, pending });
};

export const insertDeleted = async (
  client: Client,
  { run, no, pending }: { readonly run: RunId; readonly no: number; readonly pending: string | null },
): Promise<void> => {
  await client.query(
    `INSERT INTO deleted VALUES ($1, $2, $3) ON CONFLICT (run) DO UPDATE SET no = excluded.no, pending = excluded.pending`,
    [run, no, pending],
  );
};

type NewRun = {
  readonly facts: RunFacts;
  readonly tail: Tail;
  readonly frames: readonly { readonly body: string; readonly hash: string }[];
};

/** As many bytes of bodies are sent at once. */
const bytesAtOnce = 8 * 1024 * 1024;

const insertRun = async (client: Client, run: RunId, { facts, tail, frames }: NewRun): Promise<void> => {
  await insertRunRow(client, run, { facts, tail });
  await insertFrames(client, run, { frames, from: 0 });
};

export const insertRunRow = async (
  client: Client,
  run: RunId,
  { facts, tail }: Pick<NewRun, 'facts' | 'tail'>,
): Promise<void> => {
  await client.query(
    `INSERT INTO runs(run, place, agent, goal, started_at, ended_at, status, cells, caller, spent, format, build, frames, head)
     SELECT $1, nextval('places'), agent, goal, started_at, ended_at, status, cells, caller, spent, format, build, $3, $4
     FROM json_to_record($2) AS f(agent text, goal text, caller text, started_at bigint, format integer, build text,
       ended_at bigint, status text, spent text, cells integer)`,
    [run, JSON.stringify(encodeFacts(facts, true)), tail.no + 1, tail.hash],
  );
};

/** `from`: the number of the first one. */
export const insertFrames = async (
  client: Client,
  run: RunId,
  { frames, from: first }: Pick<NewRun, 'frames'> & { readonly from: number },
): Promise<void> => {
  for (let from = 0; from < frames.length;) {
    const [starts, lengths, bodies]: [number[], number[], string[]] = [[], [], []];
    let end = 0;
    for (let at = from; at < frames.length && (end < bytesAtOnce || at === from); at++) {
      const { body } = frames[at]!;
      starts.push(end + 1);
      lengths.push(Buffer.byteLength(body));
      bodies.push(body);
      end += lengths.at(-1)!;
    }
    const hashes = frames.slice(from, from + bodies.length).map(({ hash }) => hash);
    await client.query(
      `INSERT INTO frames SELECT $1, $2 + nth - 1, convert_from(substring($6::bytea FROM start FOR length), 'UTF8'), hash
       FROM unnest($3::integer[], $4::integer[], $5::text[]) WITH ORDINALITY AS f(start, length, hash, nth)`,
      [run, first + from, list(starts), list(lengths), list(hashes), Buffer.from(bodies.join(''))],
    );
    from += bodies.length;
  }
  for (const [nth, { body }] of frames.entries())
    if (body.includes(forkMark)) await client.query(`INSERT INTO forks VALUES ($1, $2) ${ifNew}`, [run, first + nth]);
};
