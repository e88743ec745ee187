// Cuts through runs: taken while agents work, restored, branched, and removed by retention.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { sha256 } from '#base';
import type { Hash, RunId } from '#base';
import type { Checkpoint, Retention } from '#contracts';
import { virtualClock } from '#testkit';
import type { ScriptLine, RequestView } from '#testkit';
import { expiredCheckpoints } from '../../src/app/conversations/conversation-settings.ts';
import { gate, newestPrompt, newWorkspace, openTalk, ref, historyLines, takeTurn } from './conversations-driver.ts';

const storeKinds = ['memory', 'sqlite'] as const;
const opening = (kind: (typeof storeKinds)[number]) => (kind === 'memory' ? { store: 'memory' as const } : {});

const afterCall =
  (id: string) =>
  ({ toolResults }: RequestView): boolean =>
    toolResults.some((result) => result.id === id);
const writes = (path: string, content: string, id: string) => ({
  calls: [{ tool: 'write_file', args: { path, content }, id }],
});

/** Writes two files, waits, then answers. */
const workingScript: readonly ScriptLine[] = [
  { when: afterCall('one'), reply: writes('b.md', 'b', 'two') },
  { when: afterCall('two'), reply: { calls: [{ tool: 'wait', args: {}, id: 'three' }] } },
  { when: afterCall('three'), reply: 'Worked.' },
  { when: { text: 'Work.' }, reply: writes('plan.md', 'first the north', 'one') },
];

/** A run in the middle of its work, and a checkpoint of it. */
const runInTheMiddle = async (
  kind: (typeof storeKinds)[number],
  more: Parameters<typeof openTalk>[0] = {},
  each = false,
) => {
  const { tool, open, reached } = gate(each);
  const tools = [tool, 'write_file', 'read_file'] as const;
  const talk = await openTalk({
    ...opening(kind),
    says: workingScript,
    ...more,
    agents: { lead: { tools }, ...more.agents },
  });
  await takeTurn(talk, 'I am Ada.');
  const session = await talk.cloister.runTurn('lead', 'Work.');
  await reached;
  const checkpoint = await talk.cloister.checkpoints.create(session.run, { label: 'before the wait' });
  return { ...talk, session, checkpoint, open };
};

