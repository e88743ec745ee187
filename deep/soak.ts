// npm run soak: one workspace that lives for days of virtual time, while its server is killed, drained and restarted, its disk fills up,
// and clients keep what they were told. It begins as a workspace of the oldest format. Exit codes as those of the deep lane.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildSubject, repo } from './build-subject.ts';
import type { Subject } from './build-subject.ts';
import { startServer } from './clients.ts';
import { judgeTold } from './client/judge-told.ts';
import type { ToldPiece } from './client/judge-told.ts';
import { auditRun, readRuns, visit } from './client/visit.ts';
import { parseOptions } from './options.ts';
import { randomFrom } from './random.ts';
import type { Random } from './random.ts';
import { createTempFolder, removeFolder } from './trial.ts';

/** How much later each round is. */
const [hoursMin, hoursMax] = [1, 12];
const endWithinMs = 60_000;
/** Of a disk of its own, which can be filled. */
const diskMb = 256;
/** Rounds between two checks of everything that was told. */
const checkEvery = 5;

type Ending = 'killed' | 'drained' | 'full disk';

/** What a soak does between two rounds, beside crashes. Deletions and archives belong here once there are any. */
export type SoakChore = {
  readonly name: string;
  /** Returns the problems as text. No server runs meanwhile. */
  readonly run: (workspace: string, told: readonly ToldPiece[], random: Random) => Promise<readonly string[]>;
};

const chores: readonly SoakChore[] = [];

type Figures = { rounds: number; hours: number; runs: number; audits: number; told: number } & Record<Ending, number>;

/** Null: this machine lets nobody mount one. */
const mountDisk = (folder: string): (() => void) | null => {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMb}m`, 'none', folder], { stdio: 'ignore' });
    return () => void execFileSync('umount', ['-l', folder], { stdio: 'ignore' });
  } catch {
    return null;
  }
};

/** Fills the disk until the server has gone without space for a while; the same server must go on afterwards. */
const fillDisk = async (folder: string, ms: number): Promise<void> => {
  const ballast = join(folder, 'ballast');
  try {
    for (let size = diskMb * 1024 * 1024; size >= 4_096; size = Math.floor(size / 2))
      try {
        writeFileSync(ballast, Buffer.alloc(size), { flag: 'a' });
      } catch {
        // It does not fit whole; less may.
      }
    await new Promise((resolve) => void setTimeout(resolve, ms));
  } finally {
    rmSync(ballast, { force: true });
  }
};

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
  const problems: string[] = [];
  const figures: Figures = { rounds: 0, hours: 0, runs: 0, audits: 0, told: 0, killed: 0, drained: 0, 'full disk': 0 };
  const mark = (): number => statSync(join(workspace, 'cloister.db')).size;
  const check = async (earlier: readonly string[]): Promise<void> => {
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
  };
  try {
    while (Date.now() < until && problems.length === 0) {
      figures.rounds++;
      figures.hours += hoursMin + random.whole(hoursMax - hoursMin + 1);
      const endings: readonly Ending[] =
        unmount === null ? ['killed', 'drained'] : ['killed', 'killed', 'drained', 'full disk'];
      const ending = pick(random, endings);
      figures[ending]++;
      const round = { subject, workspace, folder, ending, random, hours: figures.hours, no: figures.rounds };
      problems.push(...(await playRound(round, told)));
      for (const chore of chores) problems.push(...(await chore.run(workspace, told, random)));
      if (figures.rounds % checkEvery === 0) await check([]);
    }
    await check(recordedRuns());
    const mb = (mark() / 1024 / 1024).toFixed(1);
    const lines = [
      `${figures.rounds} rounds, ${(figures.hours / 24).toFixed(1)} virtual days: ${figures.killed} servers killed, ${figures.drained} drained, ${figures['full disk']} full disks`,
      `${figures.told} pieces that clients were told, of ${figures.runs} runs, found again; ${figures.audits} runs audited; cloister.db has ${mb} MB`,
      ...(unmount === null ? ['no disk could be mounted, so none was filled'] : []),
    ];
    return { problems, lines };
  } finally {
    unmount?.();
    removeFolder(folder);
  }
};

type Round = {
  readonly subject: Subject;
  readonly workspace: string;
  readonly folder: string;
  readonly ending: Ending;
  readonly random: Random;
  readonly hours: number;
  readonly no: number;
};

const playRound = async (
  { subject, workspace, folder, ending, random, hours, no }: Round,
  told: ToldPiece[],
): Promise<readonly string[]> => {
  const server = await startServer(subject, workspace, hours);
  const before = told.length;
  const ms = random.whole(1_500);
  let over: Promise<void> | undefined;
  const tell = (piece: ToldPiece): void => {
    told.push(piece);
    over ??= (async () => {
      await new Promise((resolve) => void setTimeout(resolve, ms));
      if (ending === 'full disk') await fillDisk(folder, 500 + ms);
      else server.kill(ending === 'drained' ? 'SIGTERM' : undefined);
    })();
  };
  await visit({ url: server.url, no, random, tell });
  await over;
  const own = told.slice(before);
  // A disk that has room again needs no restart.
  const problems = ending === 'full disk' ? judgeTold(own, await readRuns(server.url, own, endWithinMs)) : [];
  server.kill();
  await server.ended;
  return problems.map((problem) => `${problem}, without a restart after a full disk`);
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
