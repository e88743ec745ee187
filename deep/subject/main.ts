// The process that the trials start, kill and inject faults into. It prints `ready` when it starts, then one line of JSON with
// its report.
//
//   run <workspace> <by> [<die after>]      starts the reference run
//   go <workspace> <by> [<die after>]       resumes it, or starts again if nothing was stored
//   resume <workspace> <by> [<die after>]   the same, and reports the state before and after
//   rival <workspace> <by>                  the same, but does nothing if nothing was stored
import { CloisterError, openCloister } from 'cloister';
import type { Cloister, RunSession } from 'cloister';
import { countingIds } from 'cloister/testkit';
import { countNames } from './count-names.ts';
import { createReferenceAgents } from './reference-agents.ts';
import { budget, goal } from './expected.ts';
import { readFiles } from './read-files.ts';
import { readStore } from './read-store.ts';
import type { Stored, StoredFrame } from './read-store.ts';
import { watchStoresWith } from './watched-stores.ts';
import { openWitness } from './witness.ts';
import type { Witness } from './witness.ts';

/** A run as stored in the workspace. */
export type StoredRunState = {
  readonly run: string;
  readonly state: string;
  readonly owner: string | null;
  readonly status: string | null;
  readonly audit: readonly string[];
  readonly frames: readonly StoredFrame[];
  readonly blobs: Stored['blobs'];
  /** The files the scribe should write, in that order; null when missing. */
  readonly files: readonly (string | null)[];
};

export type SubjectReport = {
  readonly does: string;
  readonly before: readonly StoredRunState[];
  readonly after: readonly StoredRunState[];
  readonly outcome: {
    readonly run: string;
    readonly status: string;
    readonly output: string;
    readonly spent: number;
  } | null;
  readonly error: { readonly code: string; readonly message: string } | null;
};

const [does = '', workspace = '', by = '0', dieAfter = ''] = process.argv.slice(2);

const main = async (): Promise<SubjectReport> => {
  countNames(by);
  const witness = openWitness(workspace, Number(by), dieAfter, () => process.kill(process.pid, 'SIGKILL'));
  witness.record({ saw: 'start', does, pid: process.pid });
  const looks = does === 'resume' || does === 'rival';
  const before = looks ? await inspectRuns() : [];
  const ended = await work(witness);
  return { does, before, ...ended, after: looks ? await inspectRuns() : [] };
};

const work = async (witness: Witness): Promise<Pick<SubjectReport, 'outcome' | 'error'>> => {
  watchStoresWith(witness);
  try {
    await using cloister = await openCloister({
      workspace,
      agents: [createReferenceAgents(witness)],
      ids: countingIds(by),
    });
    const session = await begin(cloister);
    if (session === null) return { outcome: null, error: null };
    const { run, status, output, spent } = await session.outcome;
    witness.record({ saw: 'outcome', status, output });
    const used = spent.inputTokens + spent.outputTokens + spent.uncertain;
    return { outcome: { run, status, output, spent: used }, error: null };
  } catch (error) {
    if (!(error instanceof CloisterError)) throw error;
    witness.record({ saw: 'error', code: error.code });
    return { outcome: null, error: { code: error.code, message: error.message } };
  }
};

/** Starts or resumes the run; null when there is nothing to do. */
const begin = async (cloister: Cloister): Promise<RunSession | null> => {
  const [found] = does === 'run' ? [] : await cloister.runs();
  if (found === undefined) return does === 'rival' ? null : cloister.run('lead', goal, { budget });
  return found.state === 'ended' ? null : cloister.resume(found.run);
};

/** Uses a separate Cloister that is not watched. */
const inspectRuns = async (): Promise<readonly StoredRunState[]> => {
  const silent: Witness = { record: () => undefined };
  await using cloister = await openCloister({ workspace, agents: [createReferenceAgents(silent)] });
  const seen: StoredRunState[] = [];
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