describe.for(storeKinds)('a checkpoint (%s)', (kind) => {
  // invariant: checkpoint-touches-no-run
  test('is taken while the run works, names the cut, and never touches the run', async () => {
    const { cloister, session, checkpoint, open } = await runInTheMiddle(kind);
    const before = (await cloister.show(session.run)).events.length;
    expect(checkpoint).toMatchObject({
      format: 1,
      agent: 'lead',
      run: session.run,
      conversation: ref('main'),
      why: 'asked',
      label: 'before the wait',
    });
    expect((await cloister.show(session.run)).events.length).toBe(before);
    open();
    expect((await session.outcome).output).toBe('Worked.');
    const [newest, asked] = await cloister.checkpoints.list({ agent: 'lead' });
    expect(newest).toMatchObject({ run: session.run, why: 'autosave' });
    expect(asked).toEqual(checkpoint);
    expect(newest!.frames).toBeGreaterThan(checkpoint.frames);
    expect((await cloister.audit(session.run)).ok).toBe(true);
  });

  test('in the middle of a run: a new run continues from there, and shows its model the same bytes', async () => {
    const { cloister, model, session, checkpoint, open } = await runInTheMiddle(kind);
    await expect(cloister.checkpoints.restore(checkpoint.id)).rejects.toMatchObject({ code: 'conversation_busy' });
    open();
    await session.outcome;
    const shown = newestPrompt({ model });
    await takeTurn({ cloister }, 'Later.');
    const restored = await cloister.checkpoints.restore(checkpoint.id);
    expect(restored!.run).not.toBe(session.run);
    expect((await restored!.outcome).output).toBe('Worked.');
    expect(newestPrompt({ model })).toBe(shown);
    expect(await historyLines({ cloister }, ref('main'))).toEqual([
      'person: I am Ada.',
      'lead: lead heard I am Ada.',
      'person: Work.',
      'lead: Worked.',
    ]);
    const audit = await cloister.audit(restored!.run);
    expect(audit.problems).toEqual([]);
    expect((await cloister.replay(restored!.run)).ok).toBe(true);
    const [first] = (await cloister.show(restored!.run)).cells;
    expect(first!.turns).toBe(4);
  });

  // invariant: conversation-continues-newest
  test('at the end of a run only moves the point the conversation continues from, and back again', async () => {
    const talk = await openTalk(opening(kind));
    const { checkpoints } = talk.cloister;
    await takeTurn(talk, 'One.');
    await takeTurn(talk, 'Two.');
    const [two, one] = await checkpoints.list();
    expect(await checkpoints.restore(one!.id)).toBeNull();
    expect(await historyLines(talk, ref('main'))).toEqual(['person: One.', 'lead: lead heard One.']);
    const runs = (await talk.cloister.runs()).length;
    await takeTurn(talk, 'Three.');
    expect(newestPrompt(talk)).not.toContain('Two.');
    expect((await historyLines(talk, ref('main'))).length).toBe(4);
    expect(await checkpoints.restore(two!.id)).toBeNull();
    expect(await historyLines(talk, ref('main'))).toEqual([
      'person: One.',
      'lead: lead heard One.',
      'person: Two.',
      'lead: lead heard Two.',
    ]);
    expect((await talk.cloister.runs()).length).toBe(runs + 1);
  });

  // invariant: restore-is-one-record
  test('of many concurrent restores, one starts a run, and the conversation stays consistent', async () => {
    const { cloister, session, checkpoint, open } = await runInTheMiddle(kind, {}, true);
    open();
    await session.outcome;
    const tried = await Promise.allSettled([1, 2, 3].map(() => cloister.checkpoints.restore(checkpoint.id)));
    const done = tried.flatMap((one) => (one.status === 'fulfilled' ? [one.value!] : []));
    expect(done.length).toBe(1);
    for (const one of tried)
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'conversation_busy' });
    done[0]!.cancel();
    await done[0]!.outcome;
    expect((await historyLines({ cloister }, ref('main'))).slice(0, 3)).toEqual([
      'person: I am Ada.',
      'lead: lead heard I am Ada.',
      'person: Work.',
    ]);
    expect((await cloister.conversations.show(ref('main'))).turns).toBe(2);
    expect((await cloister.runs()).length).toBe(3);
  });

  test('branched in the middle creates a new run with its own ledger, and leaves the original alone', async () => {
    const { cloister, session, checkpoint, open } = await runInTheMiddle(kind);
    const { conversation, session: branched } = await cloister.checkpoints.branch(checkpoint.id, { name: 'aside' });
    expect(conversation).toEqual(ref('aside'));
    open();
    await session.outcome;
    expect((await branched!.outcome).output).toBe('Worked.');
    expect(await historyLines({ cloister }, ref('aside'))).toEqual(await historyLines({ cloister }, ref('main')));
    expect((await cloister.audit(branched!.run)).problems).toEqual([]);
    expect(await cloister.conversations.list()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'aside', branchedFrom: checkpoint.id, turns: 1 }),
        expect.objectContaining({ name: 'main', branchedFrom: null, turns: 2 }),
      ]),
    );
    await takeTurn({ cloister }, 'On.', { conversation: 'aside' });
    expect((await historyLines({ cloister }, ref('main'))).length).toBe(4);
    expect((await historyLines({ cloister }, ref('aside'))).length).toBe(6);
    const fork = (await cloister.show(branched!.run)).events.find(({ type }) => type === 'run-fork');
    expect(fork).toMatchObject({ from: { run: session.run, frames: checkpoint.frames } });
  });

  test('a branch of a branch stays complete when its ancestors are deleted and purged', async () => {
    const talk = await openTalk(opening(kind));
    const { checkpoints, conversations } = talk.cloister;
    await takeTurn(talk, 'One.');
    const [first] = await checkpoints.list();
    const second = (await checkpoints.branch(first!.id)).conversation!;
    expect(second).toEqual(ref('main-branch'));
    await takeTurn(talk, 'Two.', { conversation: second });
    const [newest] = await checkpoints.list();
    const third = (await checkpoints.branch(newest!.id, { name: 'third' })).conversation!;
    await takeTurn(talk, 'Three.', { conversation: third });
    const before = await historyLines(talk, third);
    await expect(conversations.delete(second)).rejects.toMatchObject({
      code: 'conversation_shared',
      failure: { detail: expect.stringContaining('third') },
    });
    for (const one of [second, ref('main')]) {
      await conversations.delete(one, { force: true });
      expect(await historyLines(talk, third)).toEqual(before);
      const mine = (await checkpoints.list()).find(({ conversation }) => conversation?.name === one.name);
      await expect(checkpoints.restore(mine!.id)).rejects.toMatchObject({ code: 'conversation_deleted' });
      await expect(checkpoints.branch(mine!.id)).rejects.toMatchObject({ code: 'conversation_deleted' });
      await conversations.purge(one);
      expect(await historyLines(talk, third)).toEqual(before);
    }
    await takeTurn(talk, 'Four.', { conversation: third });
    expect(newestPrompt(talk)).toContain('One.');
    expect(before.slice(0, 4)).toEqual([
      'person: One.',
      'lead: lead heard One.',
      'person: Two.',
      'lead: lead heard Two.',
    ]);
    await expect(checkpoints.branch(first!.id)).rejects.toMatchObject({ code: 'checkpoint_unknown' });
  });

  test('branched into another agent needs that agent’s grant, and begins with the history', async () => {
    const granted = { grants: ['goal', 'result', 'note', 'history'] as const };
    const talk = await openTalk({ ...opening(kind), agents: { lead: {}, scout: {}, guide: granted } });
    const { checkpoints } = talk.cloister;
    await takeTurn(talk, 'I am Ada.');
    const [checkpoint] = await checkpoints.list();
    await expect(checkpoints.branch(checkpoint!.id, { agent: 'scout' })).rejects.toMatchObject({
      code: 'branch_refused',
      suggestion: expect.stringMatching(/^Add `history` to `grants`/u),
    });
    await expect(checkpoints.branch(checkpoint!.id, { agent: 'nobody' })).rejects.toMatchObject({
      code: 'agent_unknown',
    });
    expect((await talk.cloister.conversations.list()).length).toBe(1);
    const { conversation, session } = await checkpoints.branch(checkpoint!.id, { agent: 'guide' });
    expect(conversation).toEqual(ref('main-branch', 'guide'));
    expect(session).toBeNull();
    await takeTurn(talk, 'Who am I?', { agent: 'guide', conversation: conversation! });
    expect(newestPrompt(talk)).toContain('I am Ada.');
    const { agents: without } = await openTalk({ store: 'memory', agents: { guide: {} } });
    talk.cloister.register(without[0]!);
    await expect(takeTurn(talk, 'And?', { agent: 'guide', conversation: conversation! })).rejects.toMatchObject({
      code: 'conversation_refused',
    });
    talk.cloister.register(talk.agents[2]!);
    await expect(checkpoints.branch(checkpoint!.id, { agent: 'guide', name: 'main-branch' })).rejects.toMatchObject({
      code: 'name_invalid',
    });
  });

  test('of a run without a conversation can be continued, as a plain run or as a conversation', async () => {
    const { tool, open, reached } = gate();
    const talk = await openTalk({
      ...opening(kind),
      says: [
        { when: afterCall('w'), reply: 'Done.' },
        { when: { text: 'Wait' }, reply: { calls: [{ tool: 'wait', args: {}, id: 'w' }] } },
      ],
      agents: { lead: { tools: [tool] } },
    });
    const { cloister } = talk;
    const session = cloister.run('lead', 'Wait.');
    await reached;
    const checkpoint = await cloister.checkpoints.create(session.run);
    expect(checkpoint.conversation).toBeNull();
    await expect(cloister.checkpoints.restore(checkpoint.id)).rejects.toMatchObject({ code: 'run_owned' });
    open();
    await session.outcome;
    const restored = await cloister.checkpoints.restore(checkpoint.id);
    expect((await restored!.outcome).output).toBe('Done.');
    const branched = await cloister.checkpoints.branch(checkpoint.id, { name: 'talk' });
    await branched.session!.outcome;
    expect(await historyLines(talk, ref('talk'))).toEqual(['person: Wait.', 'lead: Done.']);
    const plain = await cloister.checkpoints.branch(checkpoint.id);
    expect(plain.conversation).toBeNull();
    await plain.session!.outcome;
    const ended = await cloister.checkpoints.create(session.run);
    expect(await cloister.checkpoints.restore(ended.id)).toBeNull();
  });

  test('of a run without a conversation, restored several times in parallel: each restore gets a complete run of its own', async () => {
    const { tool, open, reached } = gate();
    const talk = await openTalk({
      ...opening(kind),
      says: workingScript,
      agents: { lead: { tools: [tool, 'write_file', 'read_file'] } },
    });
    const { cloister } = talk;
    const session = cloister.run('lead', 'Work.');
    await reached;
    const { id, frames } = await cloister.checkpoints.create(session.run);
    open();
    await session.outcome;
    const before = await cloister.audit(session.run);
    const restored = await Promise.all([1, 2, 3].map(async () => (await cloister.checkpoints.restore(id))!));
    expect(new Set([session, ...restored].map(({ run }) => run)).size).toBe(4);
    for (const one of restored) {
      expect(await one.outcome).toMatchObject({ status: 'completed', output: 'Worked.', run: one.run });
      expect((await cloister.audit(one.run)).problems).toEqual([]);
      expect((await cloister.replay(one.run)).ok).toBe(true);
      const { events } = await cloister.show(one.run);
      expect(events.every(({ run }) => run === one.run)).toBe(true);
      expect(JSON.stringify(events)).toContain(`"from":{"run":"${session.run}","frames":${frames}`);
    }
    expect(await cloister.audit(session.run)).toEqual(before);
    expect((await cloister.runs()).length).toBe(4);
  });

  test('a call in flight at the cut belongs to the original run: the new run does not treat it as uncertain', async () => {
    const clock = virtualClock(1_000_000);
    const talk = await openTalk({
      ...opening(kind),
      clock,
      says: [{ reply: { text: 'Slowly.', delayMs: 5_000, usage: { input: 900, output: 100 } } }],
      agents: { lead: { budget: { tokens: 50_000 } } },
    });
    const { cloister } = talk;
    const toTheEnd = async <T>(ending: Promise<T>): Promise<T> => {
      const over = new AbortController();
      void ending.finally(() => over.abort());
      while (!over.signal.aborted) await clock.advance(1_000);
      return ending;
    };
    const session = cloister.run('lead', 'Think.');
    while (talk.model.requests.length === 0) await clock.advance(1);
    const checkpoint = await cloister.checkpoints.create(session.run);
    const first = await toTheEnd(session.outcome);
    expect(first).toMatchObject({ status: 'completed', spent: { inputTokens: 900, outputTokens: 100, uncertain: 0 } });
    const restored = await cloister.checkpoints.restore(checkpoint.id);
    const second = await toTheEnd(restored!.outcome);
    expect(second).toMatchObject({
      status: 'completed',
      output: 'Slowly.',
      spent: { ...first.spent, ms: second.spent.ms },
    });
    expect((await cloister.audit(restored!.run)).problems).toEqual([]);
    expect((await cloister.replay(restored!.run)).ok).toBe(true);
  });

  // invariant: checkpoint-view-by-cut
  test('two checkpoints are compared by their cells, files and tokens', async () => {
    const { cloister, session, checkpoint, open } = await runInTheMiddle(kind);
    open();
    await session.outcome;
    const [end] = await cloister.checkpoints.list();
    const diff = await cloister.checkpoints.diff(checkpoint.id, end!.id);
    expect(diff.cells).toMatchObject({
      added: [],
      removed: [],
      changed: [{ agent: 'lead', status: ['running', 'completed'], steps: [3, 3] }],
    });
    const [before, after] = diff.cells.changed[0]!.windowBytes;
    expect(after).toBeGreaterThan(before);
    expect(diff.tokens[1]).toBeGreaterThan(diff.tokens[0]);
    expect(diff.files).toEqual({ added: [], removed: [], changed: [] });
    const same = await cloister.checkpoints.diff(end!.id, end!.id);
    expect(same.cells.changed).toEqual([]);
  });

  test('that does not exist, or whose run does not exist, is refused with a clear error', async () => {
    const talk = await openTalk(opening(kind));
    const { checkpoints } = talk.cloister;
    await expect(checkpoints.restore('none')).rejects.toMatchObject({ code: 'checkpoint_unknown' });
    await expect(checkpoints.branch('none')).rejects.toMatchObject({ code: 'checkpoint_unknown' });
    await expect(checkpoints.diff('none', 'other')).rejects.toMatchObject({ code: 'checkpoint_unknown' });
    await expect(checkpoints.create('none')).rejects.toMatchObject({ code: 'run_unknown' });
    await takeTurn(talk, 'One.');
    const { run } = await takeTurn(talk, 'Two.');
    await expect(checkpoints.create(run, { label: 'x'.repeat(201) })).rejects.toMatchObject({ code: 'name_invalid' });
    await expect(checkpoints.list({ agent: 'nobody' })).rejects.toMatchObject({ code: 'agent_unknown' });
  });
});

