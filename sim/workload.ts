// Plans the workload of a seed: agents, their rights and limits, requests, and faults.
import type { JsonObject } from '#base';
import type { Budget, BuiltinTool, GrantName, Limits, Price, ShareName } from '#contracts';
import { calm } from './calm-faults.ts';
import type { DrawnFaults } from './calm-faults.ts';
import { withInstructions } from './instruction-workload.ts';
import { withMail } from './mail-workload.ts';
import type { CreateAgentPlan } from './mail-workload.ts';
import type {
  AgentPlan,
  CancelPlan,
  CheckpointActionPlan,
  ModelPlan,
  RunPlan,
  SeedPlan,
  SourcePlan,
  ToolPlan,
} from './plan.ts';
import { planLeases } from './lease-faults.ts';
import { planCrashBefore, withQuestions } from './question-workload.ts';
import { planClose, planCrashAt, withSignals } from './signal-workload.ts';
import type { Random } from './random.ts';
import { withScarceBudget } from './scarce-workload.ts';
import { planStorageActions, planStorageFaults } from './storage-workload.ts';
import { planTeamCheckpointActions, withTeam } from './team-workload.ts';

export const planSeed = (random: Random): SeedPlan => {
  const shape: Shape = { priced: random.chance(0.8), calm: random.chance(0.15), flood: random.chance(0.001) };
  const conversationRandom = random.fork('talk');
  const hasConversations = conversationRandom.chance(0.11);
  const mailRandom = random.fork('mail');
  const hasMail = mailRandom.chance(mailShare);
  const teamRandom = random.fork('graphs');
  const hasTeams = !hasConversations && !hasMail && teamRandom.chance(teamShare);
  // With these numbers, most seeds that tests name are as they were before anybody was asked, or sent signals.
  const questionRandom = random.fork('questions 3731');
  const hasQuestions = questionRandom.chance(questionShare);
  const signalRandom = random.fork('signals 901');
  const hasSignals = (hasQuestions || hasMail) && signalRandom.chance(hasQuestions ? 0.6 : 0.25);
  const createAgent: CreateAgentPlan = (one, name) => planAgent(one, name, { depth: 3, shape });
  const drawRun = (index: number): RunPlan => {
    const run = planRun(random.fork(`run ${index}`), index, shape);
    const planned = hasConversations ? withConversation(run, conversationRandom) : { ...run, turns: 0 };
    if (hasMail) return withMail(planned, mailRandom.fork(`run ${index}`), createAgent);
    if (hasTeams && index === 0) return withTeam(planned, teamRandom.fork('run'), createAgent);
    const scarceRandom = random.fork(`scarce ${index}`);
    return scarceRandom.chance(scarceShare) ? withScarceBudget(planned, scarceRandom, createAgent) : planned;
  };
  const runs = Array.from({ length: random.chance(0.85) ? 1 : random.int(2, 3) }, (_, index) =>
    withInstructions(drawRun(index), random, index),
  )
    .map((run, index) =>
      hasQuestions ? withQuestions(run, questionRandom.fork(`run ${index}`), tool('send', 'never')) : run,
    )
    .map((run, index) => (hasSignals ? withSignals(run, signalRandom.fork(`run ${index}`)) : run));
  const lanes = random.chance(0.4) ? { models: random.int(1, 2), tools: random.int(1, 2) } : {};
  const closesSometimes = random.chance(0.06) ? random.log(5, 2_000) : null;
  // Runs that wait for people are left then.
  const closesAt = closesSometimes ?? (hasSignals && hasQuestions ? planClose(signalRandom.fork('close')) : null);
  const storageActions = planStorageActions(random.fork('storage'));
  const isPlain = !hasConversations && !hasMail && !hasTeams && !hasQuestions && storageActions.length === 0;
  return {
    runs,
    lanes,
    leases: isPlain && !shape.calm ? planLeases(random.fork('leases')) : null,
    closesAt,
    checkpointActions: hasConversations
      ? [...planCheckpointActions(conversationRandom), ...planBranchActions(runs, random.fork('branches'))]
      : hasTeams
        ? planTeamCheckpointActions(teamRandom)
        : [],
    storageActions,
    faults: {
      ...(shape.calm ? calm : planFaults(random.fork('faults'))),
      ...(shape.calm ? { crashInStorage: null } : planStorageFaults(storageActions, random.fork('storage faults'))),
      crashBefore: hasQuestions && !shape.calm ? planCrashBefore(questionRandom.fork('crash')) : null,
      crashAt: hasSignals && !shape.calm ? planCrashAt(signalRandom.fork('crash')) : null,
      post: (hasMail || hasTeams) && !shape.calm && mailRandom.chance(0.5) ? mailRandom.unit() * 0.3 : 0,
    },
  };
};

