// Draws the calls of a model: private ones, with arguments that its tools seem to accept, and those of the planned children.
import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import { isObject } from '#base';
import type { JsonObject } from '#base';
import type { Validate } from '#contracts';
import { isMailTool } from '#core/session';
import type { Rng } from './rng.ts';
import type { CaseSize } from './case-size.ts';
import { cheapLimits, drawGoal, mayCall } from './plan.ts';
import type { ChildCall, CheapLimit } from './plan.ts';
import { sampleSchema } from './sample-schema.ts';
import type { CallCell } from './call-cell.ts';

export type TestCall = { readonly name: string; readonly input: string; readonly children: readonly ChildCall[] };

type ShownTools = { readonly tools: readonly LanguageModelV4FunctionTool[]; readonly rng: Rng };

type PrivateCallOptions = {
  readonly size: CaseSize;
  readonly validate: Validate;
  readonly countMin: number;
  /** How many calls of the turn are reserved for planned children. */
  readonly reserved?: number;
};

const noChildren: readonly ChildCall[] = [];

const createCall = (name: string, args: JsonObject, children: readonly ChildCall[] = noChildren): TestCall => ({
  name,
  input: JSON.stringify(args),
  children,
});

/** The private calls of a cell, within its limits. */
export const drawPrivateCalls = (
  state: CallCell,
  shown: ShownTools,
  options: PrivateCallOptions,
): readonly TestCall[] => {
  const { size, countMin, reserved = 0 } = options;
  const { limits } = state.planned;
  const planned = state.plan.groups.slice(state.groupsDone).reduce((sum, group) => sum + group.length, reserved);
  const room = Math.min(limits.max_steps - state.steps - planned, limits.maxToolCallsPerTurn - reserved);
  const count = Math.min(countMin + shown.rng.below(size.calls - countMin + 1), room);
  const calls: TestCall[] = [];
  let steps = 0;
  for (let attempt = 0; calls.length < count && attempt < 2 * count; attempt++) {
    const one = drawPrivateCall(state, shown, options, calls);
    if (one === null || steps + Math.max(1, one.children.length) > room) continue;
    steps += Math.max(1, one.children.length);
    calls.push(one);
  }
  return calls;
};

const drawPrivateCall = (
  state: CallCell,
  shown: ShownTools,
  options: PrivateCallOptions,
  before: readonly TestCall[],
): TestCall | null => {
  const { tools, rng } = shown;
  const kind = rng.below(100);
  if (kind < 4) return createCall(rng.pick(unknownTools), { text: rng.words() });
  const tool = rng.pick(tools);
  if (kind < 7) return { name: tool.name, input: `{"text": ${rng.words()}`, children: noChildren };
  const { testAgent } = state.planned;
  // Mail is not private; agents with mail are checked in other pairs.
  if (isMailTool(tool.name)) return null;
  if (testAgent.children.has(tool.name)) return drawExtraCall(state, tool, rng, options);
  switch (tool.name) {
    case 'gather':
      return testAgent.agent.children.gather === null
        ? drawSampleCall(tool, rng)
        : drawExtraGather(state, rng, options);
    case 'write_file':
      return testAgent.agent.resources.builtins.includes('write_file')
        ? drawWrite(state, rng)
        : drawSampleCall(tool, rng);
    case 'read_file':
      return createCall('read_file', { path: drawPath(rng), ...(rng.percent(20) ? { from: rng.below(9) } : {}) });
    case 'read_output':
      return drawReadOutput(state, shown, before);
    default:
      return drawSampleCall(tool, rng);
  }
};

const unknownTools = ['ghost', 'burst', 'read_mail'];

/** Arguments that mostly fit the schema. */
const drawSampleCall = (tool: LanguageModelV4FunctionTool, rng: Rng): TestCall => {
  const value = sampleSchema(tool.inputSchema as JsonObject, rng);
  if (!isObject(value) || rng.percent(6))
    return { name: tool.name, input: JSON.stringify(rng.words()), children: noChildren };
  return rng.percent(6) ? createCall(tool.name, { ...value, [rng.hex()]: rng.below(9) }) : createCall(tool.name, value);
};

/** Names that other cells use too, and some that lead out of the folder. */
const drawPath = (rng: Rng): string => {
  const kind = rng.below(10);
  if (kind === 0) return '../notes.md';
  if (kind < 3) return `${rng.hex()}.txt`;
  return rng.pick(['notes.md', 'plan.txt', 'a/b.txt', 'find_001.txt']);
};

const drawWrite = (state: CallCell, rng: Rng): TestCall | null => {
  const { limits } = state.planned;
  const [path, content] = [drawPath(rng), rng.words().toWellFormed()];
  const bytes = Buffer.byteLength(content);
  if (!state.files.has(path) && state.files.size >= limits.max_output_files) return null;
  if (state.bytesWritten + bytes > limits.max_output_size_bytes) return null;
  state.files.add(path);
  state.bytesWritten += bytes;
  return createCall('write_file', { path, content });
};

