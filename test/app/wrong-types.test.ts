// A program in plain JavaScript can pass anything: the error says which option, what it got, and what to give.
import { describe, expect, test } from 'vitest';
import type { Cloister } from 'cloister';
import { openTalk, ref, historyLines, takeTurn } from './conversations-driver.ts';

const notText: readonly unknown[] = [5, null, true, {}, [], () => 'x'];
const notObject: readonly unknown[] = [5, null, 'text', []];

type Untyped = (...args: readonly unknown[]) => unknown;

/** Each function, with a wrong value in place of one argument or option. */
const calls = (cloister: Cloister): Readonly<Record<string, readonly [Untyped, readonly unknown[]]>> => {
  const { conversations, checkpoints } = cloister;
  const turn =
    (option: string): Untyped =>
    (given) =>
      cloister.runTurn('lead', 'Hello?', { [option]: given });
  const of = (target: object, name: string, ...before: readonly unknown[]): Untyped => {
    const method = (target as Readonly<Record<string, Untyped>>)[name]!;
    return (given) => method.call(target, ...before, given);
  };
  const main = ref('main');
  return {
    'runTurn, options': [of(cloister, 'runTurn', 'lead', 'Hello?'), notObject],
    'runTurn, context': [turn('context'), ['text', 5, null, {}, [5], ['a', null]]],
    'runTurn, conversation': [
      turn('conversation'),
      [5, null, true, {}, [], { agent: 'lead' }, { name: 5, agent: 'lead' }],
    ],
    'runTurn, signal': [turn('signal'), ['now', 5, null, {}]],
    'run, options': [of(cloister, 'run', 'lead', 'Hello?'), notObject],
    'run, context': [(given) => cloister.run('lead', 'Hello?', { context: given } as object), ['text', 5, [5]]],
    'resume, run': [of(cloister, 'resume'), [...notText, '', undefined]],
    'resume, options': [of(cloister, 'resume', 'x'), notObject],
    'fork, options': [of(cloister, 'fork', 'x'), [...notObject, undefined]],
    'show, run': [of(cloister, 'show'), [...notText, '', undefined]],
    'windows, run': [of(cloister, 'windows'), [...notText, undefined]],
    'audit, run': [of(cloister, 'audit'), [...notText, undefined]],
    'replay, run': [of(cloister, 'replay'), [...notText, undefined]],
    'remove, agent': [of(cloister, 'remove'), [...notText, undefined]],
    'checkpoints.restore': [of(checkpoints, 'restore'), [...notText, '', undefined]],
    'checkpoints.branch': [of(checkpoints, 'branch'), [...notText, '', undefined]],
    'checkpoints.branch, options': [of(checkpoints, 'branch', 'x'), notObject],
    'checkpoints.branch, name': [(name) => checkpoints.branch('x', { name } as object), notText],
    'checkpoints.branch, agent': [(agent) => checkpoints.branch('x', { agent } as object), notText],
    'checkpoints.diff': [of(checkpoints, 'diff', 'x'), notText],
    'checkpoints.create': [of(checkpoints, 'create'), [...notText, '', undefined]],
    'checkpoints.create, label': [(label) => checkpoints.create('x', { label } as object), notText],
    'checkpoints.list': [of(checkpoints, 'list'), notObject],
    'checkpoints.list, agent': [(agent) => checkpoints.list({ agent } as object), notText],
    'conversations.list': [of(conversations, 'list'), notObject],
    'conversations.list, agent': [(agent) => conversations.list({ agent } as object), notText],
    'conversations.show': [of(conversations, 'show'), [...notText, 'main', { agent: 'lead' }, undefined]],
    'conversations.export': [of(conversations, 'export'), [...notText, 'main', undefined]],
    'conversations.attach': [of(conversations, 'attach', main), [...notText, undefined]],
    'conversations.detach': [of(conversations, 'detach', main), [...notText, undefined]],
    'conversations.delete': [of(conversations, 'delete'), [...notText, 'main', undefined]],
    'conversations.delete, options': [of(conversations, 'delete', main), notObject],
    'conversations.restore': [of(conversations, 'restore'), [...notText, 'main', undefined]],
    'conversations.purge': [of(conversations, 'purge'), [...notText, 'main', undefined]],
  };
};

