// What others are shown does not depend on conversations that they were not attached to, nor on another agent's files and calls.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import { rehearse } from '#testkit';
import { testRuns } from '../test-seed.ts';
import { act, observeWorld } from './conversations-two-run.ts';
import type { Act } from './conversations-two-run.ts';

test('the content of a conversation, whether kept, restored, branched or deleted, reaches no agent that was not attached', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(act, { minLength: 2, maxLength: 10 }),
      fc.string(),
      fc.string(),
      async (acts, one, other) => {
        expect(await observeWorld(acts, `one ${one}`)).toEqual(await observeWorld(acts, `other ${other}`));
      },
    ),
    { numRuns: testRuns(100) },
  ));

test('an attached agent is shown that conversation and no other', async () => {
  const acts: readonly Act[] = [
    { do: 'private', nth: 1, context: true },
    { do: 'open', words: 'say hello' },
    { do: 'watched', words: 'say apart' },
    { do: 'attached', words: 'say yes' },
  ];
  const seen = await observeWorld(acts, 'x');
  const guest = seen.filter((text) => text.startsWith('guest: '));
  expect(guest).toHaveLength(2);
  expect(guest[0]).toContain('say hello');
  expect(guest[0]).toContain('Message from watched:');
  expect(guest[0]).not.toContain('say apart');
  expect(guest[0]).not.toContain('secret');
});

test('the comparison covers what agents are shown of their own files and calls', async () => {
  const acts: readonly Act[] = [
    { do: 'quiet' },
    { do: 'hidden', nth: 1 },
    { do: 'open', words: 'say one' },
    { do: 'quiet' },
    { do: 'open', words: 'say two' },
  ];
  const seen = await observeWorld(acts, 'x');
  const [written = ''] = /[0-9a-f]{12}\.txt/u.exec(seen.find((text) => text.startsWith('watched: ')) ?? '') ?? [];
  const last = seen.findLast((text) => text.startsWith('watched: ')) ?? '';
  expect(last).toContain('"toolCallId":"earlier_');
  expect(last).toContain(`${written} (20 bytes)`);
  expect(last).toContain('find_001.txt');
  expect(seen.filter((text) => text.startsWith('helper: ')).length).toBe(6);
});

test('an agent that was not attached is refused, without revealing the conversation it asked for', async () => {
  const model = rehearse([{ reply: 'Yes.' }]);
  const agents = ['lead', 'guest'].map((name) =>
    defineAgent({ name, description: 'Talks.', prompt: 'Talk.', models: [model] }),
  );
  await using cloister = await openCloister({ store: 'memory', agents });
  await (
    await cloister.runTurn('lead', 'Hello', { conversation: 'trip' })
  ).outcome;
  const trip = { agent: 'lead', name: 'trip' };
  await expect(cloister.runTurn('guest', 'Let me in', { conversation: trip })).rejects.toMatchObject({
    code: 'conversation_refused',
  });
  expect((await cloister.conversations.show(trip)).entries.map(({ text }) => text)).toEqual(['Hello', 'Yes.']);
});
