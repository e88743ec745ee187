// The calls that a model makes: for itself, with whatever its tools seem to take, and for the agents that it planned to ask.
import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { isObject } from '#base';
import type { JsonObject } from '#base';
import type { Validate } from '#contracts';
import { depthMax } from '#core/orchestration';
import { isMailTool } from '#core/session';
import type { Rng } from './rng.ts';
import type { CaseSize } from './case-size.ts';
import { cheapLimits, goalFor, mayAsk } from './plan.ts';
import type { Ask, CheapLimit } from './plan.ts';
import { sampleSchema } from './sample-schema.ts';
import type { CellState } from './cell-state.ts';

export type PlayedCall = { readonly name: string; readonly input: string; readonly asks: readonly Ask[] };

export type ShownTools = { readonly tools: readonly LanguageModelV4FunctionTool[]; readonly chance: Rng };

export type PrivateCallOptions = {
  readonly dials: CaseSize;
  readonly validate: Validate;
  readonly least: number;
  /** How many calls of the turn are spoken for. */
  readonly leave?: number;
};

const noAsks: readonly Ask[] = [];

const call = (name: string, args: JsonObject, asks: readonly Ask[] = noAsks): PlayedCall => ({
  name,
  input: JSON.stringify(args),
  asks,
});

/** What a cell does for itself; as much as its limits let it. */
export const drawPrivateCalls = (
  seat: CellState,
  shown: ShownTools,
  besides: PrivateCallOptions,
): readonly PlayedCall[] => {
  const { dials, least, leave = 0 } = besides;
  const { limits } = seat.born;
  const planned = seat.plan.groups.slice(seat.groupsDone).reduce((sum, group) => sum + group.length, leave);
  const room = Math.min(limits.max_steps - seat.steps - planned, limits.maxToolCallsPerTurn - leave);
  const count = Math.min(least + shown.chance.below(dials.calls - least + 1), room);
  const calls: PlayedCall[] = [];
  let steps = 0;
  for (let attempt = 0; calls.length < count && attempt < 2 * count; attempt++) {
    const one = oneBesides(seat, shown, besides, calls);
    if (one === null || steps + Math.max(1, one.asks.length) > room) continue;
    steps += Math.max(1, one.asks.length);
    calls.push(one);
  }
  return calls;
};

const oneBesides = (
  seat: CellState,
  shown: ShownTools,
  besides: PrivateCallOptions,
  before: readonly PlayedCall[],
): PlayedCall | null => {
  const { tools, chance } = shown;
  const kind = chance.below(100);
  if (kind < 4) return call(chance.pick(ghosts), { text: chance.words() });
  const tool = chance.pick(tools);
  if (kind < 7) return { name: tool.name, input: `{"text": ${chance.words()}`, asks: noAsks };
  const { part } = seat.born;
  // What others are told is not its own affair; those that talk are looked at apart.
  if (isMailTool(tool.name)) return null;
  if (part.children.has(tool.name)) return twin(seat, tool, chance, besides);
  switch (tool.name) {
    case 'gather':
      return part.agent.gather === null ? free(tool, chance) : twinGather(seat, chance, besides);
    case 'write_file':
      return part.agent.builtins.includes('write_file') ? write(seat, chance) : free(tool, chance);
    case 'read_file':
      return call('read_file', { path: pathOf(chance), ...(chance.percent(20) ? { from: chance.below(9) } : {}) });
    case 'read_output':
      return readOutput(seat, shown, before);
    default:
      return free(tool, chance);
  }
};

const ghosts = ['ghost', 'burst', 'read_mail'];

/** Mostly what the schema asks for. */
const free = (tool: LanguageModelV4FunctionTool, chance: Rng): PlayedCall => {
  const value = sampleSchema(tool.inputSchema as JsonObject, chance);
  if (!isObject(value) || chance.percent(6))
    return { name: tool.name, input: JSON.stringify(chance.words()), asks: noAsks };
  return chance.percent(6) ? call(tool.name, { ...value, [chance.hex()]: chance.below(9) }) : call(tool.name, value);
};

/** Names that other cells use too, and some that lead out. */
const pathOf = (chance: Rng): string => {
  const kind = chance.below(10);
  if (kind === 0) return '../notes.md';
  if (kind < 3) return `${chance.hex()}.txt`;
  return chance.pick(['notes.md', 'plan.txt', 'a/b.txt', 'find_001.txt']);
};

const write = (seat: CellState, chance: Rng): PlayedCall | null => {
  const { limits } = seat.born;
  const [path, content] = [pathOf(chance), chance.words().toWellFormed()];
  const bytes = Buffer.byteLength(content);
  if (!seat.files.has(path) && seat.files.size >= limits.max_output_files) return null;
  if (seat.bytesWritten + bytes > limits.max_output_size_bytes) return null;
  seat.files.add(path);
  seat.bytesWritten += bytes;
  return call('write_file', { path, content });
};