/** The error it fails with, thrown or rejected. */
const failureOf = async (call: () => unknown): Promise<unknown> => {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return 'it was taken';
};

describe.for(['memory', 'disk'] as const)('a value of the wrong type (%s)', (kind) => {
  test('is refused with an error that says where, what it is and what to give; nothing is changed', async () => {
    const talk = await openTalk(kind === 'memory' ? { store: 'memory' } : {});
    await takeTurn(talk, 'Hello.');
    const { cloister } = talk;
    const before = await cloister.runs();
    for (const [name, [call, given]] of Object.entries(calls(cloister)))
      for (const value of given) {
        const error = await failureOf(() => call(value));
        const where = `${name} with ${JSON.stringify(value)}`;
        expect(error, where).toMatchObject({ name: 'CloisterError', code: 'options_invalid' });
        expect((error as Error).message, where).toMatch(/\b\w+(?:\[\d+\])?: expected [a-zAB][^;]*; got .+\.$/u);
      }
    expect(await cloister.runs()).toEqual(before);
    expect(await historyLines(talk, ref('main'))).toEqual(['person: Hello.', 'lead: lead heard Hello.']);
  });

  test('or too large is not given to a run, which continues', async () => {
    const { cloister } = await openTalk(kind === 'memory' ? { store: 'memory' } : {});
    const session = cloister.run('lead', 'Hello.');
    for (const given of [...notText, undefined])
      expect(() => session.addContext(given as string), String(given)).toThrow(
        expect.objectContaining({ code: 'options_invalid' }),
      );
    expect(() => session.addContext('x'.repeat(4 * 1024 * 1024 + 1))).toThrow(
      expect.objectContaining({ code: 'context_too_large', message: expect.stringContaining('text: 4194305 bytes') }),
    );
    expect(() => session.refreshShare(5 as unknown as string)).toThrow(
      expect.objectContaining({ code: 'options_invalid' }),
    );
    expect((await session.outcome).output).toBe('lead heard Hello.');
  });
});

test('an unknown option is refused with a suggestion; nothing is started', async () => {
  const { cloister } = await openTalk({ store: 'memory' });
  const { conversations, checkpoints } = cloister;
  const misspelt: readonly (readonly [wrong: string, meant: string, call: (options: object) => unknown])[] = [
    ['budgets', 'budget', (options) => cloister.run('lead', 'Hello.', options)],
    ['contxt', 'context', (options) => cloister.runTurn('lead', 'Hello.', options)],
    ['topic', 'topics', (options) => cloister.spawn('lead', options)],
    ['plan_only', 'planOnly', (options) => cloister.runTeam('lead', 'Hello.', options)],
    ['answers', 'answer', (options) => cloister.runTasks('lead', [], options)],
    ['takeover', 'takeOver', (options) => cloister.resume('x', options)],
    ['envs', 'env', (options) => cloister.agentTool('lead', options)],
    ['envs', 'env', (options) => checkpoints.restore('x', options)],
    ['withoutGrant', 'withoutGrants', (options) => cloister.fork('x', { at: 'lead-1', ...options })],
    ['run_', 'run', (options) => cloister.deadLetters(options)],
    ['agents', 'agent', (options) => conversations.list(options)],
    ['forced', 'force', (options) => conversations.delete(ref('main'), options)],
    ['lable', 'label', (options) => checkpoints.create('x', options)],
  ];
  for (const [wrong, meant, call] of misspelt) {
    const words = `${wrong}: unknown option. Did you mean ${meant}?`;
    expect(await failureOf(() => call({ [wrong]: 1 })), wrong).toMatchObject({
      code: 'options_invalid',
      message: expect.stringContaining(words),
    });
  }
  expect(await cloister.runs()).toEqual([]);
});
