// A conversation has one workspace: each turn takes over the files that its agent's turn before left.
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { defineAgent } from 'cloister';
import { expect, test } from 'vitest';
import type { AgentOptions } from 'cloister';
import { unpackRecord } from '#testing/adapters/stores';
import type { Frame } from '#contracts';
import { auditRun } from '#core/audit';
import type { RequestView, ScriptLine } from '#testkit';
import { gate, newWorkspace, openTalk, ref, takeTurn } from './conversations-driver.ts';
import type { Talk } from './conversations-driver.ts';

const long = {
  name: 'long',
  description: 'Returns a long text.',
  inputSchema: { type: 'object' as const },
  repeat: 'free' as const,
  execute: () => `${'word '.repeat(4_000)}the end`,
};
const helper = defineAgent({ name: 'helper', description: 'Helps.', prompt: 'Help.', tools: ['list_files'] });
const withFiles: Partial<AgentOptions> = { tools: ['write_file', 'read_file', 'list_files', long] };

/** A goal is a list of calls, such as `write a.txt one; list`. The answer is what the last of them returned. */
const acts: readonly ScriptLine[] = [
  { when: ({ toolResults }) => toolResults.length > 0, reply: ({ toolResults }) => toolResults.at(-1)!.text },
  { reply: (request) => ({ calls: callsIn(request) }) },
];

const callsIn = ({ goal }: RequestView) =>
  goal.split('; ').map((act) => {
    const [verb = '', path = '', content = ''] = act.split(' ');
    if (verb === 'write') return { tool: 'write_file', args: { path, content } };
    if (verb === 'read') return { tool: 'read_file', args: { path } };
    if (verb === 'output') return { tool: 'read_output', args: { name: path, from: Number(content) } };
    return { tool: verb === 'list' ? 'list_files' : verb, args: path === '' ? {} : { prompt: path } };
  });

const open = (more: Parameters<typeof openTalk>[0] = {}): Promise<Talk> =>
  openTalk({ says: acts, agents: { lead: withFiles }, ...more });

const answer = async (talk: Talk, text: string, options: Parameters<typeof takeTurn>[2] = {}): Promise<string> =>
  (await takeTurn(talk, text, options)).output;

