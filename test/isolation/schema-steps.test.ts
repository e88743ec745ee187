// What the checks of one agent cost is nothing that another agent can notice.
import { expect, test } from 'vitest';
import type { JsonObject } from '#base';
import { agent, ask, calls, callsIn, lines, tool } from '../core/session/driver.ts';

/** Each check of `q` takes some 190,000 of the 1,000,000 steps that a turn has. */
const costly: JsonObject = { type: 'object', properties: { q: { type: 'string', pattern: '[ab]{190}' } } };
const q = 'ab'.repeat(500);
const look = () => tool('look', () => 'found', { inputSchema: costly });
const turn = (count: number) => calls(...Array.from({ length: count }, () => ({ tool: 'look', args: { q } })));

/** What `quiet` is shown while its sibling makes this many costly calls in the same moment. */
const shownBeside = async (siblingCalls: number) => {
  const [quiet, busy] = ['quiet', 'busy'].map((name) => agent(name, { tools: [look()] }));
  const { requests } = await ask(agent('lead', { agents: [quiet!, busy!] }), {
    says: lines({
      lead: [calls({ tool: 'busy', args: { prompt: 'Go.' } }, { tool: 'quiet', args: { prompt: 'Go.' } }), 'Done.'],
      quiet: [turn(5), turn(6), 'Quiet is done.'],
      busy: [turn(siblingCalls), turn(siblingCalls), 'Busy is done.'],
    }),
  });
  const own = requests.filter(({ text }) => text.includes('You do what quiet does.'));
  return own.map(({ options }) => callsIn(options.prompt).results.map(({ text }) => text));
};

test('a sibling that uses up the steps of its turns changes nothing of what an agent is shown', async () => {
  const shown = await shownBeside(1);
  expect(await shownBeside(12)).toEqual(shown);
  expect(shown.at(-1)!.map((text) => text.includes('too costly'))).toEqual([...Array<boolean>(10).fill(false), true]);
});
