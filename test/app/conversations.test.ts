// Conversations: turns that are shown the history, who may take them, and how they are stored and deleted.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import { openSqliteStore } from '#adapters/stores';
import type { RunId } from '#base';
import type { Entry } from '#contracts';
import { rehearse } from '#testkit';
import { buildHistory } from '../../src/app/conversations/build-history.ts';
import { pathPart } from '../../src/app/conversations/conversation-names.ts';
import {
  gate,
  newestPrompt,
  newWorkspace,
  openTalk,
  ref,
  historyLines,
  takeTurn,
  waitsFirst,
} from './conversations-driver.ts';
import { ai, createFolders } from './driver.ts';

/** Relative paths of all files, sorted. */
const filesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.json'))
    .toSorted();

const storeKinds = ['memory', 'sqlite'] as const;
const opening = (kind: (typeof storeKinds)[number]) => (kind === 'memory' ? { store: 'memory' as const } : {});

describe.for(storeKinds)('a conversation (%s)', (kind) => {
  test('begins with its first turn, and the next turn is shown the history', async () => {
    const talk = await openTalk(opening(kind));
    await takeTurn(talk, 'My name is Ada.', { conversation: 'trip' });
    expect(newestPrompt(talk)).not.toContain('heard');
    await takeTurn(talk, 'What is my name?', { conversation: 'trip' });
    expect(newestPrompt(talk)).toContain('My name is Ada.');
    expect(newestPrompt(talk)).toContain('lead heard My name is Ada.');
    expect(await historyLines(talk, ref('trip'))).toEqual([
      'person: My name is Ada.',
      'lead: lead heard My name is Ada.',
      'person: What is my name?',
      'lead: lead heard What is my name?',
    ]);
  });

  test('belongs to its agent: another name, another agent and a plain run see none of it', async () => {
    const talk = await openTalk({ ...opening(kind), agents: { lead: {}, scout: {} } });
    await takeTurn(talk, 'The code is 4711.');
    await takeTurn(talk, 'Go on.', { conversation: 'other' });
    expect(newestPrompt(talk)).not.toContain('4711');
    await takeTurn(talk, 'Go on.', { agent: 'scout' });
    expect(newestPrompt(talk)).not.toContain('4711');
    await talk.cloister.run('lead', 'Go on.').outcome;
    expect(newestPrompt(talk)).not.toContain('4711');
    await takeTurn(talk, 'Go on.');
    expect(newestPrompt(talk)).toContain('4711');
    expect(
      (await talk.cloister.conversations.list()).map(({ agent, name, turns }) => `${agent} ${name} ${turns}`),
    ).toEqual(expect.arrayContaining(['lead main 2', 'lead other 1', 'scout main 1']));
    expect((await talk.cloister.conversations.list({ agent: 'scout' })).length).toBe(1);
  });

  test('keeps context separate, and shows it again in the next turn', async () => {
    const talk = await openTalk(opening(kind));
    await takeTurn(talk, 'Plan it.', { context: ['The office closes at five.', ' '] });
    expect(newestPrompt(talk)).toContain('The office closes at five.');
    await takeTurn(talk, 'And now?');
    expect(newestPrompt(talk)).toContain('The office closes at five.');
    const { entries } = await talk.cloister.conversations.show(ref('main'));
    expect(entries.map(({ category, agent_id, recipient_id }) => [category, agent_id, recipient_id])).toEqual([
      ['CONTEXT', 'person', 'lead'],
      ['DIALOG', 'person', 'lead'],
      ['DIALOG', 'lead', 'person'],
      ['DIALOG', 'person', 'lead'],
      ['DIALOG', 'lead', 'person'],
    ]);
  });

  test('accepts context while it works, shows it with the next request, and keeps it', async () => {
    const { tool, open, reached } = gate();
    const talk = await openTalk({ ...opening(kind), says: waitsFirst, agents: { lead: { tools: [tool] } } });
    const session = await talk.cloister.runTurn('lead', 'Wait.');
    session.addContext('Early: the door is open.');
    await reached;
    session.addContext('Late: it rains.');
    expect(() => session.refreshShare('none')).toThrow(expect.objectContaining({ code: 'cell_ended' }));
    open();
    await session.outcome;
    expect(newestPrompt(talk)).toContain('Early: the door is open.');
    expect(newestPrompt(talk)).toContain('Late: it rains.');
    expect(() => session.addContext('Too late.')).toThrow(expect.objectContaining({ code: 'cell_ended' }));
    const { entries } = await talk.cloister.conversations.show(ref('main'));
    expect(entries.map(({ category, text }) => `${category} ${text}`).slice(0, 3)).toEqual([
      'DIALOG Wait.',
      'CONTEXT Early: the door is open.',
      'CONTEXT Late: it rains.',
    ]);
    await takeTurn(talk, 'And now?');
    expect(newestPrompt(talk)).toContain('Late: it rains.');
  });

  test('has entries with envelopes: an id, sender, recipient, run and time', async () => {
    const talk = await openTalk(opening(kind));
    const { run } = await takeTurn(talk, 'Hello.');
    const { entries } = await talk.cloister.conversations.show(ref('main'));
    expect(entries).toMatchObject([
      { id: `${run}/1`, agent_id: 'person', recipient_id: 'lead', message_type: 'message', correlation: run },
      { id: `${run}/2`, agent_id: 'lead', recipient_id: 'person', message_type: 'result', correlation: run },
    ]);
    expect(entries.every(({ at }) => at > 0)).toBe(true);
  });

  test('lets an agent take one turn at a time, and names the running run', async () => {
    const { tool, open, reached } = gate();
    const talk = await openTalk({ ...opening(kind), says: waitsFirst, agents: { lead: { tools: [tool] } } });
    const session = await talk.cloister.runTurn('lead', 'Wait for it.');
    await reached;
    await expect(talk.cloister.runTurn('lead', 'Now?')).rejects.toMatchObject({
      code: 'conversation_busy',
      failure: { detail: expect.stringContaining(session.run) },
    });
    await expect(talk.cloister.conversations.delete(ref('main'))).rejects.toMatchObject({ code: 'conversation_busy' });
    expect((await talk.cloister.conversations.list())[0]).toMatchObject({ running: [session.run] });
    await takeTurn(talk, 'Elsewhere.', { conversation: 'other' });
    open();
    await session.outcome;
    await takeTurn(talk, 'Now.');
    expect((await talk.cloister.conversations.show(ref('main'))).turns).toBe(2);
  });

  // invariant: conversation-one-turn-at-a-time
  test('of turns that begin at the same moment, one is accepted', async () => {
    const { tool, open } = gate();
    const talk = await openTalk({
      ...opening(kind),
      says: [{ when: { text: 'Wait' }, reply: { calls: [{ tool: 'wait', args: {} }] } }],
      agents: { lead: { tools: [tool] } },
    });
    const tried = await Promise.allSettled([1, 2, 3, 4].map(() => talk.cloister.runTurn('lead', 'Wait.')));
    expect(tried.filter(({ status }) => status === 'fulfilled').length).toBe(1);
    for (const one of tried)
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'conversation_busy' });
    expect((await talk.cloister.conversations.show(ref('main'))).turns).toBe(1);
    open();
  });

  test('shared by two agents interleaves their messages, and each sees the other’s', async () => {
    const talk = await openTalk({ ...opening(kind), agents: { lead: {}, scout: {} } });
    await takeTurn(talk, 'I am Ada.');
    await expect(takeTurn(talk, 'Hi.', { agent: 'scout', conversation: ref('main') })).rejects.toMatchObject({
      code: 'conversation_refused',
    });
    await talk.cloister.conversations.attach(ref('main'), 'scout');
    await talk.cloister.conversations.attach(ref('main'), 'scout');
    await takeTurn(talk, 'Who am I?', { agent: 'scout', conversation: ref('main') });
    expect(newestPrompt(talk)).toContain('I am Ada.');
    await takeTurn(talk, 'And?');
    expect(newestPrompt(talk)).toContain('scout heard Who am I?');
    expect(await historyLines(talk, ref('main'))).toEqual([
      'person: I am Ada.',
      'lead: lead heard I am Ada.',
      'person: Who am I?',
      'scout: scout heard Who am I?',
      'person: And?',
      'lead: lead heard And?',
    ]);
    expect((await talk.cloister.conversations.list())[0]).toMatchObject({ attached: ['scout'] });
    await talk.cloister.conversations.detach(ref('main'), 'scout');
    await expect(takeTurn(talk, 'Hi.', { agent: 'scout', conversation: ref('main') })).rejects.toMatchObject({
      code: 'conversation_refused',
    });
    await expect(talk.cloister.conversations.detach(ref('main'), 'scout')).rejects.toMatchObject({
      code: 'agent_unknown',
    });
  });

  test('is open to an agent whose definition grants it history', async () => {
    const talk = await openTalk({
      ...opening(kind),
      agents: { lead: {}, scout: { grants: ['goal', 'result', 'note', 'history'] } },
    });
    await takeTurn(talk, 'I am Ada.');
    await takeTurn(talk, 'Who am I?', { agent: 'scout', conversation: ref('main') });
    expect(newestPrompt(talk)).toContain('I am Ada.');
  });

  // invariant: conversation-purged-is-gone
  test('with other agents attached is deleted only by force, which names them; it can be restored until it is purged', async () => {
    const talk = await openTalk({ ...opening(kind), agents: { lead: {}, scout: {} } });
    const { conversations } = talk.cloister;
    await takeTurn(talk, 'Hello.');
    await conversations.attach(ref('main'), 'scout');
    await expect(conversations.delete(ref('main'))).rejects.toMatchObject({
      code: 'conversation_shared',
      failure: { detail: expect.stringContaining('scout') },
    });
    expect((await conversations.show(ref('main'))).deletedAt).toBeNull();
    await conversations.delete(ref('main'), { force: true });
    await conversations.delete(ref('main'));
    expect(await conversations.list()).toEqual([]);
    expect((await conversations.list({ deleted: true }))[0]?.deletedAt).toBeGreaterThan(0);
    await expect(talk.cloister.runTurn('lead', 'Hi.')).rejects.toMatchObject({ code: 'conversation_deleted' });
    await conversations.restore(ref('main'));
    await takeTurn(talk, 'Again.');
    await expect(conversations.purge(ref('main'))).rejects.toMatchObject({ code: 'conversation_kept' });
    await conversations.delete(ref('main'), { force: true });
    await conversations.purge(ref('main'));
    await expect(conversations.show(ref('main'))).rejects.toMatchObject({ code: 'conversation_unknown' });
    await expect(conversations.restore(ref('main'))).rejects.toMatchObject({ code: 'conversation_unknown' });
    await takeTurn(talk, 'A new one.');
    expect(await historyLines(talk, ref('main'))).toEqual(['person: A new one.', 'lead: lead heard A new one.']);
    expect(await talk.cloister.checkpoints.list()).toHaveLength(1);
  });

  test('invalid requests are refused before anything is written', async () => {
    const talk = await openTalk({ ...opening(kind), agents: { lead: {}, scout: {} } });
    const { cloister } = talk;
    await expect(cloister.runTurn('leed', 'Hi.')).rejects.toMatchObject({ code: 'agent_unknown' });
    await expect(cloister.runTurn('lead', ' ')).rejects.toMatchObject({ code: 'goal_empty' });
    for (const name of ['', ' ', 'x'.repeat(101), 'a\u0000b', '\ud800'])
      await expect(cloister.runTurn('lead', 'Hi.', { conversation: name })).rejects.toMatchObject({
        code: 'name_invalid',
      });
    await expect(cloister.runTurn('scout', 'Hi.', { conversation: ref('none') })).rejects.toMatchObject({
      code: 'conversation_unknown',
    });
    await expect(cloister.conversations.attach(ref('none'), 'scout')).rejects.toMatchObject({
      code: 'conversation_unknown',
    });
    await expect(cloister.conversations.attach(ref('none'), 'nobody')).rejects.toMatchObject({ code: 'agent_unknown' });
    await expect(cloister.conversations.list({ agent: 'nobody' })).rejects.toMatchObject({ code: 'agent_unknown' });
    expect(await cloister.conversations.list({ deleted: true })).toEqual([]);
    expect(await cloister.runs()).toEqual([]);
  });
});

