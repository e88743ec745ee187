// What a cell passes on, which is the same in both runs of a pair: the children it calls and their goals, how it ends, and its
// answer. The plan depends on the seed and the cell's place in the tree, never on what its model is shown.
import { CloisterError, isObject } from '#base';
import type { JsonObject } from '#base';
import type { AgentSignature, Validate } from '#contracts';
import { shownBytesMax } from '#core/memory';
import type { CellLimits } from '#core/registry';
import { Rng } from './rng.ts';
import type { CaseSize } from './case-size.ts';
import { validSample } from './sample-schema.ts';
import type { Subject } from './subject.ts';
import type { TestAgent } from './agent-tree.ts';

/** A call of a child. */
export type ChildCall = {
  readonly tool: string;
  /** `<tool> #2`: the second call by the same caller. */
  readonly label: string;
  /** The arguments of the tool call, without a reason. */
  readonly input: JsonObject;
  /** The most cells below it. */
  readonly cells: number;
  /** Not planned, but private work of its caller; it has no children of its own. */
  readonly isExtra: boolean;
};

export type PlannedEnding =
  | 'answer'
  | 'cut answer'
  | 'refused'
  | 'last turn'
  | 'limit'
  | 'unlisted'
  | 'unfitting'
  | 'hang'
  | 'empty';

export type Plan = {
  /** The children of a group are called together, one group after another. */
  readonly groups: readonly (readonly ChildCall[])[];
  readonly ending: PlannedEnding;
  readonly answer: string;
};

export type PlannedCell = {
  readonly testAgent: TestAgent;
  readonly place: string;
  readonly depth: number;
  readonly limits: CellLimits;
  readonly cells: number;
  readonly isExtra: boolean;
  /** Agents above it, which may not be called again. */
  readonly ancestors: readonly string[];
};

export type Scenario = { readonly seed: string; readonly size: CaseSize; readonly validate: Validate };

export const planCell = (cell: PlannedCell, scenario: Scenario): Plan => {
  const rng = new Rng(`${scenario.seed} plan ${cell.place}`);
  const ending = cell.isExtra || !scenario.size.endings ? 'answer' : drawEnding(cell, rng);
  return {
    groups: cell.isExtra || ending === 'unlisted' ? [] : planGroups(cell, scenario, rng),
    ending,
    answer: drawAnswer(cell, scenario, rng),
  };
};

const planGroups = (cell: PlannedCell, scenario: Scenario, rng: Rng): Plan['groups'] => {
  const { testAgent, limits, cells } = cell;
  const callable = [...testAgent.children.keys()].filter((tool) => mayCall(cell, tool));
  // At the maximum depth, a call is refused; that is tried now and then.
  if (callable.length === 0 || cells === 0 || (cell.depth >= testAgent.agent.caps.depth && rng.percent(80))) return [];
  const count = Math.min(1 + rng.below(Math.min(cells, 3)), limits.max_steps, limits.maxToolCallsPerTurn);
  const children: ChildCall[] = [];
  for (let index = 0; index < count; index++) {
    const share = Math.floor((cells - count) / count) + (index < (cells - count) % count ? 1 : 0);
    const child = planChild(cell, rng.pick(callable), children, { ...scenario, share: Math.max(0, share) });
    if (child !== null) children.push(child);
  }
  const cut = limits.maxToolTurns > 2 && children.length > 1 && rng.percent(40) ? 1 : children.length;
  return limits.maxToolTurns < 1
    ? []
    : [children.slice(0, cut), children.slice(cut)].filter((group) => group.length > 0);
};

/** An agent may not call one of its own callers. */
export const mayCall = (
  { testAgent, ancestors }: Pick<PlannedCell, 'testAgent' | 'ancestors'>,
  tool: string,
): boolean => {
  const { file, name } = testAgent.children.get(tool)!.agent;
  return !ancestors.includes(file ?? name);
};

const planChild = (
  cell: PlannedCell,
  tool: string,
  before: readonly ChildCall[],
  scenario: Scenario & { readonly share: number },
): ChildCall | null => {
  const nth = before.filter((ask) => ask.tool === tool).length + 1;
  const label = `${tool} #${nth}`;
  const input = drawGoal(
    cell.testAgent.children.get(tool)!,
    `${scenario.seed} goal ${cell.place} › ${label}`,
    scenario.validate,
  );
  return input === null ? null : { tool, label, input, cells: scenario.share, isExtra: false };
};

