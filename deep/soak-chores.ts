// What an operator does with the workspace of a soak between two rounds: deletes, archives, restores, moves, expires and migrates, with
// commands that are killed at any moment, on a disk that may be full. No server runs meanwhile.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Subject } from './build-subject.ts';
import type { ToldPiece } from './client/judge-told.ts';
import { startNode } from './clients.ts';
import { onFullDisk } from './full-disk.ts';
import type { Random } from './random.ts';

export type ChoreFigures = Record<
  'archived' | 'restored' | 'moved' | 'deleted' | 'expired' | 'migrated' | 'killed' | 'full',
  number
>;

export type ChoreWorld = {
  readonly subject: Subject;
  readonly workspace: string;
  /** Of the disk. */
  readonly folder: string;
  readonly canFill: boolean;
  readonly random: Random;
  /** Runs whose deletion was acknowledged. */
  readonly gone: Set<string>;
  /** Archived runs, and what is in their files. */
  readonly archived: Map<string, Buffer>;
  readonly figures: ChoreFigures;
};

type Chore = (world: ChoreWorld, run: string) => Promise<readonly string[]>;

/** What is done with some of these runs, which have ended. */
export const doChores = async (world: ChoreWorld, ended: readonly string[]): Promise<readonly string[]> => {
  const { random, archived } = world;
  const free = random.shuffled(ended.filter((run) => !archived.has(run)));
  const chores = random.shuffled<Chore>([archive, archive, move, remove]).slice(0, 2);
  const problems: string[] = [];
  for (const [nth, run] of free.slice(0, chores.length).entries()) problems.push(...(await chores[nth]!(world, run)));
  for (const run of archived.keys()) if (random.next() < 0.3) problems.push(...(await restore(world, run)));
  return problems;
};

export const restoreAll = async (world: ChoreWorld): Promise<readonly string[]> => {
  const problems: string[] = [];
  for (const run of world.archived.keys()) problems.push(...(await restore(world, run)));
  return problems;
};

/** Killed once on the way; then nothing of what was there may be missing. */
export const migrate = async (world: ChoreWorld): Promise<readonly string[]> => {
  await roughly(world, ['migrate']);
  const { code, stderr } = await command(world, ['migrate']);
  world.figures.migrated++;
  return code === 0 ? [] : [`the workspace was not migrated: ${stderr}`];
};

const keptRuns = 60;

/** All but the newest runs of one agent. Others stay, and so does what has not ended. */
export const expire = async (world: ChoreWorld): Promise<readonly string[]> => {
  const before = await listRuns(world);
  const args = ['runs', 'expire', '--keep', String(keptRuns), '--agent', 'worker'];
  await roughly(world, args);
  const { code, stderr } = await command(world, args);
  if (code !== 0) return [`runs did not expire: ${stderr}`];
  const left = new Set((await listRuns(world)).map(({ run }) => run));
  const gone = before.filter(({ run }) => !left.has(run));
  for (const { run } of gone) world.gone.add(run);
  world.figures.expired += gone.length;
  const kept = before.filter(({ run, agent, state }) => left.has(run) && agent === 'worker' && state === 'ended');
  const oldestKept = Math.min(...kept.map(({ endedAt }) => endedAt ?? 0));
  return [
    ...gone
      .filter(({ agent, endedAt }) => agent !== 'worker' || (endedAt ?? Infinity) > oldestKept)
      .map(({ run }) => `run ${run} expired, and was to be kept`),
    ...(kept.length <= keptRuns ? [] : [`${kept.length} runs were kept instead of ${keptRuns}`]),
  ];
};

const archive: Chore = async (world, run) => {
  const before = await exported(world, run);
  if (before === null)
    return [`run ${run} cannot be exported: ${(await command(world, ['runs', 'export', run])).stderr}`];
  const { code } = await roughly(world, ['runs', 'archive', run]);
  const still = await exported(world, run);
  if (still !== null)
    return [
      ...(code === 0 ? [`run ${run} was archived, and is still there`] : []),
      ...(still.equals(before) ? [] : [`run ${run} changed while it was not archived`]),
    ];
  world.figures.archived++;
  world.archived.set(run, before);
  const file = join(world.workspace, 'archive', `${run}.cloister.gz`);
  if (!existsSync(file)) return [`run ${run} was archived, and its file is not there`];
  return readFileSync(file).equals(before) ? [] : [`the archive of run ${run} has other bytes than the run`];
};