describe('on disk', () => {
  test('a conversation continues in another process, and unreadable content is not lost', async () => {
    const workspace = newWorkspace();
    const first = await openTalk({ workspace });
    await takeTurn(first, 'I am Ada.');
    await first.cloister.close();
    const second = await openTalk({ workspace });
    await takeTurn(second, 'Who am I?');
    expect(newestPrompt(second)).toContain('I am Ada.');
    expect((await historyLines(second, ref('main'))).length).toBe(4);
  });

  // invariant: conversation-one-turn-at-a-time
  test('two processes take turns in one conversation one at a time, and see each other’s turns', async () => {
    const workspace = newWorkspace();
    const { tool, open, reached } = gate();
    const one = await openTalk({ workspace, says: waitsFirst, agents: { lead: { tools: [tool] } } });
    const other = await openTalk({ workspace, agents: { lead: { tools: [tool] } } });
    const session = await one.cloister.runTurn('lead', 'Wait.');
    await reached;
    await expect(other.cloister.runTurn('lead', 'Now?')).rejects.toMatchObject({ code: 'conversation_busy' });
    open();
    await session.outcome;
    await takeTurn(other, 'Now.');
    expect(newestPrompt(other)).toContain('lead heard');
  });

  test('each conversation has its file: at the top level for the default agent, under its id for any other', async () => {
    const workspace = newWorkspace();
    const talk = await openTalk({ workspace, agents: { lead: {}, scout: {} }, defaultAgent: 'lead' });
    await takeTurn(talk, 'One.', { conversation: 'trip/../nach Köln' });
    await takeTurn(talk, 'Two.', { agent: 'scout', conversation: 'con' });
    const paths = [
      await talk.cloister.conversations.export(ref('trip/../nach Köln')),
      await talk.cloister.conversations.export(ref('con', 'scout')),
    ];
    expect(paths).toEqual([
      join(workspace, 'conversations', 'trip%2F..%2Fnach%20K%C3%B6ln.json'),
      join(workspace, 'conversations', 'scout', '%63on.json'),
    ]);
    const file = JSON.parse(readFileSync(paths[0]!, 'utf8')) as { entries: Entry[] };
    expect(file).toMatchObject({ format: 1, agent: 'lead', name: 'trip/../nach Köln', turns: 1 });
    expect(file.entries).toEqual((await talk.cloister.conversations.show(ref('trip/../nach Köln'))).entries);
    expect(readdirSync(join(workspace, 'conversations')).filter((name) => name.endsWith('.new'))).toEqual([]);
    await talk.cloister.conversations.delete(ref('con', 'scout'));
    expect(existsSync(paths[1]!)).toBe(false);
    await talk.cloister.conversations.restore(ref('con', 'scout'));
    expect(existsSync(paths[1]!)).toBe(true);
    await talk.cloister.conversations.delete(ref('con', 'scout'));
    await talk.cloister.conversations.purge(ref('con', 'scout'));
    expect(existsSync(paths[1]!)).toBe(false);
    await expect(talk.cloister.conversations.export(ref('con', 'scout'))).rejects.toMatchObject({
      code: 'conversation_unknown',
    });
  });

  test('the default agent is the one in the config unless one is given, and files follow it', async () => {
    const { cwd, path } = createFolders({
      'lead.ai': ai(),
      'scout.ai': ai(),
      '.ai-agent.json': { defaultAgent: 'lead' },
    });
    const workspace = path('.cloister');
    const saveAll = async (given: { readonly defaultAgent?: string | null }) => {
      const models = [rehearse([{ reply: 'Yes.' }])];
      const agents = ['lead.ai', 'scout.ai'];
      await using cloister = await openCloister({ workspace, agents, cwd, env: {}, models, ...given });
      for (const agent of ['lead', 'scout']) {
        await (
          await cloister.runTurn(agent, 'Hi.', { conversation: 'trip' })
        ).outcome;
        await cloister.conversations.export(ref('trip', agent));
      }
      return filesBelow(join(workspace, 'conversations'));
    };
    expect(await saveAll({})).toEqual(['scout/trip.json', 'trip.json']);
    expect(await saveAll({ defaultAgent: 'scout' })).toEqual(['lead/trip.json', 'trip.json']);
    expect(await saveAll({ defaultAgent: null })).toEqual(['lead/trip.json', 'scout/trip.json']);
    expect(await saveAll({})).toEqual(['scout/trip.json', 'trip.json']);
  });

  test('a deleted conversation’s own file is removed, and no other', async () => {
    const workspace = newWorkspace();
    const talk = await openTalk({ workspace, agents: { lead: {}, scout: {} }, defaultAgent: 'lead' });
    await takeTurn(talk, 'One.', { conversation: 'trip' });
    await takeTurn(talk, 'Two.', { agent: 'scout', conversation: 'trip' });
    const { conversations } = talk.cloister;
    for (const agent of ['lead', 'scout']) await conversations.export(ref('trip', agent));
    await conversations.delete(ref('trip', 'scout'));
    expect(filesBelow(join(workspace, 'conversations'))).toEqual(['trip.json']);
    await conversations.purge(ref('trip', 'scout'));
    expect(filesBelow(join(workspace, 'conversations'))).toEqual(['trip.json']);
  });

  test('a process that died between the workspace record and the first frame leaves a conversation that can continue', async () => {
    const workspace = newWorkspace();
    const talk = await openTalk({ workspace });
    await takeTurn(talk, 'One.');
    const [checkpoint] = await talk.cloister.checkpoints.list();
    await takeTurn(talk, 'Two.');
    await talk.cloister.close();
    const store = await openSqliteStore(workspace);
    const conversation = ref('main');
    await store.appendRecord({ type: 'turn', conversation, agent: 'lead', run: 'never-begun' as RunId });
    await store.appendRecord({
      type: 'restore',
      checkpoint: checkpoint!.id,
      conversation,
      run: 'nor-this-one' as RunId,
    });
    await store.close();
    const again = await openTalk({ workspace });
    expect(await historyLines(again, ref('main'))).toEqual(['person: One.', 'lead: lead heard One.']);
    await takeTurn(again, 'Three.');
    expect(newestPrompt(again)).toContain('lead heard One.');
    expect((await historyLines(again, ref('main'))).length).toBe(4);
  });

  test('a damaged workspace log is reported, and no turn is taken on top of it', async () => {
    const workspace = newWorkspace();
    const talk = await openTalk({ workspace });
    await takeTurn(talk, 'One.');
    await talk.cloister.close();
    const database = new DatabaseSync(join(workspace, 'cloister.db'));
    onTestFinished(() => database.close());
    database.exec("UPDATE book SET body = replace(body, 'main', 'mine') WHERE no = 0");
    const again = await openTalk({ workspace });
    await expect(again.cloister.runTurn('lead', 'Two.')).rejects.toMatchObject({ code: 'store_damaged' });
    await expect(again.cloister.conversations.list()).rejects.toMatchObject({
      failure: { detail: 'record 0 of the workspace log is damaged' },
    });
  });

  test('reading needs no agents', async () => {
    const workspace = newWorkspace();
    const talk = await openTalk({ workspace });
    await takeTurn(talk, 'One.');
    await talk.cloister.close();
    const looking = await openCloister({ workspace, agents: [] });
    onTestFinished(() => looking.close());
    expect((await looking.conversations.show(ref('main'))).entries.length).toBe(2);
    expect(await looking.conversations.list({ agent: 'lead' })).toHaveLength(1);
    for (const list of [looking.conversations, looking.checkpoints])
      await expect(list.list({ agent: 'laed' })).rejects.toMatchObject({
        code: 'agent_unknown',
        message: expect.stringMatching(/"laed" is not one of: lead\. Did you mean "lead"\?$/u),
      });
    await looking.conversations.attach(ref('main'), 'anyone');
  });
});

