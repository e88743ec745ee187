// Conversations, two worlds at a time: they differ in conversations that no other agent was attached to. What others are shown is compared.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sha256 } from '#base';
import { defineAgent, openCloister } from 'cloister';
import type { Cloister } from 'cloister';
import { countingIds, rehearse } from '#testkit';
import { testRuns } from '../test-seed.ts';

/** One event that happens in both worlds: only private texts differ. */
type Act =
  | { readonly do: 'private'; readonly nth: number; readonly context: boolean }
  | { readonly do: 'open'; readonly words: string }
  | { readonly do: 'watched'; readonly words: string }
  | { readonly do: 'attached'; readonly words: string }
  | { readonly do: 'checkpoint' | 'back' | 'branch' | 'delete' | 'export' };

const words = fc.stringMatching(/^[a-z ]{1,20}$/u).map((text) => `say ${text}`);
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ do: fc.constant('private' as const), nth: fc.nat(), context: fc.boolean() }),
  fc.record({ do: fc.constantFrom('open' as const, 'watched' as const, 'attached' as const), words }),
  fc.record({
    do: fc.constantFrom(
      'checkpoint' as const,
      'back' as const,
      'branch' as const,
      'delete' as const,
      'export' as const,
    ),
  }),
);

/** Everything the watched agents' models were shown, in a world whose private content depends on a salt. */
const observeWorld = async (acts: readonly Act[], salt: string): Promise<readonly string[]> => {
  const seen: string[] = [];
  const model = rehearse([
    {
      reply: ({ agent, messages }) => {
        const prompt = JSON.stringify(messages);
        if (agent !== 'private') seen.push(`${agent}: ${prompt}`);
        // The answer depends on every byte it was shown.
        return `${agent} says ${sha256(prompt).slice(0, 12)}`;
      },
    },
  ]);
  const agents = ['private', 'watched', 'guest'].map((name) =>
    defineAgent({
      name,
      description: 'Talks.',
      prompt: `You are ${name}.`,
      models: [model],
      limits: { contextTokensMax: 3_000, maxRetries: 0 },
    }),
  );
  await using cloister = await openCloister({
    store: 'memory',
    agents,
    ids: countingIds(),
  });
  const ids: { newest?: string } = {};
  for (const one of acts) await play(cloister, one, salt, ids);
  return seen;
};

const secretOf = (salt: string, nth: number): string => `secret ${sha256(`${salt} ${nth}`).slice(0, 8 + (nth % 40))}`;

const play = async (cloister: Cloister, act_: Act, salt: string, ids: { newest?: string }): Promise<void> => {
  const turn = async (agent: string, text: string, options: object = {}): Promise<string> => {
    const session = await cloister.runTurn(agent, text, options);
    return (await session.outcome).run;
  };
  const open = { agent: 'watched', name: 'open' };
  const held = { agent: 'private', name: 'main' };
  try {
    switch (act_.do) {
      case 'private':
        // Any number of times, with context or without: its own conversation, and one of the same name as another's.
        for (let times = 0; times <= Number.parseInt(sha256(`${salt} times ${act_.nth}`)[0]!, 16) % 3; times++)
          await turn('private', secretOf(salt, act_.nth + times), {
            conversation: act_.nth % 2 === 0 ? 'main' : 'open',
            ...(act_.context ? { context: [secretOf(salt, act_.nth + 1)] } : {}),
          });
        return;
      case 'open':
        return void (await turn('watched', act_.words, { conversation: 'open' }));
      case 'watched':
        return void (await turn('watched', act_.words));
      case 'attached':
        await cloister.conversations.attach(open, 'guest');
        return void (await turn('guest', act_.words, { conversation: open }));
      case 'checkpoint': {
        const run = await turn('private', secretOf(salt, 7));
        ids.newest = (await cloister.checkpoints.create(run)).id;
        return;
      }
      case 'back':
        return void (ids.newest === undefined || (await cloister.checkpoints.restore(ids.newest)));
      case 'branch':
        return void (
          ids.newest === undefined || (await cloister.checkpoints.branch(ids.newest, { name: `other-${salt.length}` }))
        );
      case 'delete':
        return await cloister.conversations.delete(held, { force: true });
      case 'export':
        return void (await cloister.conversations.export(held));
    }
  } catch (error) {
    // A refused action is reported only to the agent that asked.
    if ((error as { code?: string }).code === undefined) throw error;
  }
};

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
    { numRuns: testRuns(120) },
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
  expect(guest).toHaveLength(1);
  expect(guest[0]).toContain('say hello');
  expect(guest[0]).toContain('Message from watched:');
  expect(guest[0]).not.toContain('say apart');
  expect(guest[0]).not.toContain('secret');
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