/** Only what cannot come while it asks: whether a call of the same turn has ended yet is a question of time. */
const readOutput = (seat: CellState, { tools, chance }: ShownTools, before: readonly PlayedCall[]): PlayedCall => {
  const { name } = chance.pick(tools);
  const made = seat.outputs.get(name) ?? 0;
  const isOpen =
    made === 0 || before.some((one) => one.name === name) || seat.born.part.children.has(name) || name === 'gather';
  const nth = isOpen ? 1 + chance.below(Math.max(1, made)) : 1 + chance.below(made + 1);
  const file =
    isOpen && made === 0 ? `${name}_9${chance.below(90) + 10}.txt` : `${name}_${String(nth).padStart(3, '0')}.txt`;
  return call('read_output', { name: file, ...(chance.percent(40) ? { from: chance.below(300), bytes: 80 } : {}) });
};

// ---- agents

/** Before the agents that it planned to ask: what it hears of them last is what counts. */
const mayTwin = (seat: CellState, tool: string, { dials }: PrivateCallOptions): boolean =>
  dials.twins &&
  !seat.born.isTwin &&
  seat.twins < 2 &&
  seat.born.depth < depthMax &&
  seat.groupsDone === 0 &&
  mayAsk(seat.born, tool);

const twinAsk = (seat: CellState, tool: string, chance: Rng, besides: PrivateCallOptions): Ask | null => {
  if (!mayTwin(seat, tool, besides)) return null;
  const input = goalFor(seat.born.part.children.get(tool)!, chance.hex(), besides.validate);
  return input === null ? null : { tool, label: `${tool} besides #${++seat.twins}`, input, cells: 0, isTwin: true };
};

const twin = (
  seat: CellState,
  tool: LanguageModelV4FunctionTool,
  chance: Rng,
  besides: PrivateCallOptions,
): PlayedCall | null => {
  const ask = twinAsk(seat, tool.name, chance, besides);
  return ask === null ? null : agentCall(seat, ask, tool, chance);
};

const twinGather = (seat: CellState, chance: Rng, besides: PrivateCallOptions): PlayedCall | null => {
  const ask = twinAsk(seat, chance.pick([...seat.born.part.children.keys()]), chance, besides);
  return ask === null ? null : gatherCall(seat, [ask], chance);
};

/** The planned ones: by their own tools or, when each is asked once, perhaps all at once. */
export const callsOf = (
  seat: CellState,
  group: readonly Ask[],
  { tools, chance }: ShownTools,
): readonly PlayedCall[] => {
  const isOnceEach = new Set(group.map(({ tool }) => tool)).size === group.length;
  if (seat.born.part.agent.gather !== null && isOnceEach && chance.percent(50))
    return [gatherCall(seat, group, chance)];
  return group.flatMap((ask) => {
    const tool = tools.find(({ name }) => name === ask.tool);
    return tool === undefined ? [] : [agentCall(seat, ask, tool, chance)];
  });
};

const agentCall = (seat: CellState, ask: Ask, tool: LanguageModelV4FunctionTool, chance: Rng): PlayedCall => {
  const { input } = seat.born.part.children.get(ask.tool)!.agent;
  const takesReason =
    input.format === 'text' || (hasReason(tool.inputSchema as JsonObject) && !hasReason(input.schema ?? {}));
  return call(ask.tool, takesReason ? { ...ask.input, reason: chance.words() } : ask.input, [ask]);
};

const hasReason = ({ properties }: JsonObject): boolean =>
  typeof properties === 'object' && properties !== null && Object.hasOwn(properties, 'reason');

const gatherCall = (seat: CellState, asks: readonly Ask[], chance: Rng): PlayedCall => {
  const tasks = asks.map(({ tool, input }): JsonObject => {
    const isText = seat.born.part.children.get(tool)!.agent.input.format === 'text';
    return { agent: tool, ...(isText ? input : { input }), reason: chance.words() };
  });
  return call('gather', { tasks }, asks);
};

// ---- limits

/** Calls with which some limit is passed; which one is its own affair. */
export const passingCalls = (seat: CellState, { tools, chance }: ShownTools): readonly PlayedCall[] => {
  const { limits, part } = seat.born;
  const kind: CheapLimit | undefined = chance.pick(cheapLimits(part, limits));
  const name = (index: number): string => `${index}-${chance.hex()}.txt`;
  switch (kind) {
    case 'max_output_files':
      return Array.from({ length: limits.max_output_files - seat.files.size + 1 }, (_, index) =>
        call('write_file', { path: name(index), content: 'x' }),
      );
    case 'max_output_size_bytes':
      return [call('write_file', { path: name(0), content: 'x'.repeat(limits.max_output_size_bytes + 1) })];
    case 'max_steps':
    case undefined:
      return Array.from({ length: limits.max_steps - seat.steps + 1 }, () =>
        call(tools.some((tool) => tool.name === 'list_files') ? 'list_files' : 'read_output', { name: name(0) }),
      );
  }
};