/** The share of seeds in which agents spawn agents and exchange messages. */
const mailShare = 0.12;
/** The share of the other seeds in which a team works through a task graph. */
const teamShare = 0.26;
/** The share of all seeds in which people are asked. */
const questionShare = 0.15;

/** The share of the other runs in which holds have to wait. */
const scarceShare = 0.08;

type RunPlanWithoutTurns = Omit<RunPlan, 'turns'>;

/** Adds a few turns of a conversation. The root gets tools whose calls must not be confused with those of another run. */
const withConversation = (run: RunPlanWithoutTurns, random: Random): RunPlan => {
  const tools = allTools.filter(
    (one) => run.agent.tools.includes(one) || one.repeat === 'keyed' || one.name === 'send',
  );
  const turns = random.chance(0.85) ? random.pick([1, 1, 1, 2, 2, 3]) : 0;
  const filesRandom = random.fork(`files ${run.agent.name}`);
  return filesRandom.chance(0.5)
    ? withFiles({ ...run, agent: { ...run.agent, tools }, turns }, filesRandom)
    : { ...run, agent: { ...run.agent, tools }, turns };
};

/** More turns, in which the root writes files and gets long outputs, so that the next turn takes over some of each. */
const withFiles = (run: RunPlan, random: Random): RunPlan => {
  const tools = allTools.filter(({ repeat, longOutput }) => repeat === 'keyed' || longOutput);
  const agent = {
    ...run.agent,
    tools,
    builtins,
    agents: [],
    gather: null,
    sources: [],
    limits: { max_tokens_per_step: 60 },
    budget: {},
  };
  return { ...run, agent, budget: undefined, cancel: random.chance(0.2) ? run.cancel : null, turns: random.int(1, 3) };
};

/** The first actions take checkpoints, so that later ones can restore them. */
const planCheckpointActions = (random: Random): readonly CheckpointActionPlan[] =>
  Array.from({ length: random.int(2, 6) }, (_, index) => ({
    afterMs: random.log(5, index < 2 ? 500 : 4_000),
    what: random.weighted(
      index < 2 ? { checkpoint: 1, restore: 0, branch: 0, turn: 0 } : { checkpoint: 2, restore: 5, branch: 3, turn: 4 },
    ),
    twice: random.chance(0.3),
  }));

/** Where turns take over files: more branches, and turns in them, mostly after the first turns have ended. */
const planBranchActions = (runs: readonly RunPlan[], random: Random): readonly CheckpointActionPlan[] =>
  runs.some(({ turns, agent }) => turns > 0 && agent.builtins === builtins)
    ? Array.from({ length: random.int(2, 8) }, () => ({
        afterMs: random.log(300, 8_000),
        what: random.weighted({ checkpoint: 3, restore: 1, branch: 3, turn: 4 }),
        twice: false,
      }))
    : [];

/** `flood`: models send a text in more pieces than are buffered for a slow reader. */
type Shape = { readonly priced: boolean; readonly calm: boolean; readonly flood: boolean };

const planFaults = (random: Random): DrawnFaults => {
  const rate = (most: number): number => (random.chance(0.55) ? random.unit() * most : 0);
  return {
    untilMs: random.log(500, 30_000),
    crashesMax: random.chance(0.25) ? 0 : random.int(1, 4),
    crash: 0.6 + random.unit() * 0.4,
    model: rate(0.5),
    tool: rate(0.5),
    source: rate(0.9),
    disk: rate(0.15),
    clock: rate(0.5),
    rivals: rate(0.35),
  };
};

