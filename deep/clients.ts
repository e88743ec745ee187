// kill -9 of a server and of a command while clients talk to them. Afterwards everything that a client was told must be there. The
// commits of the subject are slow, so that a word that goes out before its commit is likely to be lost.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buildSubject } from './build-subject.ts';
import type { Edit, Subject } from './build-subject.ts';
import { judgeTold } from './client/judge-told.ts';
import type { ToldPiece } from './client/judge-told.ts';
import { readRuns, visit } from './client/visit.ts';
import { randomFrom } from './random.ts';
import type { Random } from './random.ts';
import { forEachCase, inCaseFolder } from './trial.ts';
import type { Trial } from './trial.ts';

const cases = 200;
const visitsMax = 3;
/** How long a run may take to end after the last crash. */
const endWithinMs = 20_000;

const dieWithinMs = 1_200;

/** Each commit takes so much longer. */
export const slowCommits = (ms: number): Edit => ({
  under: 'src/adapters/stores',
  before: 'const ack = committer.commitBatch(message.items);',
  after: `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${ms});
    const ack = committer.commitBatch(message.items);`,
});

export const clients: Trial = {
  name: 'clients',
  about: 'kill -9 of a server and of a command whose clients note all that they are told',
  deadlineFraction: 0.6,
  needsStrace: false,
  run: async (context) => {
    const { scratch, source, seed } = context;
    const subject = await buildSubject(scratch, { name: 'slow-commits', source, edits: [slowCommits(25)] });
    const all = Array.from({ length: cases }, (_, nth) => nth);
    const chosen = context.case === null ? all : [Number(context.case)];
    const count = new Map<string, number>();
    const done = await forEachCase(chosen, context, async (nth) => {
      const { problems, folder } = await inCaseFolder(async (cwd) => {
        const tried = await tryClients(subject, cwd, randomFrom(seed, `clients ${nth}`));
        for (const { what } of tried.told) count.set(what, (count.get(what) ?? 0) + 1);
        return tried.problems;
      });
      const found = { what: `case ${nth}`, details: problems, rerun: context.rerunCommand(String(nth)), folder };
      if (problems.length > 0) context.report(found);
    });
    const words = [...count].map(([what, times]) => `${times} ${names[what as ToldPiece['what']]}`).join(', ');
    return { lines: [`${done} of ${chosen.length} workspaces; told and found again: ${words}`] };
  },
};

const names: Readonly<Record<ToldPiece['what'], string>> = {
  run: 'receipts of runs',
  event: 'events',
  answer: 'answers',
  message: 'receipts of messages',
  cancel: 'receipts of cancellations',
  key: 'replies to keys',
  reused: 'refusals of reused keys',
  deleting: 'requests to delete',
  deleted: 'deletions',
};

type Tried = { readonly problems: readonly string[]; readonly told: readonly ToldPiece[] };

/** Some visits, each of which a crash ends; then what is left is read. */
export const tryClients = async (
  subject: Subject,
  cwd: string,
  random: Random,
  most: { readonly visits: number } = { visits: visitsMax },
): Promise<Tried> => {
  const workspace = join(cwd, 'workspace');
  const told: ToldPiece[] = [];
  const tell = (piece: ToldPiece): void => void told.push(piece);
  const deletedKeys = new Map<string, string>();
  const visits = 1 + random.whole(most.visits);
  for (let no = 1; no <= visits; no++) {
    const server = await startServer(subject, workspace);
    const dieAfterMs = random.whole(dieWithinMs);
    // From the first word on, however slow the machine is.
    let dying: NodeJS.Timeout | undefined;
    const tellAndDie = (piece: ToldPiece): void => {
      tell(piece);
      dying ??= setTimeout(() => server.kill(), dieAfterMs);
    };
    await visit({ url: server.url, no, random, tell: tellAndDie, deletedKeys });
    clearTimeout(dying);
    server.kill();
    await server.ended;
  }
  if (random.next() < 0.5) await runCommand(subject, cwd, 20 + random.whole(600), tell);
  const server = await startServer(subject, workspace);
  try {
    return { problems: judgeTold(told, await readRuns(server.url, told, endWithinMs)), told };
  } finally {
    server.kill();
    await server.ended;
  }
};

export type RunningServer = {
  readonly url: string;
  readonly kill: (signal?: 'SIGTERM') => void;
  readonly ended: Promise<void>;
};

const alive = new Set<() => void>();
process.on('exit', () => {
  for (const kill of alive) kill();
});

export const startNode = (args: readonly string[], cwd?: string) => {
  const env = { PATH: process.env['PATH'] ?? '', LANG: 'C.UTF-8', HOME: cwd ?? '' };
  const child = spawn(process.execPath, args, {
    env,
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kill = (signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): void => void child.kill(signal);
  alive.add(kill);
  const output = { stderr: '' };
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  const ended = new Promise<void>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', () => {
      alive.delete(kill);
      resolve();
    });
  });
  return { child, kill, ended, output };
};

/** `hours`: how far its clock is ahead. */
export const startServer = async ({ server }: Subject, workspace: string, hours = 0): Promise<RunningServer> => {
  const { child, kill, ended, output } = startNode([server, workspace, String(hours)]);
  for await (const line of createInterface({ input: child.stdout }))
    return { url: (JSON.parse(line) as { readonly url: string }).url, kill, ended };
  throw new Error(`The server ended before it listened: ${output.stderr}`);
};

/** `cloister run --jsonl`, which dies at some moment. */
const runCommand = async (
  { command }: Subject,
  cwd: string,
  dieAfterMs: number,
  tell: (piece: ToldPiece) => void,
): Promise<void> => {
  const folder = join(cwd, 'agents');
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(commandFiles)) writeFileSync(join(folder, name), text);
  const args = [command, 'run', 'scout.ai', 'Look around.', '--jsonl', '--workspace', join(cwd, 'workspace')];
  const { child, kill, ended } = startNode(args, folder);
  const lines = createInterface({ input: child.stdout });
  let timer: NodeJS.Timeout | undefined;
  for await (const line of lines) {
    timer ??= setTimeout(() => kill(), dieAfterMs);
    const event = JSON.parse(line) as { readonly id?: string; readonly run?: string };
    if (event.id === undefined || event.run === undefined) continue;
    tell({ what: 'run', run: event.run, livesOn: true });
    tell({ what: 'event', run: event.run, id: event.id, event });
  }
  clearTimeout(timer);
  await ended;
};

const commandFiles = {
  'scout.ai': '---\ndescription: Looks around.\nmodels: rehearsal/scout\ntools: write_file\n---\nLook around.\n',
  '.ai-agent.json': JSON.stringify({ providers: { rehearsal: { type: 'rehearsal', script: './script.yaml' } } }),
  'script.yaml': `lines:
  - when: { turn: 1 }
    reply: { calls: [{ tool: write_file, args: { path: a.txt, content: 'a' } }], delayMs: 20 }
  - when: { turn: 2 }
    reply: { calls: [{ tool: write_file, args: { path: b.txt, content: 'b' } }], delayMs: 20 }
  - reply: { text: 'All seen.', delayMs: 20 }
`,
};
