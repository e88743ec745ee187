// Answers that nobody takes now: what their sender is told, and what becomes of them.
import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { Agent, RunSession } from 'cloister';
import { CloisterError } from '#base';
import { rehearse, virtualClock } from '#testkit';
import { temporaryFolder } from '../isolation/temporary-folder.ts';

const clerk = (sent: unknown[]): Agent =>
  defineAgent({
    name: 'clerk',
    description: 'Writes.',
    prompt: 'Write.',
    models: [
      rehearse([{ when: { turn: 1 }, reply: { calls: [{ tool: 'send', args: { to: 'ann' } }] } }, { reply: 'Done.' }]),
    ],
    tools: [
      {
        name: 'send',
        description: 'Sends a letter.',
        inputSchema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
        approve: true,
        execute: (args) => {
          sent.push(args);
          return 'Sent.';
        },
      },
    ],
  });

const waiting = async (session: RunSession): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  session.onWaiting((waits) => {
    if (waits) resolve();
  });
  if (!session.waitsForPeople) await promise;
  await session.durable();
};

const stateOrCode = (answered: Promise<{ readonly state: string }>): Promise<string> =>
  answered.then(
    ({ state }) => state,
    (error: unknown) => (error instanceof CloisterError ? error.code : String(error)),
  );

/** A run of another process that has left it while it waits. */
const leftRun = async (workspace: string, sent: unknown[]): Promise<void> => {
  const owner = await openCloister({ agents: [clerk(sent)], workspace });
  await waiting(owner.run('clerk', 'Go'));
  await owner.close();
};

// invariant: answer-durable-before-told
test.each([0, 1, 2, 4, 8, 16, 32, 64])(
  'an answer during `close` is taken, stored or refused, and its sender is told which: %i steps before it',
  async (steps) => {
    await using folder = await temporaryFolder();
    const sent: unknown[] = [];
    const cloister = await openCloister({ agents: [clerk(sent)], workspace: folder.path });
    await waiting(cloister.run('clerk', 'Go'));
    const [question] = await cloister.questions();
    const { id, sha256, run } = question!;
    const closing = cloister.close();
    for (let step = 0; step < steps; step++) await Promise.resolve();
    const told = await stateOrCode(cloister.answer(id, { allow: true, sha256 }));
    await closing;
    expect(['allowed', 'stored', 'store_failed']).toContain(told);
    await using next = await openCloister({ agents: [clerk(sent)], workspace: folder.path });
    if (told === 'store_failed') {
      expect(sent).toEqual([]);
      expect((await next.questions()).map((one) => [one.id, one.state])).toEqual([[id, 'open']]);
      expect((await next.answer(id, { allow: true, sha256 })).state).toBe('allowed');
      return;
    }
    const resumed = await next.resume(run);
    expect((await resumed.outcome).output).toBe('Done.');
    expect(sent).toEqual([{ to: 'ann' }]);
    expect((await next.audit(run)).problems).toEqual([]);
  },
);

test('an answer that waits to be taken ends its wait when its Cloister closes, and stays stored', async () => {
  await using folder = await temporaryFolder();
  const sent: unknown[] = [];
  await leftRun(folder.path, sent);
  const clock = virtualClock();
  const cloister = await openCloister({ agents: [clerk(sent)], workspace: folder.path, clock });
  const [question] = await cloister.questions();
  const { id, sha256, run } = question!;
  const answer = { allow: true, sha256 };
  const never = Promise.withResolvers<undefined>();
  const resuming = Promise.withResolvers<void>();
  const resume = (): Promise<undefined> => {
    resuming.resolve();
    return never.promise;
  };
  const answering = stateOrCode(cloister.answer(id, answer, { resume }));
  await resuming.promise;
  await cloister.close();
  // The clock stands still: nothing but the closing has ended the wait.
  expect(await answering).toBe('stored');
  expect(await stateOrCode(cloister.answer(id, answer))).toBe('store_failed');
  await using next = await openCloister({ agents: [clerk(sent)], workspace: folder.path });
  expect((await (await next.resume(run)).outcome).output).toBe('Done.');
  expect(sent).toEqual([{ to: 'ann' }]);
});

test.each([
  ['continues it now, as with a chat', async () => undefined],
  ['can continue it', () => Promise.reject(new CloisterError('agent_unknown'))],
])('an answer to a run is stored at once if nobody %s', async (_title, resume) => {
  await using folder = await temporaryFolder();
  const sent: unknown[] = [];
  await leftRun(folder.path, sent);
  // The clock stands still, so a wait would not end.
  await using cloister = await openCloister({ agents: [clerk(sent)], workspace: folder.path, clock: virtualClock() });
  const [question] = await cloister.questions();
  const { id, sha256, run } = question!;
  expect(await stateOrCode(cloister.answer(id, { allow: false, sha256 }, { resume }))).toBe('stored');
  const resumed = await cloister.resume(run);
  expect((await resumed.outcome).output).toBe('Done.');
  expect((await cloister.questions({ run, all: true })).map(({ state }) => state)).toEqual(['denied']);
  expect(sent).toEqual([]);
});