/** Never reads an output that may still arrive: whether a call of the same turn has ended depends on timing. */
const drawReadOutput = (state: CallCell, { tools, rng }: ShownTools, before: readonly TestCall[]): TestCall => {
  const { name } = rng.pick(tools);
  const made = state.callCounts.get(name) ?? 0;
  const isOpen =
    made === 0 ||
    before.some((one) => one.name === name) ||
    state.planned.testAgent.children.has(name) ||
    name === 'gather';
  const nth = isOpen ? 1 + rng.below(Math.max(1, made)) : 1 + rng.below(made + 1);
  const file =
    isOpen && made === 0 ? `${name}_9${rng.below(90) + 10}.txt` : `${name}_${String(nth).padStart(3, '0')}.txt`;
  return createCall('read_output', { name: file, ...(rng.percent(40) ? { from: rng.below(300), bytes: 80 } : {}) });
};

// ---- agents

/** Extra children come before the planned ones, whose results must be the last ones. */
const mayCallExtra = (state: CallCell, tool: string, { size }: PrivateCallOptions): boolean =>
  size.extraChildren &&
  !state.planned.isExtra &&
  state.extraCalls < 2 &&
  state.planned.depth < state.planned.testAgent.agent.caps.depth &&
  state.groupsDone === 0 &&
  mayCall(state.planned, tool);

const planExtraChild = (state: CallCell, tool: string, rng: Rng, options: PrivateCallOptions): ChildCall | null => {
  if (!mayCallExtra(state, tool, options)) return null;
  const input = drawGoal(state.planned.testAgent.children.get(tool)!, rng.hex(), options.validate);
  return input === null
    ? null
    : { tool, label: `${tool} besides #${++state.extraCalls}`, input, cells: 0, isExtra: true };
};

const drawExtraCall = (
  state: CallCell,
  tool: LanguageModelV4FunctionTool,
  rng: Rng,
  options: PrivateCallOptions,
): TestCall | null => {
  const child = planExtraChild(state, tool.name, rng, options);
  return child === null ? null : childCall(state, child, tool, rng);
};

const drawExtraGather = (state: CallCell, rng: Rng, options: PrivateCallOptions): TestCall | null => {
  const child = planExtraChild(state, rng.pick([...state.planned.testAgent.children.keys()]), rng, options);
  return child === null ? null : gatherCall(state, [child], rng);
};

/** The calls of planned children: by their own tools or, if each is called once, perhaps with `gather`. */
export const plannedCalls = (
  state: CallCell,
  group: readonly ChildCall[],
  { tools, rng }: ShownTools,
): readonly TestCall[] => {
  const isOnceEach = new Set(group.map(({ tool }) => tool)).size === group.length;
  if (state.planned.testAgent.agent.children.gather !== null && isOnceEach && rng.percent(50))
    return [gatherCall(state, group, rng)];
  return group.flatMap((child) => {
    const tool = tools.find(({ name }) => name === child.tool);
    return tool === undefined ? [] : [childCall(state, child, tool, rng)];
  });
};

const childCall = (state: CallCell, child: ChildCall, tool: LanguageModelV4FunctionTool, rng: Rng): TestCall => {
  const {
    signature: { input },
  } = state.planned.testAgent.children.get(child.tool)!.agent;
  const takes = (name: string): boolean =>
    input.format === 'text' ||
    (hasProperty(tool.inputSchema as JsonObject, name) && !hasProperty(input.schema ?? {}, name));
  const options: JsonObject = {
    ...(takes('reason') ? { reason: rng.words() } : {}),
    // More than the agent has, so it changes nothing.
    ...(takes('timeout_ms') && rng.percent(20) ? { timeout_ms: 2e9 + rng.below(1_000) } : {}),
  };
  return createCall(child.tool, { ...child.input, ...options }, [child]);
};

const hasProperty = ({ properties }: JsonObject, name: string): boolean =>
  typeof properties === 'object' && properties !== null && Object.hasOwn(properties, name);

const gatherCall = (state: CallCell, children: readonly ChildCall[], rng: Rng): TestCall => {
  const tasks = children.map(({ tool, input }): JsonObject => {
    const isText = state.planned.testAgent.children.get(tool)!.agent.signature.input.format === 'text';
    return { agent: tool, ...(isText ? input : { input }), reason: rng.words() };
  });
  return createCall('gather', { tasks }, children);
};

// ---- limits

/** Calls that exceed some limit; which one is private. */
export const limitExceedingCalls = (state: CallCell, { tools, rng }: ShownTools): readonly TestCall[] => {
  const { limits, testAgent } = state.planned;
  const kind: CheapLimit | undefined = rng.pick(cheapLimits(testAgent, limits));
  const name = (index: number): string => `${index}-${rng.hex()}.txt`;
  switch (kind) {
    case 'max_output_files':
      return Array.from({ length: limits.max_output_files - state.files.size + 1 }, (_, index) =>
        createCall('write_file', { path: name(index), content: 'x' }),
      );
    case 'max_output_size_bytes':
      return [createCall('write_file', { path: name(0), content: 'x'.repeat(limits.max_output_size_bytes + 1) })];
    case 'max_steps':
    case undefined:
      return Array.from({ length: limits.max_steps - state.steps + 1 }, () =>
        createCall(tools.some((tool) => tool.name === 'list_files') ? 'list_files' : 'read_output', { name: name(0) }),
      );
  }
};
