// npm run soak: one workspace that lives for days of virtual time, while its server is killed, drained and restarted, its disk fills up,
// runs are deleted, archived, restored and expire, and clients keep what they were told. It begins as a workspace of the oldest format and
// is migrated on the way. Exit codes as those of the deep lane.
import { cpSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildSubject, repo } from './build-subject.ts';
import type { Subject } from './build-subject.ts';
import { startServer } from './clients.ts';
import { judgeTold } from './client/judge-told.ts';
import type { ToldPiece } from './client/judge-told.ts';
import { auditRun, readRuns, visit } from './client/visit.ts';
import { mountDisk, onFullDisk } from './full-disk.ts';
import { parseOptions } from './options.ts';
import { randomFrom } from './random.ts';
import type { Random } from './random.ts';
import { doChores, endedRuns, expire, migrate, restoreAll } from './soak-chores.ts';
import type { ChoreFigures, ChoreWorld } from './soak-chores.ts';
import { createTempFolder, removeFolder } from './trial.ts';

/** How much later each round is. */
const [hoursMin, hoursMax] = [1, 12];
const endWithinMs = 60_000;
/** Rounds between two checks of everything that was told. */
const checkEvery = 5;
/** Before this round, the workspace has the format that it began with. */
const migratedIn = 4;
/** How many of the runs that are gone are looked for at each check. */
const goneSample = 100;

type Ending = 'killed' | 'drained' | 'full disk';

type Figures = { rounds: number; hours: number; runs: number; audits: number; told: number } & Record<Ending, number>;

const oldest = join(repo, 'test/fixtures/workspaces/format-5');

/** The runs that the workspace begins with. */
const recordedRuns = (): readonly string[] => (existsSync(oldest) ? readdirSync(join(oldest, 'runs')) : []);

export const soak = async (
  subject: Subject,
  { until, seed }: { readonly until: number; readonly seed: number },
  note: (line: string) => void,
): Promise<{ readonly problems: readonly string[]; readonly lines: readonly string[] }> => {
  const folder = createTempFolder();
  const unmount = mountDisk(folder);
  const workspace = join(folder, 'workspace');
  mkdirSync(workspace);
  if (existsSync(oldest)) cpSync(oldest, workspace, { recursive: true });
  const random = randomFrom(seed, 'soak');
  const told: ToldPiece[] = [];
  const deletedKeys = new Map<string, string>();
  const problems: string[] = [];
  const figures: Figures = { rounds: 0, hours: 0, runs: 0, audits: 0, told: 0, killed: 0, drained: 0, 'full disk': 0 };
  const operator = openChores({ subject, workspace, folder, canFill: unmount !== null, random });
  const check = async (earlier: readonly string[]): Promise<void> => {
    problems.push(...(await restoreAll(operator)));
    const gone = [...operator.gone].slice(-goneSample);
    told.push(...gone.map((run) => ({ what: 'deleted', run }) as const));
    const checked = await checkAll(subject, workspace, figures.hours, told, earlier);
    problems.push(...checked.problems);
    figures.audits += checked.audits;
    figures.runs += checked.runs;
    figures.told += told.length;
    told.length = 0;
    const day = (figures.hours / 24).toFixed(1);
    note(
      `round ${figures.rounds}, day ${day}: ${figures.told} pieces told and found again, ${problems.length} problems`,
    );
    // Nobody remembers what these runs said.
    problems.push(...(await expire(operator)));
  };
  try {
    while (Date.now() < until && problems.length === 0) {
      figures.rounds++;
      figures.hours += hoursMin + random.whole(hoursMax - hoursMin + 1);
      const endings: readonly Ending[] =
        unmount === null ? ['killed', 'drained'] : ['killed', 'killed', 'drained', 'full disk'];
      const ending = pick(random, endings);
      figures[ending]++;
      const round = {
        subject,
        workspace,
        folder,
        ending,
        random,
        hours: figures.hours,
        no: figures.rounds,
        deletedKeys,
      };
      problems.push(...(await playRound(round, told)));
      for (const piece of told) if (piece.what === 'deleted') operator.gone.add(piece.run);
      if (figures.rounds === migratedIn) problems.push(...(await migrate(operator)));
      if (figures.rounds > migratedIn) {
        const goneBefore = new Set(operator.gone);
        problems.push(...(await doChores(operator, endedRuns(told))));
        for (const run of operator.gone) if (!goneBefore.has(run)) told.push({ what: 'deleted', run });
      }
      if (figures.rounds % checkEvery === 0) await check([]);
    }
    if (problems.length > 0) keepWorkspace(workspace);
    await check(recordedRuns());
    const mb = statSync(join(workspace, 'cloister.db')).size / 1024 / 1024;
    const lines = summaryLines(figures, operator, { mb, deletedByClients: deletedKeys.size });
    return { problems, lines };
  } finally {
    unmount?.();
    removeFolder(folder);
  }
};

