// Draws the replies of a test model. Private content depends on every byte that the cell was shown and on its salt; what it
// passes on is its plan.
import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { Validate } from '#contracts';
import type { Rng } from './rng.ts';
import type { CaseSize } from './case-size.ts';
import { drawPrivateCalls, plannedCalls, limitExceedingCalls } from './random-calls.ts';
import type { TestCall } from './random-calls.ts';
import type { CallCell } from './call-cell.ts';

export type TestReply = {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly TestCall[];
  readonly finish: 'stop' | 'tool-calls' | 'length';
  /** Null: the provider reports no usage. */
  readonly usage: readonly [input: number, output: number] | null;
};

/** A number is an HTTP status. */
export type TestFault = {
  readonly fault: number | 'cut' | 'end' | 'empty' | 'filter' | 'hang';
  readonly message: string;
};

type ModelView = {
  readonly tools: readonly LanguageModelV4FunctionTool[];
  /** The index of the model that is called. */
  readonly model: number;
  readonly rng: Rng;
};

type RandomModelPorts = { readonly size: CaseSize; readonly validate: Validate };

export const drawReply = (state: CallCell, shown: ModelView, ports: RandomModelPorts): TestReply | TestFault => {
  if (shown.model !== state.lastModel) state.consecutiveFaults = 0;
  state.lastModel = shown.model;
  const fault = drawFault(state, shown, ports.size);
  if (fault !== null) {
    state.consecutiveFaults++;
    return fault;
  }
  const reply = drawPlannedReply(state, shown, ports);
  if ('fault' in reply) return reply;
  state.consecutiveFaults = 0;
  state.replies++;
  recordCalls(state, reply.calls);
  return reply;
};

/** Never so many faults in a row that the session fails. */
const drawFault = (state: CallCell, { model, rng }: ModelView, size: CaseSize): TestFault | null => {
  if (!rng.percent(size.faults)) return null;
  const { limits, testAgent } = state.planned;
  const message = rng.words();
  if (model < testAgent.models.length - 1 && rng.percent(50)) return { fault: rng.pick(fallbackFaults), message };
  return state.consecutiveFaults < limits.maxRetries ? { fault: rng.pick(retryableFaults), message } : null;
};

const retryableFaults = [429, 500, 503, 'cut', 'end', 'empty'] as const;
/** After these, the session falls back to the next model. */
const fallbackFaults = [400, 401, 403, 404, 'filter'] as const;

const drawPlannedReply = (state: CallCell, shown: ModelView, ports: RandomModelPorts): TestReply | TestFault => {
  const { plan, planned, replies, groupsDone } = state;
  const { rng } = shown;
  const turnsLeft = planned.limits.maxToolTurns - replies;
  if (turnsLeft <= 0 || shown.tools.length === 0) return buildEnding(state, shown, turnsLeft);
  const usesEveryTurn = plan.ending === 'last turn';
  const needed = plan.groups.length - groupsDone + (planned.testAgent.agent.signature.output.format === 'json' ? 2 : 1);
  const hasSpareTurn = usesEveryTurn ? turnsLeft > plan.groups.length - groupsDone : turnsLeft > needed;
  if (hasSpareTurn && (usesEveryTurn || state.privateTurns < ports.size.turns) && (usesEveryTurn || rng.percent(40))) {
    const calls = drawPrivateCalls(state, shown, { ...ports, countMin: 1 });
    if (calls.length > 0) {
      state.privateTurns++;
      return buildTurn(state, rng, calls);
    }
  }
  const group = plan.groups[groupsDone];
  if (group === undefined) return buildEnding(state, shown, turnsLeft);
  state.groupsDone++;
  const privateCalls = drawPrivateCalls(state, shown, { ...ports, countMin: 0, reserved: group.length });
  const cut = rng.below(privateCalls.length + 1);
  return buildTurn(state, rng, [
    ...privateCalls.slice(0, cut),
    ...plannedCalls(state, group, shown),
    ...privateCalls.slice(cut),
  ]);
};

/** If the latest text would become the result, earlier turns have no text. */
const buildTurn = ({ plan: { ending } }: CallCell, rng: Rng, calls: readonly TestCall[]): TestReply => ({
  text: ending === 'refused' || ending === 'limit' || ending === 'hang' || ending === 'empty' ? '' : rng.words(),
  reasoning: rng.percent(30) ? rng.words() : '',
  calls,
  finish: 'tool-calls',
  usage: drawUsage(rng),
});

/** Stays below what every attempt holds, because an overdraft would end the cell. */
const drawUsage = (rng: Rng): TestReply['usage'] => (rng.percent(6) ? null : [rng.below(900), rng.below(2)]);

const buildEnding = (state: CallCell, shown: ModelView, turnsLeft: number): TestReply | TestFault => {
  const { plan, planned } = state;
  const { rng } = shown;
  const reply: TestReply = {
    text: plan.answer,
    reasoning: rng.percent(30) ? rng.words() : '',
    calls: [],
    finish: 'stop',
    usage: drawUsage(rng),
  };
  const message = rng.words();
  const isJson = planned.testAgent.agent.signature.output.format === 'json';
  switch (plan.ending) {
    case 'cut answer':
      return { ...reply, finish: 'length' };
    case 'refused':
      return { fault: 400, message };
    case 'hang':
      return { fault: 'hang', message };
    case 'empty':
      return { fault: 'empty', message };
    case 'limit':
      return turnsLeft > 0 && shown.tools.length > 0 ? buildTurn(state, rng, limitExceedingCalls(state, shown)) : reply;
    case 'unfitting':
      return { ...reply, text: `No: ${message}` };
    case 'answer':
    case 'last turn':
    case 'unlisted':
      // Whether the answer needs a repair first is private.
      if (isJson && turnsLeft > 1 && state.repairs === 0 && rng.percent(25)) {
        state.repairs++;
        return { ...reply, text: `Not yet: ${message}` };
      }
      // So is what stands around the value.
      return isJson && rng.percent(40) ? { ...reply, text: `Found by ${message}: ${reply.text}\n(${message})` } : reply;
  }
};

const recordCalls = (state: CallCell, calls: readonly TestCall[]): void => {
  for (const { name, input, children } of calls) {
    state.callCounts.set(name, (state.callCounts.get(name) ?? 0) + 1);
    if (children.length === 0) state.calls.push({ input, child: null });
    for (const child of children) state.calls.push({ input, child });
    state.steps += Math.max(1, children.length);
  }
};