const planRun = (random: Random, index: number, shape: Shape): RunPlanWithoutTurns => ({
  goal: `task ${random.hex()}`,
  agent: planAgent(random.fork('agent'), `lead${index}`, { depth: 0, shape }),
  budget: random.chance(0.3) ? planBudget(random, shape) : undefined,
  startsAt: index === 0 ? 0 : random.int(0, 200),
  reader: shape.flood ? 'stalls' : random.chance(0.25) ? random.pick([0, 1, 20, 'stalls'] as const) : null,
  cancel: planCancel(random),
  ...planContext(random.fork('given')),
  system: [],
  attachments: [],
  resident: null,
  sends: [],
  team: null,
  people: null,
  signals: [],
});

/** Context for the root in addition to its goal: at the start, and later. */
const planContext = (random: Random): Pick<RunPlan, 'context' | 'gives'> => ({
  context: random.chance(0.3) ? [`know ${random.hex()}`] : [],
  gives: Array.from({ length: random.chance(0.3) ? random.int(1, 2) : 0 }, () => ({
    afterMs: random.log(1, 1_000),
    text: `know ${random.hex()} ${random.chance(0.2) ? 'well '.repeat(400) : ''}`,
  })),
});

const planCancel = (random: Random): CancelPlan | null => {
  const how = random.weighted({ not: 56, later: 10, along: 16, after: 18 });
  switch (how) {
    case 'not':
      return null;
    case 'later':
      return { afterMs: random.log(1, 2_000) };
    case 'along':
      return random.chance(0.6)
        ? { kind: 'ack', nth: random.log(1, 8), promises: random.int(2, 6) }
        : { kind: random.pick(busyEvents), nth: random.log(1, 6), promises: random.int(0, 11) };
    case 'after':
      return { record: random.pick(['begin', 'settle', 'settle']), nth: random.log(1, 8), promises: random.int(0, 4) };
  }
};

/** Events that settle many promises. */
const busyEvents: readonly string[] = ['piece', 'model', 'tool', 'timer'];

type Place = { readonly depth: number; readonly shape: Shape };

const planAgent = (random: Random, name: string, place: Place): AgentPlan => {
  const { depth, shape } = place;
  const below = [0.5, 0.3, 0.25, 0][depth]!;
  const agents = Array.from({ length: random.chance(below) ? random.int(1, 2) : 0 }, (_, index) =>
    planAgent(random.fork(`child ${index}`), `${name}_${'xyz'[index]}`, { depth: depth + 1, shape }),
  );
  const isJson = depth > 0 && random.chance(0.2);
  const served = random.chance(0.2);
  return {
    name,
    prompt: `You do ${random.hex()}.${random.chance(0.1) ? ' Today is ${DATETIME}.' : ''}`,
    models: Array.from({ length: random.int(1, 2) }, (_, index) => planModel(random, `m${index}`, shape)),
    tools: allTools.filter(() => random.chance(served ? 0.15 : 0.4)),
    builtins: random.chance(0.25) ? builtins.filter(() => random.chance(0.6)) : [],
    sources: served ? [source] : [],
    agents,
    gather: agents.length > 0 && random.chance(0.6) ? { timeoutMs: random.log(20, 5_000) } : null,
    input: isJson ? jsonInput : { format: 'text' },
    output: random.chance(0.2) ? jsonOutput : { format: 'text' },
    limits: planLimits(random),
    settings: random.chance(0.1) ? { temperature: 0.5, reasoning: 'minimal' } : {},
    grants: random.chance(0.04) ? random.pick(reducedGrants) : allGranted,
    share: depth > 0 ? planShare(random.fork('share')) : [],
    skills: [],
    budget: random.chance(0.25) ? planBudget(random, shape) : {},
    mail: null,
    team: null,
    role: null,
  };
};

const planShare = (random: Random): readonly ShareName[] => (random.chance(0.3) ? random.pick(allShares) : []);
const allShares: readonly (readonly ShareName[])[] = [['system'], ['context'], ['system', 'context']];
const allGranted: readonly GrantName[] = ['goal', 'result', 'note'];
const reducedGrants: readonly (readonly GrantName[])[] = [['goal'], ['result', 'note']];

