// The process that the trials start, kill and fault. On stdout: `ready` when it begins, then one line of JSON that says how
// it ended.
//
//   run <workspace> <by> [<die after>]      the reference run from its beginning
//   go <workspace> <by> [<die after>]       goes on with it, or begins again where nothing was kept
//   resume <workspace> <by> [<die after>]   the same, and says what was there before and after
//   rival <workspace> <by>                  the same, but does nothing where nothing was kept
import { CloisterError, openCloister } from 'cloister';
import type { Cloister, RunSession } from 'cloister';
import { countingIds } from 'cloister/testkit';
import { countNames } from './count-names.ts';
import { makeCrew } from './crew.ts';
import { budget, goal } from './expected.ts';
import { readFiles } from './read-files.ts';
import { readStore } from './read-store.ts';
import type { Stored, StoredFrame } from './read-store.ts';
import { tellOf } from './watched-stores.ts';
import { openWitness } from './witness.ts';
import type { Witness } from './witness.ts';

/** A run as it lies in the workspace. */
export type Seen = {
  readonly run: string;
  readonly state: string;
  readonly owner: string | null;
  readonly status: string | null;
  readonly audit: readonly string[];
  readonly frames: readonly StoredFrame[];
  readonly blobs: Stored['blobs'];
  /** The files that the scribe was to write, in that order; null: not there. */
  readonly files: readonly (string | null)[];
};

export type Said = {
  readonly does: string;
  readonly before: readonly Seen[];
  readonly after: readonly Seen[];
  readonly outcome: {
    readonly run: string;
    readonly status: string;
    readonly output: string;
    readonly spent: number;
  } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
};

const [does = '', workspace = '', by = '0', dieAfter = ''] = process.argv.slice(2);

const main = async (): Promise<Said> => {
  countNames(by);
  const witness = openWitness(workspace, Number(by), dieAfter, () => process.kill(process.pid, 'SIGKILL'));
  witness.tell({ saw: 'start', does, pid: process.pid });
  const looks = does === 'resume' || does === 'rival';
  const before = looks ? await look() : [];
  const ended = await work(witness);
  return { does, before, ...ended, after: looks ? await look() : [] };
};

const work = async (witness: Witness): Promise<Pick<Said, 'outcome' | 'error'>> => {
  tellOf(witness);
  try {
    await using cloister = await openCloister({ workspace, agents: [makeCrew(witness)], ids: countingIds(by) });
    const session = await begin(cloister);
    if (session === null) return { outcome: null, error: null };
    const { run, status, output, spent } = await session.outcome;
    witness.tell({ saw: 'outcome', status, output });
    const used = spent.inputTokens + spent.outputTokens + spent.uncertain;
    return { outcome: { run, status, output, spent: used }, error: null };
  } catch (error) {
    if (!(error instanceof CloisterError)) throw error;
    witness.tell({ saw: 'error', code: error.code });
    return { outcome: null, error: { code: error.code, message: error.message } };
  }
};

/** Null when there is nothing left to do. */
const begin = async (cloister: Cloister): Promise<RunSession | null> => {
  const [found] = does === 'run' ? [] : await cloister.runs();
  if (found === undefined) return does === 'rival' ? null : cloister.run('lead', goal, { budget });
  return found.state === 'ended' ? null : cloister.resume(found.run);
};

/** By a Cloister of its own, which nobody watches. */
const look = async (): Promise<readonly Seen[]> => {
  const silent: Witness = { tell: () => undefined };
  await using cloister = await openCloister({ workspace, agents: [makeCrew(silent)] });
  const seen: Seen[] = [];
  for (const { run, state, owner, status } of await cloister.runs()) {
    const { ok, problems } = await cloister.audit(run);
    const audit = problems.map(({ code, where, message }) => `${code} ${where}: ${message}`);
    if (!ok && audit.length === 0) audit.push('not ok');
    const { runs, blobs } = readStore(workspace, { readOnly: true });
    const frames = runs.find((one) => one.run === run)?.frames ?? [];
    seen.push({ run, state, owner, status, audit, frames, blobs, files: readFiles(workspace, run) });
  }
  return seen;
};

process.stdout.write('ready\n');
process.stdout.write(`${JSON.stringify(await main())}\n`);