describe('on disk', () => {
  // invariant: checkpoint-view-by-segments
  test('each has its file, with cells, windows, budgets and ledgers; contents are stored there once', async () => {
    const workspace = newWorkspace();
    const { cloister, session, checkpoint, open } = await runInTheMiddle('sqlite', { workspace });
    const folder = join(workspace, 'agents', 'lead', 'checkpoints');
    const file = JSON.parse(readFileSync(join(folder, `${checkpoint.id}.json`), 'utf8'));
    expect(file).toMatchObject(checkpoint);
    expect(file.cells).toMatchObject([
      { agent: 'lead', parent: null, depth: 0, status: 'running', steps: 3, ledger: { entries: 2 } },
    ]);
    const [cell] = file.cells;
    const [window] = await cloister.windows(session.run);
    expect(cell.window.bytes).toBe(window!.total.bytes);
    expect(cell.window.segments.length).toBeGreaterThan(3);
    expect(cell.budget.tokens).toBeGreaterThan(0);
    const content = sha256('first the north');
    expect(file.files).toMatchObject([
      { path: 'plan.md', bytes: 15, sha256: content },
      { path: 'b.md', bytes: 1, sha256: sha256('b') },
    ]);
    expect(readFileSync(join(folder, 'files', content), 'utf8')).toBe('first the north');
    open();
    await session.outcome;
    await cloister.checkpoints.list();
    expect(readdirSync(join(folder, 'files')).length).toBe(2);
    expect(readdirSync(folder).filter((name) => name.endsWith('.json')).length).toBe(3);
  });

  test('the exported file lists the files of earlier turns too, with their contents', async () => {
    const workspace = newWorkspace();
    const talk = await openTalk({
      workspace,
      says: [
        { when: afterCall('w'), reply: 'Written.' },
        { when: ({ lastText }) => lastText.includes('Write'), reply: writes('f', 'first', 'w') },
      ],
      agents: { lead: { tools: ['write_file'] } },
    });
    await takeTurn(talk, 'Write.');
    await talk.cloister.checkpoints.list();
    // Checkpoints of earlier turns are thinned out, and their contents with them.
    const folder = join(workspace, 'agents', 'lead', 'checkpoints');
    rmSync(folder, { recursive: true });
    const { run } = await takeTurn(talk, 'And now?');
    const { id } = await talk.cloister.checkpoints.create(run);
    const { cells, files } = JSON.parse(readFileSync(join(folder, `${id}.json`), 'utf8'));
    expect(files).toEqual([{ cell: cells[0].cell, path: 'f', bytes: 5, sha256: sha256('first') }]);
    expect(readFileSync(join(folder, 'files', sha256('first')), 'utf8')).toBe('first');
  });

  test('a run that continues from a cut has its files again, as they were at the cut', async () => {
    const workspace = newWorkspace();
    const { cloister, session, checkpoint, open } = await runInTheMiddle('sqlite', { workspace });
    open();
    await session.outcome;
    const restored = await cloister.checkpoints.restore(checkpoint.id);
    const { cell } = await restored!.outcome;
    expect(readFileSync(join(workspace, 'runs', restored!.run, cell, 'outputs', 'plan.md'), 'utf8')).toBe(
      'first the north',
    );
  });

  test('of a run in another process is taken without stopping it, and continued from here', async () => {
    const workspace = newWorkspace();
    const { session, cloister, open } = await runInTheMiddle('sqlite', { workspace });
    const { tool, open: openHere } = gate();
    const tools = [tool, 'write_file', 'read_file'] as const;
    const here = await openTalk({
      workspace,
      says: [{ when: afterCall('three'), reply: 'Worked here.' }],
      agents: { lead: { tools } },
    });
    const checkpoint = await here.cloister.checkpoints.create(session.run);
    expect(checkpoint.conversation).toEqual(ref('main'));
    openHere();
    const branched = await here.cloister.checkpoints.branch(checkpoint.id);
    expect((await branched.session!.outcome).output).toBe('Worked here.');
    open();
    expect((await session.outcome).output).toBe('Worked.');
    expect((await cloister.checkpoints.list()).map(({ id }) => id)).toContain(checkpoint.id);
  });

  test('the file of a restored or branched conversation is there immediately, matching the workspace log', async () => {
    const workspace = newWorkspace();
    const { cloister, session, checkpoint, open } = await runInTheMiddle('sqlite', { workspace }, true);
    const fileOf = (name: string): { entries?: { text: string }[]; turns?: number } | null => {
      const path = join(workspace, 'conversations', 'lead', `${name}.json`);
      return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as { entries: { text: string }[] }) : null;
    };
    const texts = (name: string) => fileOf(name)?.entries?.map(({ text }) => text);
    open();
    await session.outcome;
    const said1 = ['I am Ada.', 'lead heard I am Ada.'];
    await cloister.conversations.export(ref('main'));
    expect(texts('main')).toEqual([...said1, 'Work.', 'Worked.']);
    const [end] = await cloister.checkpoints.list();
    await cloister.checkpoints.branch(end!.id, { name: 'still' });
    expect(texts('still')).toEqual([...said1, 'Work.', 'Worked.']);
    const branched = await cloister.checkpoints.branch(checkpoint.id, { name: 'goes-on' });
    expect(texts('goes-on')).toEqual([...said1, 'Work.']);
    const restored = await cloister.checkpoints.restore(checkpoint.id);
    expect(texts('main')).toEqual([...said1, 'Work.']);
    for (const one of [branched.session!, restored!]) {
      one.cancel();
      await one.outcome;
    }
    await cloister.checkpoints.restore(end!.id);
    expect(texts('main')).toEqual([...said1, 'Work.', 'Worked.']);
    expect(fileOf('main')?.turns).toBe(2);
  });

  test('a branch whose beginning is lost says so and what to do, and that remedy works', async () => {
    const workspace = newWorkspace();
    const talk = await openTalk({ workspace });
    await takeTurn(talk, 'I am Ada.');
    const [checkpoint] = await talk.cloister.checkpoints.list();
    await talk.cloister.checkpoints.branch(checkpoint!.id, { name: 'other' });
    await talk.cloister.close();
    const database = new DatabaseSync(join(workspace, 'cloister.db'));
    database.exec('DELETE FROM blobs');
    database.close();
    const again = await openTalk({ workspace });
    const { conversations, checkpoints } = again.cloister;
    const lost = {
      code: 'store_damaged',
      message: expect.stringMatching(/"other" of "lead".*blob [0-9a-f]{64}.*copy/u),
    };
    await expect(conversations.show(ref('other'))).rejects.toMatchObject(lost);
    await expect(takeTurn(again, 'Who am I?', { conversation: 'other' })).rejects.toMatchObject(lost);
    await conversations.delete(ref('other'));
    await conversations.purge(ref('other'));
    await checkpoints.branch(checkpoint!.id, { name: 'other' });
    expect(await historyLines(again, ref('other'))).toEqual(['person: I am Ada.', 'lead: lead heard I am Ada.']);
  });

  const ended = async () => {
    const workspace = newWorkspace();
    const talk = await openTalk({ workspace });
    await takeTurn(talk, 'One.');
    await takeTurn(talk, 'Two.');
    const [checkpoint] = await talk.cloister.checkpoints.list();
    const path = join(workspace, 'agents', 'lead', 'checkpoints', `${checkpoint!.id}.json`);
    return { ...talk, workspace, checkpoint: checkpoint!, path };
  };

  const sqlIn = (workspace: string) => {
    const database = new DatabaseSync(join(workspace, 'cloister.db'));
    onTestFinished(() => database.close());
    return database;
  };

  test('a damaged, foreign or newer checkpoint is refused, and nothing is changed', async () => {
    const { cloister, workspace, checkpoint, path } = await ended();
    const other = await ended();
    const pages = (): number => Number(sqlIn(workspace).prepare('SELECT count(*) AS n FROM book').get()!['n']);
    const before = pages();
    const refused = async (id: string, words: string): Promise<void> => {
      await expect(cloister.checkpoints.restore(id)).rejects.toMatchObject({
        code: 'checkpoint_invalid',
        failure: { detail: expect.stringContaining(words) },
      });
      await expect(cloister.checkpoints.branch(id)).rejects.toMatchObject({ code: 'checkpoint_invalid' });
    };
    await expect(cloister.checkpoints.restore(other.checkpoint.id)).rejects.toMatchObject({
      code: 'checkpoint_unknown',
    });
    await refused(other.path, 'another workspace');
    const folder = join(workspace, 'given');
    mkdirSync(folder);
    const given = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const text = readFileSync(path, 'utf8');
    await refused(given('newer.json', text.replace('"format": 1', '"format": 2')), 'format 2');
    await refused(given('half.json', text.slice(0, 100)), 'damaged');
    await refused(given('list.json', '[]'), 'damaged');
    await refused(given('moved.json', text.replace(/"frames": \d+/u, '"frames": 1')), 'differs from the checkpoint');
    await expect(cloister.checkpoints.restore(join(folder, 'none.json'))).rejects.toMatchObject({
      code: 'checkpoint_unknown',
    });
    expect(pages()).toBe(before);
    // The path of a checkpoint's own file works like its id.
    expect(await cloister.checkpoints.restore(path)).toBeNull();

    sqlIn(workspace)
      .prepare('UPDATE frames SET hash = ? WHERE run = ? AND no = ?')
      .run('0'.repeat(64), checkpoint.run, checkpoint.frames - 1);
    await refused(checkpoint.id, 'has changed since the checkpoint');
    sqlIn(workspace).prepare('DELETE FROM frames WHERE run = ?').run(checkpoint.run);
    await refused(checkpoint.id, 'is not in this workspace');
    expect(pages()).toBe(before);
  });

  test('a newer format in the workspace log itself is refused by name', async () => {
    const { cloister, workspace, checkpoint } = await ended();
    await cloister.close();
    const { openSqliteStore } = await import('#adapters/stores');
    const store = await openSqliteStore(workspace);
    await store.appendRecord({ type: 'checkpoint', checkpoint: { ...checkpoint, id: 'newer', format: 2 as 1 } });
    await store.close();
    const again = await openTalk({ workspace });
    await expect(again.cloister.checkpoints.restore('newer')).rejects.toMatchObject({
      code: 'checkpoint_invalid',
      failure: { detail: expect.stringContaining('format 2') },
    });
  });

  test('forgotten checkpoints are removed with their files, and contents stay while another checkpoint has them', async () => {
    const workspace = newWorkspace();
    const clock = virtualClock(1_000_000);
    const retention = { allMs: 1_000, thinMs: 1_000_000, most: 2 };
    const talk = await openTalk({
      workspace,
      clock,
      retention,
      says: [
        { when: afterCall('w'), reply: 'Written.' },
        { when: ({ lastText }) => lastText.includes('Write a'), reply: writes('f', 'a', 'w') },
        { when: ({ lastText }) => lastText.includes('Write b'), reply: writes('f', 'b', 'w') },
      ],
      agents: { lead: { tools: ['write_file'] } },
    });
    const folder = join(workspace, 'agents', 'lead', 'checkpoints');
    const contents = (): readonly string[] => readdirSync(join(folder, 'files')).toSorted();
    await takeTurn(talk, 'Write a.');
    await takeTurn(talk, 'Write b.');
    await talk.cloister.checkpoints.list();
    expect(contents()).toEqual([sha256('a'), sha256('b')].toSorted());
    await takeTurn(talk, 'Write a again.');
    const [newest, second, ...none] = await talk.cloister.checkpoints.list();
    expect(none).toEqual([]);
    expect(contents()).toEqual([sha256('a'), sha256('b')].toSorted());
    await clock.advance(10_000);
    expect(await talk.cloister.checkpoints.applyRetention()).toEqual([second!.id]);
    expect(await talk.cloister.checkpoints.applyRetention()).toEqual([]);
    expect(existsSync(join(folder, `${second!.id}.json`))).toBe(false);
    expect(existsSync(join(folder, `${newest!.id}.json`))).toBe(true);
    expect(contents()).toEqual([sha256('a')]);
  });
});