const summaryLines = (
  { rounds, hours, killed, drained, 'full disk': full, told, runs, audits }: Figures,
  { figures: done, gone, canFill }: ChoreWorld,
  { mb, deletedByClients }: { readonly mb: number; readonly deletedByClients: number },
): readonly string[] => [
  `${rounds} rounds, ${(hours / 24).toFixed(1)} virtual days: ${killed} servers killed, ${drained} drained, ${full} full disks`,
  `${told} pieces that clients were told, of ${runs} runs, found again; ${audits} runs audited; cloister.db has ${mb.toFixed(1)} MB`,
  `${deletedByClients} runs deleted by clients, ${done.deleted} by the operator; ${done.archived} archived, ${done.restored} restored and ${done.moved} imported byte for byte; ${done.expired} expired; ${gone.size} are gone; migrated: ${done.migrated}`,
  `of these commands, ${done.killed} were killed, and ${done.full} met a full disk`,
  ...(canFill ? [] : ['no disk could be mounted, so none was filled']),
];

const openChores = (given: Omit<ChoreWorld, 'gone' | 'archived' | 'figures'>): ChoreWorld => {
  const figures: ChoreFigures = {
    archived: 0,
    restored: 0,
    moved: 0,
    deleted: 0,
    expired: 0,
    migrated: 0,
    killed: 0,
    full: 0,
  };
  return { ...given, gone: new Set(), archived: new Map(), figures };
};

type Round = {
  readonly subject: Subject;
  readonly workspace: string;
  readonly folder: string;
  readonly ending: Ending;
  readonly random: Random;
  readonly hours: number;
  readonly no: number;
  readonly deletedKeys: Map<string, string>;
};

const playRound = async (
  { subject, workspace, folder, ending, random, hours, no, deletedKeys }: Round,
  told: ToldPiece[],
): Promise<readonly string[]> => {
  const server = await startServer(subject, workspace, hours);
  const before = told.length;
  const ms = random.whole(1_500);
  let over: Promise<void> | undefined;
  const tell = (piece: ToldPiece): void => {
    told.push(piece);
    over ??= (async () => {
      await sleep(ms);
      if (ending === 'full disk') await onFullDisk(folder, () => sleep(500 + ms));
      else server.kill(ending === 'drained' ? 'SIGTERM' : undefined);
    })();
  };
  await visit({ url: server.url, no, random, tell, deletedKeys });
  await over;
  const own = told.slice(before);
  // A disk that has room again needs no restart.
  const problems = ending === 'full disk' ? judgeTold(own, await readRuns(server.url, own, endWithinMs)) : [];
  if (problems.length > 0) keepWorkspace(workspace);
  server.kill();
  await server.ended;
  return problems.map((problem) => `${problem}, without a restart after a full disk`);
};

/** For whoever looks into a problem; the first one counts. */
const keepWorkspace = (workspace: string): void => {
  const kept = join(tmpdir(), `cloister-soak-${process.pid}`);
  if (existsSync(kept)) return;
  cpSync(workspace, kept, { recursive: true });
  console.log(`the workspace is kept in ${kept}`);
};

const checkAll = async (
  subject: Subject,
  workspace: string,
  hours: number,
  told: readonly ToldPiece[],
  earlier: readonly string[],
) => {
  const server = await startServer(subject, workspace, hours);
  try {
    const runs = await readRuns(server.url, told, endWithinMs);
    const problems = [...judgeTold(told, runs)];
    for (const run of [...runs.keys(), ...earlier]) problems.push(...(await auditRun(server.url, run)));
    return { problems, runs: runs.size, audits: runs.size + earlier.length };
  } finally {
    server.kill();
    await server.ended;
  }
};

const pick = <T>(random: Random, from: readonly T[]): T => from[random.whole(from.length)]!;

const main = async (args: readonly string[]): Promise<number> => {
  const options = parseOptions(args, []);
  if (typeof options === 'string') {
    console.error(`${options}\n\nnpm run soak -- [--minutes N] [--seed N]`);
    return 4;
  }
  const scratch = join(repo, 'test/.planted', `soak-${process.pid}`);
  try {
    const subject = await buildSubject(scratch, { name: 'soak' });
    const { problems, lines } = await soak(
      subject,
      { until: Date.now() + options.minutes * 60_000, seed: options.seed },
      console.log,
    );
    for (const line of [...lines, ...problems.map((problem) => `FAILED ${problem}`), `seed ${options.seed}`])
      console.log(line);
    return problems.length === 0 ? 0 : 1;
  } finally {
    removeFolder(scratch);
  }
};

if (import.meta.main) process.exitCode = await main(process.argv.slice(2));
