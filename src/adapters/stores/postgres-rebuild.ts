// Derives again what is derived from the logs in PostgreSQL: rows of the list of runs, and on request files for people.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Frame, RebuildOptions, RebuildReport } from '#contracts';
import type { Client } from 'pg';
import { noTail } from './chain.ts';
import { joinPages } from './log-reader.ts';
import type { StoreReader } from './log-reader.ts';
import { encodeFacts } from './postgres-batch.ts';
import type { PostgresPool } from './postgres-link.ts';
import { foldFacts, noFacts } from './run-facts.ts';
import { projectSteps, writeStepFile } from './step-files.ts';
import { storeError } from './store-error.ts';

type RebuildPorts = {
  readonly pool: PostgresPool;
  readonly reader: StoreReader;
  /** Where files go; null: nowhere. */
  readonly folder: string | null;
};

/** Of a run that is named, the files are made, too. Rejects if that one cannot be rebuilt; of all runs, those are reported. */
export const rebuildPostgres = async (
  ports: RebuildPorts,
  run: RunId | undefined,
  { files = run !== undefined }: RebuildOptions = {},
): Promise<RebuildReport> => {
  const runs = run === undefined ? await allRuns(ports.pool) : [run];
  const report = { runs: 0, listed: [] as RunId[], files: 0, skipped: [] as { run: RunId; problem: string }[] };
  for (const one of runs)
    try {
      const frames = await readIntact(ports, one);
      report.runs++;
      if (await ports.pool.read((client) => rebuildRow(client, one, frames))) report.listed.push(one);
      if (files && ports.folder !== null) report.files += await writeFiles(ports, one, frames);
    } catch (error) {
      if (run !== undefined) throw error;
      const { code, failure } = storeError(error);
      if (!['store_damaged', 'run_format', 'file_missing', 'store_failed'].includes(code)) throw error;
      report.skipped.push({ run: one, problem: failure.detail ?? code });
    }
  return report;
};

const allRuns = async (pool: PostgresPool): Promise<readonly RunId[]> =>
  (
    await pool.read((client) => client.query<{ run: RunId }>('SELECT run FROM frames WHERE no = 0 ORDER BY run'))
  ).rows.map(({ run }) => run);

/** A run that the list has lost is exactly what this repairs. */
const readIntact = async ({ reader }: RebuildPorts, run: RunId): Promise<readonly Frame[]> => {
  const { frames, problems } = await joinPages(reader.pages(run, async () => undefined));
  const others = problems.filter((problem) => !problem.includes('is missing from the list of runs'));
  if (others.length > 0) throw new CloisterError('store_damaged', others.join('; '));
  return frames;
};

/** Whether the row was missing or wrong. If a process has appended to the run meanwhile, the row is left to that process. */
const rebuildRow = async (client: Client, run: RunId, frames: readonly Frame[]): Promise<boolean> => {
  const row = `SELECT row_to_json(runs)::text AS text FROM runs WHERE run = $1`;
  const read = async (): Promise<string | undefined> =>
    (await client.query<{ text: string }>(row, [run])).rows[0]?.text;
  await client.query('BEGIN');
  try {
    await client.query('INSERT INTO runs(run) VALUES ($1) ON CONFLICT DO NOTHING', [run]);
    await client.query('SELECT 1 FROM runs WHERE run = $1 FOR UPDATE', [run]);
    const before = await read();
    const { rows } = await client.query<{ no: number }>('SELECT max(no) AS no FROM frames WHERE run = $1', [run]);
    const isSame = (rows[0]?.no ?? noTail.no) === frames.length - 1;
    if (isSame)
      await client.query(updateRow, [run, JSON.stringify(encodeFacts(frames.reduce(foldFacts, noFacts), true))]);
    const isChanged = isSame && before !== (await read());
    await client.query(isChanged ? 'COMMIT' : 'ROLLBACK');
    return isChanged;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
};

/** A run that the list had lost gets its place by its time. */
const updateRow = `
  UPDATE runs SET agent = f.agent, goal = f.goal, caller = f.caller, started_at = f.started_at, format = f.format, build = f.build,
    ended_at = f.ended_at, status = f.status, spent = f.spent, cells = f.cells, frames = last.no + 1, head = last.hash,
    place = coalesce(runs.place, (SELECT max(place) FROM runs AS other WHERE other.started_at <= f.started_at), nextval('places'))
  FROM json_to_record($2) AS f(agent text, goal text, caller text, started_at bigint, format integer, build text,
      ended_at bigint, status text, spent text, cells integer),
    LATERAL (SELECT no, hash FROM frames WHERE run = $1 ORDER BY no DESC LIMIT 1) AS last
  WHERE runs.run = $1`;

const writeFiles = async ({ reader, folder }: RebuildPorts, run: RunId, frames: readonly Frame[]): Promise<number> => {
  let changed = 0;
  for (const file of projectSteps(frames)) {
    const content =
      typeof file.content === 'string' ? Buffer.from(file.content) : await reader.getBlob(file.content.ref);
    const written = writeStepFile(folder ?? '', run, { ...file, content });
    if (written === null) throw new CloisterError('store_failed', `${file.cell}/${file.folder}/${file.name}`);
    if (written) changed++;
  }
  return changed;
};