const restore: Chore = async (world, run) => {
  const before = world.archived.get(run)!;
  await roughly(world, ['runs', 'restore', run]);
  const { stderr } =
    (await exported(world, run)) === null ? await command(world, ['runs', 'restore', run]) : { stderr: '' };
  world.archived.delete(run);
  world.figures.restored++;
  const after = await exported(world, run);
  if (after === null) return [`run ${run} was archived, and cannot be restored: ${stderr}`];
  return after.equals(before) ? [] : [`run ${run} came back from its archive with other bytes`];
};

/** Out of the workspace, and back from the file. */
const move: Chore = async (world, run) => {
  const before = await exported(world, run);
  if (before === null)
    return [`run ${run} cannot be exported: ${(await command(world, ['runs', 'export', run])).stderr}`];
  const { code } = await roughly(world, ['runs', 'delete', run]);
  const isThere = (await exported(world, run)) !== null;
  if (code === 0 && isThere) return [`run ${run} was deleted, and is there again`];
  if (isThere) return [];
  world.figures.moved++;
  const file = exportFile(world, run);
  writeFileSync(file, before);
  const { stderr } = await command(world, ['runs', 'import', file, '--force']);
  const after = await exported(world, run);
  if (after === null) return [`run ${run} cannot be imported: ${stderr}`];
  return after.equals(before) ? [] : [`run ${run} was imported with other bytes`];
};

const remove: Chore = async (world, run) => {
  const { code } = await roughly(world, ['runs', 'delete', run]);
  const isThere = (await exported(world, run)) !== null;
  if (isThere) return code === 0 ? [`run ${run} was deleted, and is there again`] : [];
  world.figures.deleted++;
  world.gone.add(run);
  return [];
};

type Ended = { readonly code: number | null; readonly stdout: string; readonly stderr: string };

/** The command, perhaps killed on the way or on a full disk. */
const roughly = async (world: ChoreWorld, args: readonly string[]): Promise<Ended> => {
  const { random, figures, folder, canFill } = world;
  const how = random.next();
  if (how < 0.4) {
    figures.killed++;
    return command(world, args, 150 + random.whole(900));
  }
  if (how < 0.6 && canFill) {
    figures.full++;
    return onFullDisk(folder, () => command(world, args));
  }
  return command(world, args);
};

const command = async (
  { subject, workspace }: ChoreWorld,
  args: readonly string[],
  dieAfterMs?: number,
): Promise<Ended> => {
  const { child, kill, ended, output } = startNode([subject.command, ...args, '--workspace', workspace]);
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  const timer = dieAfterMs === undefined ? undefined : setTimeout(() => kill(), dieAfterMs);
  await ended;
  clearTimeout(timer);
  return { code: child.exitCode, stdout, stderr: output.stderr };
};

const exportFile = ({ folder }: ChoreWorld, run: string): string => join(folder, `${run}.exported.gz`);

/** Null: there is no such run. */
const exported = async (world: ChoreWorld, run: string): Promise<Buffer | null> => {
  const file = exportFile(world, run);
  rmSync(file, { force: true });
  const { code } = await command(world, ['runs', 'export', run, '--to', file]);
  return code === 0 && existsSync(file) ? readFileSync(file) : null;
};

type Listed = {
  readonly run: string;
  readonly agent: string;
  readonly state: string;
  readonly endedAt: number | null;
};

const listRuns = async (world: ChoreWorld): Promise<readonly Listed[]> => {
  const { stdout } = await command(world, ['runs', '--limit', '100000', '--json']);
  return JSON.parse(stdout) as readonly Listed[];
};

/** The runs that clients were told have ended, and that they have not asked to delete. */
export const endedRuns = (told: readonly ToldPiece[]): readonly string[] => {
  const going = new Set(told.flatMap(({ what, run }) => (what === 'deleting' || what === 'deleted' ? [run] : [])));
  const ended = told.flatMap(({ what, run }) => (what === 'answer' && !going.has(run) ? [run] : []));
  return [...new Set(ended)];
};