describe('agents added and removed at runtime', () => {
  test('can be run once registered, are replaced for later runs, and are gone once removed', async () => {
    const { cloister, model } = await openTalk({ store: 'memory' });
    const other = await openTalk({ store: 'memory', agents: { scout: {} } });
    const [scout] = other.agents;
    expect(() => cloister.run('scout', 'Hi.')).toThrow(expect.objectContaining({ code: 'agent_unknown' }));
    cloister.register(scout!);
    expect((await cloister.run('scout', 'Hi.').outcome).output).toBe('scout heard Hi.');
    const { agents } = await openTalk({ store: 'memory', agents: { scout: { prompt: 'Another prompt.' } } });
    cloister.register(agents[0]!);
    await cloister.run('scout', 'Hi.').outcome;
    expect(newestPrompt({ model })).toContain('Another prompt.');
    expect(cloister.agents.map(({ name }) => name)).toEqual(['lead', 'scout']);
    cloister.remove('scout');
    expect(() => cloister.run('scout', 'Hi.')).toThrow(expect.objectContaining({ code: 'agent_unknown' }));
    expect(() => cloister.remove('scout')).toThrow(expect.objectContaining({ code: 'agent_unknown' }));
    expect(() => cloister.register({ name: 'x' } as never)).toThrow(
      expect.objectContaining({ code: 'module_invalid' }),
    );
  });
});