// invariant: inherit-contents-first
test.each(['memory', 'sqlite'] as const)(
  'a turn lists, reads and overwrites the files of the turn before (%s)',
  async (store) => {
    const talk = await open(store === 'memory' ? { store } : {});
    await answer(talk, 'write a.txt one; write notes/b.txt two');
    expect(await answer(talk, 'list')).toBe('a.txt (3 bytes)\nnotes/b.txt (3 bytes)');
    expect(await answer(talk, 'read notes/b.txt')).toBe('two\n[bytes 0 to 3 of 3]');
    expect(await answer(talk, 'write a.txt other')).toBe('Wrote 5 bytes.');
    expect(await answer(talk, 'read a.txt')).toBe('other\n[bytes 0 to 5 of 5]');
    const { run } = await takeTurn(talk, 'list');
    expect(await talk.cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
    expect(await talk.cloister.replay(run)).toMatchObject({ ok: true });
  },
);

// invariant: inherit-own-files
test('the files of one conversation are in no other, with no agent but their own, and with no child', async () => {
  const agents = { lead: { ...withFiles, agents: [helper] }, guest: withFiles };
  const talk = await open({ agents });
  await answer(talk, 'write a.txt one');
  expect(await answer(talk, 'list', { conversation: 'other' })).toBe('No files.');
  await talk.cloister.conversations.attach(ref('main'), 'guest');
  const asGuest = { agent: 'guest', conversation: ref('main') };
  expect(await answer(talk, 'list', asGuest)).toBe('No files.');
  await answer(talk, 'write guest.txt mine', asGuest);
  expect(await answer(talk, 'list')).toBe('a.txt (3 bytes)');
  expect(await answer(talk, 'list', asGuest)).toBe('guest.txt (4 bytes)');
  expect(await answer(talk, 'helper list')).toContain('| No files.');
});

test('read_output finds the outputs of earlier turns, and their numbers go on', async () => {
  const talker = defineAgent({ name: 'talker', description: 'Talks.', prompt: 'Talk.' });
  const says = [{ when: { agent: 'talker' }, reply: `${'note\n'.repeat(3_000)}said talker` }, ...acts];
  const talk = await open({ says, agents: { lead: { ...withFiles, agents: [talker] } } });
  expect(await answer(talk, 'long')).toContain('read_output {"name": "long_001.txt"');
  expect(await answer(talk, 'talker hello')).toContain('read_output {"name": "talker_001.txt"');
  expect(await answer(talk, 'long')).toContain('read_output {"name": "long_002.txt"');
  expect(await answer(talk, 'talker hello')).toContain('read_output {"name": "talker_002.txt"');
  expect(await answer(talk, 'output long_001.txt 20000')).toBe('the end\n[bytes 20000 to 20007 of 20007]');
  // What another agent said stays framed as data.
  expect(await answer(talk, 'output talker_001.txt 15000')).toContain('\n| said talker\n');
  expect(await answer(talk, 'list')).toBe('No files.');
  const { run } = await takeTurn(talk, 'output long_002.txt 20000');
  expect(await talk.cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
});

// invariant: inherited-files-not-shared
test('a restore or a branch takes the files of the turn that it starts from', async () => {
  const talk = await open();
  await answer(talk, 'write a.txt one');
  const { run } = await takeTurn(talk, 'write b.txt two');
  const checkpoint = await talk.cloister.checkpoints.create(run);
  await answer(talk, 'write a.txt later; write c.txt later');
  await talk.cloister.checkpoints.branch(checkpoint.id, { name: 'branch' });
  expect(await answer(talk, 'list', { conversation: 'branch' })).toBe('a.txt (3 bytes)\nb.txt (3 bytes)');
  await talk.cloister.checkpoints.restore(checkpoint.id);
  expect(await answer(talk, 'list')).toBe('a.txt (3 bytes)\nb.txt (3 bytes)');
  expect(await answer(talk, 'read a.txt')).toBe('one\n[bytes 0 to 3 of 3]');
});

// invariant: turn-files-from-its-log
test('of a turn that was in flight at the checkpoint, only what it had written by then counts', async () => {
  const { tool, open: release, reached } = gate();
  const both: Partial<AgentOptions> = { tools: [...withFiles.tools!, tool] };
  const next = (when: string, goal: string): ScriptLine => ({
    when: ({ toolResults }) => toolResults[0]?.tool === when,
    times: 1,
    reply: (request) => ({ calls: callsIn({ ...request, goal }) }),
  });
  const says = [next('write_file', 'wait'), next('wait', 'write b.txt two'), ...acts];
  const talk = await open({ says, agents: { lead: both, guest: both } });
  const session = await talk.cloister.runTurn('lead', 'write a.txt one');
  await reached;
  await talk.cloister.conversations.attach(ref('main'), 'guest');
  const { run } = await takeTurn(talk, 'list', { agent: 'guest', conversation: ref('main') });
  const { id } = await talk.cloister.checkpoints.create(run);
  release();
  await session.outcome;
  expect(await answer(talk, 'list')).toBe('a.txt (3 bytes)\nb.txt (3 bytes)');
  await talk.cloister.checkpoints.restore(id);
  expect(await answer(talk, 'list')).toBe('a.txt (3 bytes)');
});

test('a branch keeps its files when the conversation that it comes from is purged, and each agent its own', async () => {
  const talk = await open({
    agents: { lead: withFiles, guest: withFiles, other: { ...withFiles, grants: ['goal', 'result', 'history'] } },
  });
  const { cloister } = talk;
  await cloister.runTurn('lead', 'write a.txt one').then(({ outcome }) => outcome);
  await cloister.conversations.attach(ref('main'), 'guest');
  await answer(talk, 'write guest.txt mine', { agent: 'guest', conversation: ref('main') });
  const { run } = await takeTurn(talk, 'list');
  const { id } = await cloister.checkpoints.create(run);
  await cloister.checkpoints.branch(id, { name: 'kept' });
  await cloister.checkpoints.branch(id, { name: 'theirs', agent: 'other' });
  await cloister.conversations.delete(ref('main'), { force: true });
  await cloister.conversations.purge(ref('main'));
  expect(await answer(talk, 'list', { conversation: 'kept' })).toBe('a.txt (3 bytes)');
  await cloister.conversations.attach(ref('kept'), 'guest');
  expect(await answer(talk, 'list', { agent: 'guest', conversation: ref('kept') })).toBe('guest.txt (4 bytes)');
  expect(await answer(talk, 'list', { agent: 'other', conversation: 'theirs' })).toBe('No files.');
  // A new conversation of the same name begins without files.
  expect(await answer(talk, 'list')).toBe('No files.');
});

test('max_output_files counts what the turn itself writes, and a path cannot be a file and a folder', async () => {
  const talk = await open({ agents: { lead: { ...withFiles, limits: { max_output_files: 2 } } } });
  await answer(talk, 'write a.txt one; write folder/b.txt two');
  await answer(talk, 'write c.txt three; write a.txt four');
  expect(await answer(talk, 'write a.txt/d.txt five')).toContain('"a.txt" is a file, not a folder.');
  expect(await answer(talk, 'write folder six')).toContain('"folder" is a folder, not a regular file.');
  expect(await answer(talk, 'list')).toBe('a.txt (4 bytes)\nc.txt (5 bytes)\nfolder/b.txt (3 bytes)');
});

test('a turn that is resumed in a copy of the workspace without any folder has its files', async () => {
  const workspace = newWorkspace();
  const { tool, reached } = gate();
  const agents = { lead: { tools: [...withFiles.tools!, tool] } };
  const first = await open({ agents, workspace });
  await answer(first, 'write a.txt one');
  const session = await first.cloister.runTurn('lead', 'wait');
  await reached;
  // Here the process dies, as far as the copy is concerned.
  const copy = newWorkspace();
  for (const end of ['', '-wal', '-shm']) cpSync(join(workspace, `cloister.db${end}`), join(copy, `cloister.db${end}`));
  using database = new DatabaseSync(join(copy, 'cloister.db'));
  database.exec('DELETE FROM owners');
  session.cancel();
  await session.outcome;
  const again = [
    {
      when: ({ toolResults }: RequestView) => toolResults[0]?.tool === 'wait',
      times: 1,
      reply: { calls: [{ tool: 'list_files', args: {} }] },
    },
  ];
  const second = await open({
    agents: { lead: { tools: [...withFiles.tools!, { ...tool, execute: () => 'waited' }] } },
    says: [...again, ...acts],
    workspace: copy,
  });
  const resumed = await second.cloister.resume(session.run);
  expect(await resumed.outcome).toMatchObject({ status: 'completed', output: 'a.txt (3 bytes)' });
});

test('the audit notices a list that is not what the turn before left, and a content that the store has lost', async () => {
  const workspace = newWorkspace();
  const talk = await open({ workspace });
  const { run: before } = await takeTurn(talk, 'write a.txt one');
  const { run } = await takeTurn(talk, 'list');
  const framesOf = (of: string): readonly Frame[] => {
    using database = new DatabaseSync(join(workspace, 'cloister.db'));
    const rows = database.prepare('SELECT body FROM frames WHERE run = ? ORDER BY no').all(of);
    return rows.map(({ body }) => JSON.parse(String(unpackRecord(body))) as Frame);
  };
  const problemsIf = async (left: string, stored: string) => {
    const readRun = async () =>
      JSON.parse(JSON.stringify(framesOf(before)).replaceAll('one', left)) as readonly Frame[];
    const readBlob = async () => Buffer.from(stored);
    return (await auditRun(framesOf(run), { damaged: [], readBlob, readRun })).problems.map(({ code }) => code);
  };
  expect(await problemsIf('one', 'one')).toEqual([]);
  expect(await problemsIf('two', 'one')).toEqual(['crossing-content']);
  expect(await problemsIf('one', 'two')).toEqual(['output-changed']);
});