/** Draws a goal: text, or an object that fits the agent's schema. Returns null if no such object was found. */
export const drawGoal = (
  {
    agent: {
      signature: { input },
    },
  }: TestAgent,
  seed: string,
  validate: Validate,
): JsonObject | null => {
  if (input.format === 'text') return { prompt: `Look into ${new Rng(seed).words()}` };
  const value = validSample({ ...input.schema, type: 'object' }, seed, validate);
  return isObject(value) ? value : null;
};

/** The goal of the root: the user's input, or a drawn one. */
export const chooseRootGoal = (
  { input }: Pick<Subject, 'input'>,
  root: TestAgent,
  { seed, validate }: Pick<Scenario, 'seed' | 'validate'>,
): string => {
  if (input !== undefined) return typeof input === 'string' ? input : JSON.stringify(input);
  const drawn = drawGoal(root, `${seed} goal`, validate);
  if (drawn === null)
    throw new CloisterError(
      'goal_schema',
      `No input was found that fits the schema of "${root.agent.name}": pass one as \`input\`.`,
    );
  const { prompt } = drawn;
  return root.agent.signature.input.format === 'text' && typeof prompt === 'string' ? prompt : JSON.stringify(drawn);
};

const drawEnding = ({ testAgent, limits }: PlannedCell, rng: Rng): PlannedEnding => {
  // Uses the user's own definition, so that a varied definition does not change what the agent passes on.
  const hasTools = testAgent.own.definition.tools.length > 0;
  // Endings with many retries are slow, so they are drawn less often.
  const possible: PlannedEnding[] = [
    'cut answer',
    'refused',
    rng.percent(50) ? 'cut answer' : rng.pick(['empty', 'hang']),
  ];
  if (hasTools && limits.maxToolTurns <= 4) possible.push('last turn', 'last turn');
  if (hasTools && cheapLimits(testAgent, limits).length > 0) possible.push('limit', 'limit');
  if (testAgent.sources.length > 0 && testAgent.sources.every(({ own }) => own === undefined))
    possible.push('unlisted');
  if (testAgent.agent.signature.output.format === 'json' && limits.maxToolTurns >= 2) possible.push('unfitting');
  return rng.percent(55) ? 'answer' : rng.pick(possible);
};

export type CheapLimit = 'max_steps' | 'max_output_files' | 'max_output_size_bytes';

/** Limits that are easy to exceed. */
export const cheapLimits = ({ agent }: TestAgent, limits: CellLimits): readonly CheapLimit[] => {
  const writes = agent.resources.builtins.includes('write_file');
  return [
    ...(limits.max_steps <= 8 && limits.maxToolCallsPerTurn > 9 ? (['max_steps'] as const) : []),
    ...(writes && limits.max_output_files <= 4 ? (['max_output_files'] as const) : []),
    ...(writes && limits.max_output_size_bytes <= 4_000 ? (['max_output_size_bytes'] as const) : []),
  ];
};

const drawAnswer = (
  { testAgent, limits, place }: PlannedCell,
  { size, seed, validate }: Scenario,
  rng: Rng,
): string => {
  const words = rng.words();
  const json = drawJsonAnswer(testAgent.agent.signature.output, words, `${seed} answer ${place}`, validate);
  if (json !== null) return json;
  const answer = `Found ${words}`;
  const shown = shownBytesMax(limits);
  return size.longTexts && shown <= 8_000 && rng.percent(15)
    ? `${answer}\n`.padEnd(shown + 500, 'and so on\n')
    : answer;
};

/** Null for an agent that answers in text. If no value fits its schema, every answer is refused, in both runs alike. */
export const drawJsonAnswer = (
  { format, schema }: AgentSignature['output'],
  words: string,
  seed: string,
  validate: Validate,
): string | null => {
  if (format !== 'json') return null;
  return JSON.stringify((schema === undefined ? { found: words } : validSample(schema, seed, validate)) ?? null);
};
