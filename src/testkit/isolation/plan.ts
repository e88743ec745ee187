// What a cell passes on, the same in both runs of a pair: which agents it asks for what, how it ends, what it answers.
// It follows from the seed and the cell's place in the tree, never from what its model is shown.
import { CloisterError, isObject } from '#base';
import type { JsonObject } from '#base';
import type { Validate } from '#contracts';
import { shownBytesMax } from '#core/cells';
import type { CellLimits } from '#core/cells';
import { depthMax } from '#core/orchestration';
import { Rng } from './rng.ts';
import type { CaseSize } from './case-size.ts';
import { fittingSample } from './sample-schema.ts';
import type { Subject } from './subject.ts';
import type { PlayedAgent } from './team.ts';

/** A child that is asked for something. */
export type Ask = {
  readonly tool: string;
  /** `<tool> #2`: the second time that its caller asks it. */
  readonly label: string;
  /** What its tool is called with, without a reason. */
  readonly input: JsonObject;
  /** How many cells there may be below it. */
  readonly cells: number;
  /** Asked besides what was planned: it has no plans of its own. */
  readonly isTwin: boolean;
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
  /** Asked at once, one group after another. */
  readonly groups: readonly (readonly Ask[])[];
  readonly ending: PlannedEnding;
  readonly answer: string;
};

export type PlannedCell = {
  readonly part: PlayedAgent;
  readonly place: string;
  readonly depth: number;
  readonly limits: CellLimits;
  readonly cells: number;
  readonly isTwin: boolean;
  /** Agents above, which may not be asked again. */
  readonly above: readonly string[];
};

export type Scenario = { readonly seed: string; readonly dials: CaseSize; readonly validate: Validate };

export const planOf = (born: PlannedCell, ground: Scenario): Plan => {
  const chance = new Rng(`${ground.seed} plan ${born.place}`);
  const ending = born.isTwin || !ground.dials.endings ? 'answer' : endingOf(born, chance);
  return {
    groups: born.isTwin || ending === 'unlisted' ? [] : groupsOf(born, ground, chance),
    ending,
    answer: answerOf(born, ground, chance),
  };
};

const groupsOf = (born: PlannedCell, ground: Scenario, chance: Rng): Plan['groups'] => {
  const { part, limits, cells } = born;
  const tools = [...part.children.keys()].filter((tool) => mayAsk(born, tool));
  // At the depth where nothing more may begin, being refused is tried now and then.
  if (tools.length === 0 || cells === 0 || (born.depth >= depthMax && chance.percent(80))) return [];
  const count = Math.min(1 + chance.below(Math.min(cells, 3)), limits.max_steps, limits.maxToolCallsPerTurn);
  const asks: Ask[] = [];
  for (let index = 0; index < count; index++) {
    const share = Math.floor((cells - count) / count) + (index < (cells - count) % count ? 1 : 0);
    const ask = askOf(born, chance.pick(tools), asks, { ...ground, share: Math.max(0, share) });
    if (ask !== null) asks.push(ask);
  }
  const cut = limits.maxToolTurns > 2 && asks.length > 1 && chance.percent(40) ? 1 : asks.length;
  return limits.maxToolTurns < 1 ? [] : [asks.slice(0, cut), asks.slice(cut)].filter((group) => group.length > 0);
};

/** An agent may not call one of its own callers. */
export const mayAsk = ({ part, above }: Pick<PlannedCell, 'part' | 'above'>, tool: string): boolean => {
  const { file, name } = part.children.get(tool)!.agent;
  return !above.includes(file ?? name);
};

const askOf = (
  born: PlannedCell,
  tool: string,
  before: readonly Ask[],
  ground: Scenario & { readonly share: number },
): Ask | null => {
  const nth = before.filter((ask) => ask.tool === tool).length + 1;
  const label = `${tool} #${nth}`;
  const input = goalFor(born.part.children.get(tool)!, `${ground.seed} goal ${born.place} › ${label}`, ground.validate);
  return input === null ? null : { tool, label, input, cells: ground.share, isTwin: false };
};

/** What an agent is asked: words, or an object that fits its schema. Null when no such object was found. */
export const goalFor = ({ agent: { input } }: PlayedAgent, seed: string, validate: Validate): JsonObject | null => {
  if (input.format === 'text') return { prompt: `Look into ${new Rng(seed).words()}` };
  const value = fittingSample({ ...input.schema, type: 'object' }, seed, validate);
  return isObject(value) ? value : null;
};

/** What the root is asked: what a person said, or something drawn. */
export const rootGoal = (
  { input }: Pick<Subject, 'input'>,
  root: PlayedAgent,
  { seed, validate }: Pick<Scenario, 'seed' | 'validate'>,
): string => {
  if (input !== undefined) return typeof input === 'string' ? input : JSON.stringify(input);
  const drawn = goalFor(root, `${seed} goal`, validate);
  if (drawn === null)
    throw new CloisterError(
      'goal_schema',
      `No input was found that fits the schema of "${root.agent.name}": give one with \`input\`.`,
    );
  const { prompt } = drawn;
  return root.agent.input.format === 'text' && typeof prompt === 'string' ? prompt : JSON.stringify(drawn);
};

const endingOf = ({ part, limits }: PlannedCell, chance: Rng): PlannedEnding => {
  // As the user made it: a change of its definition must not change what it passes on.
  const hasTools = part.own.definition.tools.length > 0;
  // What is tried again and again takes long.
  const possible: PlannedEnding[] = [
    'cut answer',
    'refused',
    chance.percent(50) ? 'cut answer' : chance.pick(['empty', 'hang']),
  ];
  if (hasTools && limits.maxToolTurns <= 4) possible.push('last turn', 'last turn');
  if (hasTools && cheapLimits(part, limits).length > 0) possible.push('limit', 'limit');
  if (part.sources.length > 0 && part.sources.every(({ own }) => own === undefined)) possible.push('unlisted');
  if (part.agent.output.format === 'json' && limits.maxToolTurns >= 2) possible.push('unfitting');
  return chance.percent(55) ? 'answer' : chance.pick(possible);
};

export type CheapLimit = 'max_steps' | 'max_output_files' | 'max_output_size_bytes';

/** Limits that can be passed with little. */
export const cheapLimits = ({ agent }: PlayedAgent, limits: CellLimits): readonly CheapLimit[] => {
  const writes = agent.builtins.includes('write_file');
  return [
    ...(limits.max_steps <= 8 && limits.maxToolCallsPerTurn > 9 ? (['max_steps'] as const) : []),
    ...(writes && limits.max_output_files <= 4 ? (['max_output_files'] as const) : []),
    ...(writes && limits.max_output_size_bytes <= 4_000 ? (['max_output_size_bytes'] as const) : []),
  ];
};

const answerOf = ({ part, limits, place }: PlannedCell, { dials, seed, validate }: Scenario, chance: Rng): string => {
  const { format, schema } = part.agent.output;
  if (format === 'json') {
    const value =
      schema === undefined ? { found: chance.words() } : fittingSample(schema, `${seed} answer ${place}`, validate);
    // Without one that fits, every answer is refused, in both runs alike.
    return JSON.stringify(value ?? null);
  }
  const answer = `Found ${chance.words()}`;
  const shown = shownBytesMax(limits);
  return dials.long && shown <= 8_000 && chance.percent(15) ? `${answer}\n`.padEnd(shown + 500, 'and so on\n') : answer;
};