describe('agents of one budget group', () => {
  const windowOf = async ({ cloister }: Awaited<ReturnType<typeof openTalk>>, agent: string) => {
    const { run } = await cloister.run(agent, 'Hi.').outcome;
    return (await cloister.windows(run))[0]?.limit;
  };
  const grouped = (contextTokensMax: number) => ({ budgetGroup: 'small', limits: { contextTokensMax } });

  test('have windows as small as the smallest among those currently registered', async () => {
    const agents = { lead: grouped(90_000), scout: grouped(50_000), guide: { limits: { contextTokensMax: 70_000 } } };
    const talk = await openTalk({ store: 'memory', agents });
    expect(await windowOf(talk, 'lead')).toEqual({ tokens: 50_000, by: 'group' });
    expect(await windowOf(talk, 'guide')).toEqual({ tokens: 70_000, by: 'given' });
    const { agents: others } = await openTalk({ store: 'memory', agents: { tiny: grouped(20_000) } });
    talk.cloister.register(others[0]!);
    expect(await windowOf(talk, 'lead')).toEqual({ tokens: 20_000, by: 'group' });
    talk.cloister.remove('tiny');
    talk.cloister.remove('scout');
    expect(await windowOf(talk, 'lead')).toMatchObject({ tokens: 90_000 });
  });
});

