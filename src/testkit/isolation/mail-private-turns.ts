// What a session keeps to itself between two things that others hear of: how often it looks around, at what, what it thinks,
// what that costs, what its tools tell it.
import type { JsonObject } from '#base';
import type { ToolOutput } from '#contracts';
import { isMailTool } from '#core/session';
import type { Rng } from './rng.ts';
import type { PlayedReply } from './random-model.ts';
import type { SaidCall } from './mail-act.ts';
import { lookWith } from './mail-calls.ts';
import type { MailCellState } from './mail-cell-state.ts';
import type { PlayedAgent } from './team.ts';

const looksOf = [0, 0, 0, 1, 1, 2];

/** How many turns it takes for itself first. */
export const drawLooks = (chance: Rng): number => chance.pick(looksOf);

/** Only what nobody else has to do with. */
export const drawLook = (seat: MailCellState, part: PlayedAgent | undefined, chance: Rng): SaidCall => {
  const own = seat.tools.filter(({ name }) =>
    isMailTool(name) ? name === 'list_spawned_agents' : name !== 'gather' && part?.children.has(name) !== true,
  );
  if (own.length === 0 || chance.percent(5)) return { name: 'ghost', args: { text: chance.words() } };
  return lookWith(chance.pick(own), chance);
};

/** Its calls or its answer, with thoughts and a price of its own. It says nothing besides: its newest words may be its result. */
export const replyWith = (
  seat: MailCellState,
  { calls, text }: { readonly calls: readonly SaidCall[]; readonly text: string },
  chance: Rng,
): PlayedReply => {
  const outputMax = Math.min(seat.question?.options.maxOutputTokens ?? 200, 200);
  return {
    text,
    reasoning: chance.percent(60) ? chance.words() : '',
    calls: calls.map(({ name, args }) => ({ name, input: JSON.stringify(args), asks: [] })),
    finish: calls.length === 0 ? 'stop' : 'tool-calls',
    // Below what every attempt holds.
    usage: [chance.below(900), chance.below(Math.max(1, outputMax))],
  };
};

/** Of a tool that is not run. */
export const toolTells = (name: string, args: JsonObject, chance: Rng): ToolOutput => {
  if (chance.percent(8)) throw new Error(chance.words());
  if (chance.percent(8)) return { type: 'json', value: { of: name, given: Object.keys(args).length } };
  return chance.words().repeat(1 + chance.below(3));
};
