// What clients were told, after crashes of a real server and a real command. The lane does the same many times.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { buildSubject, repo } from '../../deep/build-subject.ts';
import type { Edit } from '../../deep/build-subject.ts';
import { judgeTold } from '../../deep/client/judge-told.ts';
import type { ReadRun, ToldPiece } from '../../deep/client/judge-told.ts';
import { slowCommits, tryClients } from '../../deep/clients.ts';
import { randomFrom } from '../../deep/random.ts';

const event = { id: 'e1', run: 'r1', type: 'session-start' };
const kept: ReadRun = {
  run: 'r1',
  state: 'ended',
  status: 'completed',
  output: 'Done.',
  events: [event, { id: 'e2', message: 'm1' } as { id: string }],
};
const told: readonly ToldPiece[] = [
  { what: 'run', run: 'r1' },
  { what: 'event', run: 'r1', id: 'e1', event },
  { what: 'answer', run: 'r1', status: 'completed', output: 'Done.' },
  { what: 'message', run: 'r1', message: 'm1' },
  { what: 'cancel', run: 'r1' },
  { what: 'key', key: 'k', run: 'r1' },
];
const judged = (pieces: readonly ToldPiece[], change: Partial<ReadRun> | null) =>
  judgeTold(pieces, new Map(change === null ? [] : [['r1', { ...kept, ...change }]]));

test('what is there is no problem', () => expect(judged(told, {})).toEqual([]));

test.each([
  ['a run that is gone', null, 6],
  ['an event that is gone', { events: kept.events.slice(1) }, 1],
  ['an id that names another event', { events: [{ ...event, type: 'turn-start' }, kept.events[1]!] }, 1],
  ['another answer', { output: 'Else.' }, 1],
  ['another status', { status: 'failed' }, 1],
  ['a message that is gone', { events: [event] }, 1],
  ['a run that nobody ends', { state: 'interrupted' }, 2],
  ['a run that cannot be read', { unreadable: '500' }, 1],
] as const)('%s is noticed', (_name, change, problems) => expect(judged(told, change)).toHaveLength(problems));

test('a key that gave two runs is noticed', () => {
  const other = [{ what: 'key', key: 'k', run: 'r2' } as const];
  const runs = new Map([
    ['r1', kept],
    ['r2', kept],
  ]);
  expect(judgeTold([...told, ...other], runs)).toEqual(['key k gave 2 runs: r1, r2']);
});

test('a run that was deleted may be gone, and is not there again; one whose deletion was only asked for is there or not', () => {
  const [deleting, deleted] = [{ what: 'deleting', run: 'r1' } as const, { what: 'deleted', run: 'r1' } as const];
  expect(judged([...told, deleting], null)).toEqual([]);
  expect(judged([...told, deleting], {})).toEqual([]);
  expect(judged([...told, deleting], { output: 'Else.' })).toHaveLength(1);
  expect(judged([...told, deleting, deleted], null)).toEqual([]);
  expect(judged([...told, deleting, deleted], {})).toEqual(['run r1 was deleted, and is there again: ended']);
});

test('a key that another request got an answer for is noticed', () => {
  const reused = (status: number) => judged([...told, { what: 'reused', key: 'k', run: 'r1', status }], {});
  expect(reused(422)).toEqual([]);
  expect(reused(202)).toHaveLength(1);
});

const scratch = join(repo, 'test/.planted', `deep-clients-${process.pid}`);
const folders = [scratch];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const crashed = async (name: string, edits: readonly Edit[]) => {
  const subject = await buildSubject(scratch, { name, edits });
  return (nth: number) => {
    const folder = mkdtempSync(join(tmpdir(), 'cloister-clients-'));
    folders.push(folder);
    return tryClients(subject, folder, randomFrom(3, `${name} ${nth}`), { visits: 1 });
  };
};

test('after a crash, all that clients were told is there', async () => {
  const crash = await crashed('kept', [slowCommits(25)]);
  const { problems, told: pieces } = await crash(0);
  expect(problems).toEqual([]);
  expect(pieces.length).toBeGreaterThan(5);
});

test('a server that gives receipts before the commit is caught', async () => {
  const early = {
    under: 'src/app/serve',
    before: 'await session.durable();\n    return served;',
    after: 'return served;',
  };
  // When the process dies is a matter of real time: commits are so slow that hardly a crash comes after them.
  const crash = await crashed('early', [slowCommits(500), early]);
  const problems: string[] = [];
  for (let nth = 0; nth < 8 && problems.length === 0; nth++) problems.push(...(await crash(nth)).problems);
  expect(problems.join('\n')).toContain('does not exist, and its client was told of it');
});