const planModel = (random: Random, id: string, { priced, flood }: Shape): ModelPlan => ({
  id,
  price: priced ? random.pick(prices) : undefined,
  contextTokens: random.chance(0.2) ? random.int(900, 3_000) : undefined,
  maxOutputTokens: random.chance(0.8) ? random.int(100, 800) : undefined,
  msMax: random.log(5, 600),
  density: random.pick([0.3, 0.8, 1]),
  noUsageRate: random.chance(0.12) ? 0.5 : 0,
  pieces: flood ? 11_000 : 2,
  honoursAbort: random.chance(0.6),
  structuredOutput: random.fork('structured output').chance(0.5),
});

const prices: readonly Price[] = [
  { input: 1, output: 4 },
  { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
];

const builtins: readonly BuiltinTool[] = ['write_file', 'read_file', 'list_files'];

const toolInput: JsonObject = {
  type: 'object',
  properties: { q: { type: 'string' }, fail: { type: 'boolean' } },
  required: ['q'],
  additionalProperties: false,
};

const tool = (name: string, repeat: ToolPlan['repeat'], more: Partial<ToolPlan> = {}): ToolPlan => ({
  name,
  repeat,
  inputSchema: toolInput,
  msMax: 60,
  longOutput: false,
  ...more,
});

const allTools: readonly ToolPlan[] = [
  tool('look', 'free'),
  tool('send', 'never'),
  tool('post', 'keyed', { msMax: 200 }),
  tool('pay', 'never', { msMax: 400 }),
  tool('dump', 'free', { longOutput: true }),
];

const source: SourcePlan = { name: 'srv', tools: [tool('get', 'free'), tool('put', 'never')] };

const jsonInput = {
  format: 'json',
  schema: {
    type: 'object',
    properties: { topic: { type: 'string' }, size: { type: 'integer' } },
    required: ['topic'],
    additionalProperties: false,
  },
} as const;

const jsonOutput = {
  format: 'json',
  schema: {
    type: 'object',
    properties: { findings: { type: 'array' }, sum: { type: 'integer' } },
    required: ['sum'],
  },
} as const;

const planLimits = (random: Random): Limits => {
  const maybe = (key: keyof Limits, probability: number, value: () => number): Limits =>
    random.chance(probability) ? { [key]: value() } : {};
  const limits: Limits = {
    maxToolTurns: random.int(2, 4),
    ...maybe('max_steps', 0.15, () => random.int(1, 6)),
    ...maybe('max_tokens_per_step', 0.5, () => random.int(20, 200)),
    ...maybe('max_output_files', 0.1, () => random.int(0, 2)),
    ...maybe('max_output_size_bytes', 0.1, () => random.int(10, 600)),
    ...maybe('timeout_ms', 0.15, () => random.log(20, 3_000)),
    ...maybe('llmTimeout', 0.7, () => random.log(30, 5_000)),
    ...maybe('toolTimeout', 0.6, () => random.log(20, 2_000)),
    ...maybe('maxRetries', 0.7, () => random.int(0, 2)),
    ...maybe('maxToolCallsPerTurn', 0.1, () => random.int(1, 2)),
    ...maybe('parallelToolCalls', 0.4, () => random.int(1, 3)),
    ...maybe('maxOutputTokens', 0.5, () => random.int(80, 600)),
    ...maybe('contextTokensMax', 0.12, () => random.int(500, 2_000)),
  };
  const { timeout_ms: timeoutMs, llmTimeout } = limits;
  // One request may not take longer than the whole session.
  return timeoutMs !== undefined && llmTimeout !== undefined
    ? { ...limits, llmTimeout: Math.min(llmTimeout, timeoutMs) }
    : limits;
};

const planBudget = (random: Random, { priced }: Shape): Budget => ({
  ...(random.chance(0.6) ? { tokens: random.log(3_000, 40_000) } : {}),
  ...(priced && random.chance(0.3) ? { usd: random.log(5, 200) / 1_000 } : {}),
  ...(random.chance(0.3) ? { spawns: random.int(0, 4) } : {}),
  ...(random.chance(0.2) ? { ms: random.log(30, 6_000) } : {}),
});