/** The runs are named after their callers; the command line's have none. */
const callerOf = (run: RunId): string | null => (run === 'cli' ? null : run);

const checkpointOf = fc.record({
  run: fc.constantFrom('ana', 'bob', 'cli'),
  agent: fc.constantFrom('lead', 'scout'),
  name: fc.constantFrom('main', 'trip'),
  at: fc.nat(10_000),
  why: fc.constantFrom('asked' as const, 'autosave' as const),
});
const many = fc.array(checkpointOf, { maxLength: 60 }).map((all) =>
  all.map(({ agent, name, at, why, run }, index): Checkpoint => ({
    format: 1,
    id: `c${index}`,
    agent,
    run: run as RunId,
    conversation: { agent, name },
    frames: 1,
    hash: '0' as Hash,
    at,
    why,
    label: '',
  })),
);
const rules = fc.record({
  allMs: fc.nat(12_000),
  thinMs: fc.integer({ min: 1, max: 5_000 }),
  most: fc.integer({ min: 1, max: 40 }),
});
const left = (all: readonly Checkpoint[], now: number, retention: Retention): readonly Checkpoint[] => {
  const gone = new Set(expiredCheckpoints(all, { now, callerOf }, retention));
  return all.filter(({ id }) => !gone.has(id));
};

describe('for any checkpoints and any retention rules', () => {
  const now = 10_000;
  const each = (check: (all: readonly Checkpoint[], retention: Retention) => void): void =>
    fc.assert(fc.property(many, rules, check));

  // invariant: retention-by-caller
  test('what a caller keeps does not depend on how many checkpoints others have', () =>
    each((all, retention) => {
      const within = { ...retention, allMs: 20_000 };
      const own = all.filter(({ run }) => run === 'ana');
      expect(left(all, now, within).filter(({ run }) => run === 'ana')).toEqual(left(own, now, within));
    }));

  test('an agent has no more than its cap for each caller, and removals are reported oldest first', () =>
    each((all, retention) => {
      const kept = left(all, now, retention);
      for (const agent of ['lead', 'scout'])
        for (const run of ['ana', 'bob', 'cli']) {
          const own = kept.filter((one) => one.agent === agent && one.run === run);
          expect(own.length).toBeLessThanOrEqual(retention.most);
        }
      const times = expiredCheckpoints(all, { now, callerOf }, retention).map(
        (id) => all.find((one) => one.id === id)!.at,
      );
      expect(times).toEqual(times.toSorted((one, other) => one - other));
    }));

  test('applying retention twice is the same as applying it once, and time only ever removes more', () =>
    each((all, retention) => {
      const once = left(all, now, retention);
      expect(left(once, now, retention)).toEqual(once);
      const idsLater = (of: typeof all, by = retention) => left(of, now + 5_000, by).map(({ id }) => id);
      // What the cap removed does not come back when there is room again.
      const later = new Set(idsLater(all));
      expect(idsLater(once).filter((id) => !later.has(id))).toEqual([]);
      const roomy = { ...retention, most: 1_000 };
      expect(idsLater(left(all, now, roomy), roomy)).toEqual(idsLater(all, roomy));
    }));

  // invariant: retention-thins-by-period
  test('under the cap, checkpoints that are young or requested by a person stay, and of each interval the newest', () =>
    each((all, { allMs, thinMs }) => {
      const retention = { allMs, thinMs, most: 1_000 };
      const kept = new Set(left(all, now, retention).map(({ id }) => id));
      for (const one of all) {
        if (one.why === 'asked' || now - one.at <= allMs) expect(kept.has(one.id)).toBe(true);
        const stretch = all.filter(
          (other) =>
            other.why === 'autosave' &&
            now - other.at > allMs &&
            other.agent === one.agent &&
            other.conversation!.name === one.conversation!.name &&
            Math.floor(other.at / thinMs) === Math.floor(one.at / thinMs),
        );
        if (stretch.length === 0) continue;
        const keptOf = stretch.filter(({ id }) => kept.has(id));
        expect(keptOf.length).toBe(1);
        expect(keptOf[0]!.at).toBe(Math.max(...stretch.map(({ at }) => at)));
      }
    }));

  // invariant: retention-requested-last
  test('over the cap, no requested checkpoint is removed before an automatic one', () =>
    each((all, retention) => {
      const kept = new Set(left(all, now, retention).map(({ id }) => id));
      for (const agent of ['lead', 'scout']) {
        const mine = all.filter((one) => one.agent === agent);
        const askedGone = mine.some(({ id, why }) => why === 'asked' && !kept.has(id));
        const savedKept = mine.some(({ id, why }) => why === 'autosave' && kept.has(id));
        expect(askedGone && savedKept).toBe(false);
      }
    }));
});