const entry = fc.record({
  agent_id: fc.constantFrom('person', 'lead', 'scout'),
  category: fc.constantFrom('DIALOG' as const, 'CONTEXT' as const),
  text: fc.string({ unit: 'grapheme', maxLength: 40 }),
});

test('what a turn is shown: the newest entries of each kind that fit, in order, no message above a quarter, and a count of the rest', () => {
  fc.assert(
    fc.property(
      fc.array(entry),
      fc.integer({ min: 300, max: 900 }),
      fc.array(fc.string(), { maxLength: 2 }),
      (some, bytesMax, context) => {
        const entries = some.map(
          (one, index) =>
            ({
              ...one,
              id: `r/${index}`,
              message_type: one.agent_id === 'person' ? 'message' : 'result',
            }) as unknown as Entry,
        );
        const history = buildHistory({ conversation: 'c', agent: 'lead', entries, context, bytesMax });
        if (history === undefined) {
          expect(entries.length + context.length).toBe(0);
          return;
        }
        const past = history.entries.slice(0, history.entries.length - context.length);
        expect(history.leftOut + past.length).toBe(entries.length);
        expect(history.entries.slice(past.length).map(({ text }) => text)).toEqual(context);
        for (const kind of ['DIALOG', 'CONTEXT'] as const) {
          const shown = past.filter(({ category }) => category === kind);
          const all = entries.filter(({ category }) => category === kind);
          const newest = all.slice(all.length - shown.length);
          expect(shown.map(({ agent }) => agent)).toEqual(
            newest.map((one) => (one.agent_id === 'person' ? null : one.agent_id)),
          );
          for (const [index, { text }] of shown.entries())
            expect(text.startsWith(newest[index]!.text.slice(0, 20)) || text.includes('[shortened from ')).toBe(true);
          const size = shown.reduce((sum, one) => sum + Buffer.byteLength(JSON.stringify(one)) + 1, 0);
          expect(size).toBeLessThanOrEqual(bytesMax);
        }
      },
    ),
  );
});

