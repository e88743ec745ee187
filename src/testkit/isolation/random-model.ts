// What a model says. All that a cell keeps to itself follows from every byte that it was shown, and from its salt; what it
// passes on is its plan.
import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { Validate } from '#contracts';
import type { Rng } from './rng.ts';
import type { CaseSize } from './case-size.ts';
import { drawPrivateCalls, callsOf, passingCalls } from './random-calls.ts';
import type { PlayedCall } from './random-calls.ts';
import type { CellState } from './cell-state.ts';

export type PlayedReply = {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly PlayedCall[];
  readonly finish: 'stop' | 'tool-calls' | 'length';
  /** Null: the provider does not say. */
  readonly usage: readonly [input: number, output: number] | null;
};

/** A number: the provider's status, with words of its own. */
export type PlayedFault = {
  readonly fault: number | 'cut' | 'end' | 'empty' | 'filter' | 'hang';
  readonly words: string;
};

export type ModelView = {
  readonly tools: readonly LanguageModelV4FunctionTool[];
  /** Which of the agent's models is asked. */
  readonly model: number;
  readonly chance: Rng;
};

export type RandomModelPorts = { readonly dials: CaseSize; readonly validate: Validate };

export const drawReply = (seat: CellState, shown: ModelView, ports: RandomModelPorts): PlayedReply | PlayedFault => {
  if (shown.model !== seat.lastModel) seat.faultsInRow = 0;
  seat.lastModel = shown.model;
  const fault = faultOf(seat, shown, ports.dials);
  if (fault !== null) {
    seat.faultsInRow++;
    return fault;
  }
  const reply = replyOf(seat, shown, ports);
  if ('fault' in reply) return reply;
  seat.faultsInRow = 0;
  seat.replies++;
  remember(seat, reply.calls);
  return reply;
};

/** Never so many that an answer would not come. */
const faultOf = (seat: CellState, { model, chance }: ModelView, dials: CaseSize): PlayedFault | null => {
  if (!chance.percent(dials.faults)) return null;
  const { limits, part } = seat.born;
  const words = chance.words();
  if (model < part.models.length - 1 && chance.percent(50)) return { fault: chance.pick(lasting), words };
  return seat.faultsInRow < limits.maxRetries ? { fault: chance.pick(passing), words } : null;
};

const passing = [429, 500, 503, 'cut', 'end', 'empty'] as const;
/** After these the next model is asked. */
const lasting = [400, 401, 403, 404, 'filter'] as const;

const replyOf = (seat: CellState, shown: ModelView, ports: RandomModelPorts): PlayedReply | PlayedFault => {
  const { plan, born, replies, groupsDone } = seat;
  const { chance } = shown;
  const turnsLeft = born.limits.maxToolTurns - replies;
  if (turnsLeft <= 0 || shown.tools.length === 0) return end(seat, shown, turnsLeft);
  const isPatient = plan.ending === 'last turn';
  const needed = plan.groups.length - groupsDone + (born.part.agent.output.format === 'json' ? 2 : 1);
  const isFree = isPatient ? turnsLeft > plan.groups.length - groupsDone : turnsLeft > needed;
  if (isFree && (isPatient || seat.privateTurns < ports.dials.turns) && (isPatient || chance.percent(40))) {
    const calls = drawPrivateCalls(seat, shown, { ...ports, least: 1 });
    if (calls.length > 0) {
      seat.privateTurns++;
      return turn(seat, chance, calls);
    }
  }
  const group = plan.groups[groupsDone];
  if (group === undefined) return end(seat, shown, turnsLeft);
  seat.groupsDone++;
  const before = drawPrivateCalls(seat, shown, { ...ports, least: 0, leave: group.length });
  const cut = chance.below(before.length + 1);
  return turn(seat, chance, [...before.slice(0, cut), ...callsOf(seat, group, shown), ...before.slice(cut)]);
};

/** Where the newest words would be the result, it says none on the way. */
const turn = ({ plan: { ending } }: CellState, chance: Rng, calls: readonly PlayedCall[]): PlayedReply => ({
  text: ending === 'refused' || ending === 'limit' || ending === 'hang' || ending === 'empty' ? '' : chance.words(),
  reasoning: chance.percent(30) ? chance.words() : '',
  calls,
  finish: 'tool-calls',
  usage: usageOf(chance),
});

/** Below what every attempt holds: an overdraft would end the cell. */
const usageOf = (chance: Rng): PlayedReply['usage'] =>
  chance.percent(6) ? null : [chance.below(900), chance.below(2)];

const end = (seat: CellState, shown: ModelView, turnsLeft: number): PlayedReply | PlayedFault => {
  const { plan, born } = seat;
  const { chance } = shown;
  const reply: PlayedReply = {
    text: plan.answer,
    reasoning: chance.percent(30) ? chance.words() : '',
    calls: [],
    finish: 'stop',
    usage: usageOf(chance),
  };
  const words = chance.words();
  switch (plan.ending) {
    case 'cut answer':
      return { ...reply, finish: 'length' };
    case 'refused':
      return { fault: 400, words };
    case 'hang':
      return { fault: 'hang', words };
    case 'empty':
      return { fault: 'empty', words };
    case 'limit':
      return turnsLeft > 0 && shown.tools.length > 0 ? turn(seat, chance, passingCalls(seat, shown)) : reply;
    case 'unfitting':
      return { ...reply, text: seat.repairs++ === 0 ? `No: ${words}` : 'No, not even now.' };
    case 'answer':
    case 'last turn':
    case 'unlisted':
      // Whether the answer must be repaired first is its own affair.
      if (born.part.agent.output.format === 'json' && turnsLeft > 1 && seat.repairs === 0 && chance.percent(25)) {
        seat.repairs++;
        return { ...reply, text: `Not yet: ${words}` };
      }
      return reply;
  }
};

const remember = (seat: CellState, calls: readonly PlayedCall[]): void => {
  for (const { name, input, asks } of calls) {
    seat.outputs.set(name, (seat.outputs.get(name) ?? 0) + 1);
    if (asks.length === 0) seat.called.push({ input, ask: null });
    for (const ask of asks) seat.called.push({ input, ask });
    seat.steps += Math.max(1, asks.length);
  }
};
