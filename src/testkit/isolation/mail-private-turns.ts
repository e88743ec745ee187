// Draws the private work of a session between two observable acts: the number of turns, their calls, reasoning, cost and tool
// results.
import type { JsonObject } from '#base';
import type { ToolOutput } from '#contracts';
import { isMailTool } from '#core/session';
import { allGuesses } from './rng.ts';
import type { Rng } from './rng.ts';
import type { TestReply } from './random-model.ts';
import type { DrawnCall } from './mail-act.ts';
import { callWithSampleArgs } from './mail-calls.ts';
import type { MailCellState } from './mail-cell-state.ts';
import type { TestAgent } from './agent-tree.ts';

const privateTurnCounts = [0, 0, 0, 1, 1, 2];

/** The number of private turns before an act. */
export const drawPrivateTurnCount = (rng: Rng): number => rng.pick(privateTurnCounts);

/** A call that no other agent can observe. */
export const drawPrivateTurnCall = (state: MailCellState, testAgent: TestAgent | undefined, rng: Rng): DrawnCall => {
  const own = state.tools.filter(({ name }) =>
    isMailTool(name) ? name === 'list_spawned_agents' : name !== 'gather' && testAgent?.children.has(name) !== true,
  );
  if (own.length === 0 || rng.percent(5)) return { name: 'ghost', args: { text: rng.words() } };
  return callWithSampleArgs(rng.pick(own), rng);
};

/** The calls or the answer, with private reasoning and usage, but no other text: the latest text may become the result. */
export const buildMailReply = (
  state: MailCellState,
  { calls, text }: { readonly calls: readonly DrawnCall[]; readonly text: string },
  rng: Rng,
): TestReply => {
  const outputMax = Math.min(state.pendingRequest?.options.maxOutputTokens ?? 200, 200);
  return {
    text,
    reasoning: rng.percent(60) ? rng.words() : '',
    calls: calls.map(({ name, args }) => ({ name, input: JSON.stringify(args), children: [] })),
    finish: calls.length === 0 ? 'stop' : 'tool-calls',
    // Stays below what every attempt holds.
    usage: [rng.below(900), rng.below(Math.max(1, outputMax))],
  };
};

/** The result of a tool that is not really run. */
export const drawToolOutput = (name: string, args: JsonObject, rng: Rng): ToolOutput => {
  if (rng.percent(8)) throw new Error(`${rng.words()} ${allGuesses}`);
  if (rng.percent(8)) return { type: 'json', value: { of: name, given: Object.keys(args).length } };
  return `${rng.words()} ${allGuesses}`.repeat(1 + rng.below(3));
};