describe('a long message', () => {
  test('in a conversation does not push out earlier messages, nor does a refused one', async () => {
    const talk = await openTalk({
      store: 'memory',
      agents: { lead: { limits: { contextTokensMax: 4_000, maxOutputTokens: 500 } } },
    });
    await takeTurn(talk, 'My name is Ada');
    const refused = await (await talk.cloister.runTurn('lead', 'x'.repeat(40_000))).outcome;
    expect(refused.failure?.code).toBe('window_full');
    await takeTurn(talk, 'What is my name?');
    expect(newestPrompt(talk)).toContain('My name is Ada');
    expect(newestPrompt(talk)).toContain('[shortened from 40000 bytes]');
  });

  test('context stays longer than messages', async () => {
    const talk = await openTalk({
      store: 'memory',
      agents: { lead: { limits: { contextTokensMax: 4_000, maxOutputTokens: 500 } } },
    });
    await takeTurn(talk, 'Hello', { context: ['THE HOUSE STYLE'] });
    for (let turn = 0; turn < 12; turn++) await takeTurn(talk, `Turn ${turn} ${'and more '.repeat(300)}`);
    expect(newestPrompt(talk)).toContain('THE HOUSE STYLE');
    expect(newestPrompt(talk)).not.toContain('Turn 0 ');
    expect(newestPrompt(talk)).toMatch(/older messages of this conversation are omitted|Earlier in this conversation/u);
  });
});

describe('a detached agent', () => {
  const slow = async () => {
    const talk = await openTalk({ store: 'memory', agents: { lead: {}, scout: {} } });
    await takeTurn(talk, 'Hello', { conversation: 'trip' });
    await talk.cloister.conversations.attach(ref('trip'), 'scout');
    return talk;
  };

  test('does not resume its earlier runs in the conversation, neither by restore nor in a branch', async () => {
    const talk = await slow();
    const { run } = await takeTurn(talk, 'Look', { agent: 'scout', conversation: ref('trip') });
    const { id } = await talk.cloister.checkpoints.create(run);
    await takeTurn(talk, 'More', { conversation: 'trip' });
    await talk.cloister.conversations.detach(ref('trip'), 'scout');
    await expect(talk.cloister.checkpoints.restore(id)).rejects.toMatchObject({ code: 'conversation_refused' });
  });

  test('a branch belongs only to its owner until another agent is attached', async () => {
    const talk = await slow();
    const { run } = await takeTurn(talk, 'Only for lead', { conversation: 'trip' });
    const { id } = await talk.cloister.checkpoints.create(run);
    await talk.cloister.checkpoints.branch(id, { name: 'private' });
    await expect(takeTurn(talk, 'Let me in', { agent: 'scout', conversation: ref('private') })).rejects.toMatchObject({
      code: 'conversation_refused',
    });
  });
});

test('an agent that took turns by its own grant is named before a conversation is deleted', async () => {
  const talk = await openTalk({
    store: 'memory',
    agents: { lead: {}, scout: { grants: ['goal', 'result', 'note', 'history'] } },
  });
  await takeTurn(talk, 'Hello', { conversation: 'trip' });
  await takeTurn(talk, 'Look', { agent: 'scout', conversation: ref('trip') });
  await expect(talk.cloister.conversations.delete(ref('trip'))).rejects.toMatchObject({
    code: 'conversation_shared',
    message: expect.stringContaining('took turns: scout'),
  });
});

test('no agent can impersonate the person', () => {
  expect(() => defineAgent({ name: 'person', description: 'Talks.', prompt: 'Talk.' })).toThrow(
    /"person" is reserved for the user/u,
  );
});

test('every name becomes one path segment, and no two become the same', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 100 }), { maxLength: 20 }),
      (names) => {
        const parts = names.map(pathPart);
        for (const part of parts) expect(part).toMatch(/^(?!\.)[\w.%-]{1,170}$/u);
        expect(new Set(parts).size).toBe(names.length);
      },
    ),
  );
});
