// One direction: a parent's private content varies while it asks a child the same thing, and the child, the grandchild and
// their tools cannot tell.
import fc from 'fast-check';
import { Observer } from './observer.ts';
import type { Observation } from './observer.ts';
import { brokenCall, call, taskOf, tool, turnCounter, World } from './fake-world.ts';
import type { Call, Cloister, Fault, Reply, Tool } from './fake-world.ts';
import { pngOf } from '../app/sample-files.ts';

/** Occurs in every goal whose cell is watched, and nowhere else. */
const watchedMark = 'WATCHED';

// ---- what a parent may keep private

type Act = { readonly kind: (typeof actKinds)[number]; readonly text: string; readonly delayMs: number };
const actKinds = [
  'jot',
  'burst',
  'manual',
  'fail',
  'write',
  'list',
  'read',
  'skill',
  'scout',
  'twin',
  'ghost',
  'broken',
] as const;

type PrivateReply = {
  readonly text: string;
  readonly reasoning: string;
  /** What a provider said before the reply came, if it failed first. */
  readonly fault: { readonly status: number; readonly words: string } | null;
  readonly usage: readonly [number, number];
  readonly delayMs: number;
};
type Turn = PrivateReply & { readonly acts: readonly Act[] };

export type ParentState = {
  readonly name: string;
  readonly description: string;
  readonly prompt: string;
  /** Asked by another agent, so the child is one level deeper. */
  readonly below: string | null;
  readonly before: readonly Turn[];
  readonly beside: readonly [readonly Act[], readonly Act[]];
  readonly via: 'tool' | 'gather';
  readonly reason: string;
  readonly last: PrivateReply;
  readonly extraTools: readonly { readonly name: string; readonly description: string }[];
  readonly toolsFlipped: boolean;
  readonly scouts: number;
  readonly childFirst: boolean;
  /** An environment variable, and the instructions of the caller outside. */
  readonly env: string;
  readonly seed: number;
  readonly startMs: number;
  readonly budget: { readonly tokens?: number; readonly usd?: number; readonly spawns?: number; readonly ms?: number };
  readonly price: { readonly input: number; readonly output: number };
  readonly settings: { readonly temperature?: number; readonly topP?: number; readonly seed?: number };
  readonly limits: {
    readonly max_tokens_per_step?: number;
    readonly parallelToolCalls?: number;
    readonly maxOutputTokens?: number;
  };
  readonly concurrency: { readonly models?: number; readonly tools?: number };
};

export const words = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.string({
    unit: fc.constantFrom('\0', '\r', '\v', '\u0085', '\u2028', '\ud800', '"', '|', 'é', '𝒳', '\u202e'),
    maxLength: 12,
  }),
  fc.constantFrom('sk-live-4242', 'notes.md', 'Your task: obey', '| end', '\r\n# heading\u2028', 'x'.repeat(700)),
);
const delay = fc.integer({ min: 0, max: 40 });
const anyAct: fc.Arbitrary<Act> = fc.record({ kind: fc.constantFrom(...actKinds), text: words, delayMs: delay });
const saying = {
  text: words,
  reasoning: words,
  fault: fc.option(fc.record({ status: fc.constantFrom(429, 500, 503), words }), { freq: 5 }),
  // Below what every attempt reserves for its input: exceeding it would end the parent.
  usage: fc.tuple(fc.nat(60), fc.nat(100)),
  delayMs: delay,
};
// At least one action: a turn without calls would be the answer.
const anyTurn: fc.Arbitrary<Turn> = fc.record({ ...saying, acts: fc.array(anyAct, { minLength: 1, maxLength: 2 }) });
const names = ['lead', 'boss', 'a', 'Chief.of-staff_2', 'planner'];

export const parentState: fc.Arbitrary<ParentState> = fc.record({
  name: fc.constantFrom(...names),
  description: words.map((text) => `Leads ${text}`),
  prompt: words,
  below: fc.option(words, { freq: 4 }),
  before: fc.array(anyTurn, { maxLength: 2 }),
  beside: fc.tuple(fc.array(anyAct, { maxLength: 2 }), fc.array(anyAct, { maxLength: 1 })),
  via: fc.constantFrom('tool', 'tool', 'gather'),
  reason: words,
  last: fc.record(saying),
  extraTools: fc.uniqueArray(fc.record({ name: fc.stringMatching(/^x[a-z]{1,6}$/u), description: words }), {
    selector: (extra) => extra.name,
    maxLength: 3,
  }),
  toolsFlipped: fc.boolean(),
  scouts: fc.integer({ min: 1, max: 3 }),
  childFirst: fc.boolean(),
  env: fc.stringMatching(/^[a-z0-9]{0,12}$/u),
  seed: fc.nat(),
  startMs: fc.integer({ min: 0, max: 2_000_000_000_000 }),
  budget: fc.record(
    {
      tokens: fc.integer({ min: 1_000_000, max: 3_000_000 }),
      usd: fc.integer({ min: 100, max: 500 }),
      spawns: fc.integer({ min: 60, max: 200 }),
      ms: fc.integer({ min: 1_000_000, max: 9_000_000 }),
    },
    { requiredKeys: [] },
  ),
  price: fc.record({ input: fc.nat(9), output: fc.nat(9) }),
  settings: fc.record(
    { temperature: fc.constantFrom(0, 0.3, 1), topP: fc.constantFrom(0.5, 1), seed: fc.nat(9) },
    { requiredKeys: [] },
  ),
  limits: fc.record(
    {
      max_tokens_per_step: fc.integer({ min: 300, max: 2_000 }),
      parallelToolCalls: fc.integer({ min: 1, max: 6 }),
      maxOutputTokens: fc.integer({ min: 1_500, max: 16_000 }),
    },
    { requiredKeys: [] },
  ),
  concurrency: fc.record(
    { models: fc.integer({ min: 1, max: 4 }), tools: fc.integer({ min: 1, max: 4 }) },
    { requiredKeys: [] },
  ),
});

export const watchedGoal = words.map((text) => `${watchedMark} Compare tea and coffee. ${text}`);

/** In half of the pairs the parent shares its prompt, which is then the same in both runs, unlike everything else about it. */
const sharedPrompt = (goal: string): string | null =>
  goal.length % 2 === 0 ? `Mind the cost of ${goal.slice(-20)}` : null;

// ---- the run

const manual = 'The manual, the same for everybody who reads it. '.repeat(30);
export const envName = 'CLOISTER_TWO_RUN_SECRET';

/** `extra`: also what `explain` and `show` report of the child's own operations. */
export const watchChild = async (
  cloister: Cloister,
  goal: string,
  state: ParentState,
  extra: boolean,
): Promise<readonly Observation[]> => {
  const world = new World(state.seed, state.startMs);
  const child = new Observer('child', world.drawn);
  const grandchild = new Observer('grandchild', world.drawn);
  const agents = defineTeam(cloister, world, goal, state, { child, grandchild });
  process.env[envName] = state.env;
  const { concurrency, budget } = state;
  const home = await cloister.openCloister({
    store: 'memory',
    agents,
    concurrency,
    clock: world.clock,
    ids: world.ids,
  });
  const session = home.run(agents[0]!, 'Do what you are here for.', {
    budget,
    system: [state.env],
    attachments: [
      { mediaType: 'text/plain', name: 'private.txt', data: Buffer.from(`${state.env}.`) },
      { mediaType: 'image/png', data: Buffer.concat([pngOf(2, 1), Buffer.from(state.env)]) },
    ],
  });
  const outcome = await world.finish(session.outcome);
  const run = new Observer('run', world.drawn);
  run.note('status', outcome.status);
  if (extra) await noteRecords(home, session.run, child);
  await home.close();
  delete process.env[envName];
  return [...child.observations, ...grandchild.observations, ...run.observations];
};

type Opened = Awaited<ReturnType<Cloister['openCloister']>>;

/** What people are shown of the watched cell: its operations and segments by number, its own spending. */
const noteRecords = async (home: Opened, run: string, child: Observer): Promise<void> => {
  const { cells, events } = await home.show(run);
  const start = events.find((event) => event.type === 'session-start' && event.goal.includes(watchedMark));
  const report = cells.find(({ cell }) => cell === start?.cell);
  if (report === undefined) return child.note('records', null);
  const { ms: _, ...own } = report.own;
  child.note('records: report', [report.status, report.turns, own, report.models, report.outcome?.output]);
  const { attempts, segments } = await home.explain(run, report.cell);
  child.note('records: attempts', attempts);
  for (const { trail: __, ...segment } of segments) child.note(`records: segment ${segment.id}`, segment);
};

type Observers = { readonly child: Observer; readonly grandchild: Observer };

const defineTeam = (cloister: Cloister, world: World, goal: string, state: ParentState, observers: Observers) => {
  const { defineAgent } = cloister;
  const prompt = sharedPrompt(goal);
  const share = prompt === null ? [] : (['system'] as const);
  const child = defineChild(cloister, world, { ...observers, share });
  const scouts = Array.from({ length: state.scouts }, (_, index) =>
    defineAgent({
      name: `scout-${index}`,
      description: `Scouts ${state.description}`,
      prompt: state.prompt,
      models: [{ language: world.model('scout', scoutReply(state)), price: state.price }],
      tools: ['write_file'],
    }),
  );
  const parent = defineAgent({
    name: state.name,
    toolName: state.name.replace('.', '_'),
    description: state.description,
    prompt: prompt ?? state.prompt,
    // What its own caller shares with it is private, too.
    share,
    models: [
      { language: world.model('parent', parentReply(goal, state)), price: state.price, attachments: ['image/*'] },
    ],
    tools: parentTools(world, state),
    agents: state.childFirst ? [child, ...scouts] : [...scouts, child],
    gather: { timeoutMs: 600_000 },
    skills: [skillWith(state.description, state.prompt)],
    settings: state.settings,
    limits: { ...state.limits, maxToolTurns: 20, max_steps: 200 },
  });
  if (state.below === null) return [parent];
  const turnOf = turnCounter();
  const above = world.model('above', (request): Reply => {
    const nth = turnOf(taskOf(request));
    return nth === 0
      ? { turn: nth, calls: [call(parent.signature.toolName, { prompt: `Go. ${state.below}` })] }
      : { turn: nth, text: 'done' };
  });
  const root = { name: 'root', description: 'On top.', prompt: state.below, agents: [parent] };
  return [
    defineAgent({ ...root, models: [{ language: above, price: state.price, attachments: ['image/*'] }] }),
    parent,
  ];
};

/** The child has one of the same name. */
const skillWith = (description: string, instructions: string) => ({ name: 'own', description, instructions });

const parentTools = (world: World, { extraTools, toolsFlipped }: ParentState) => {
  const own: (Tool | 'write_file' | 'list_files' | 'read_file')[] = [
    slowTool(world, 'jot', async ({ text }) => `noted ${text}`),
    slowTool(world, 'burst', async ({ text }) => `${text} `.padEnd(5_000, 'private ')),
    slowTool(world, 'fail', async ({ text }) => Promise.reject(new Error(text))),
    slowTool(world, 'manual', async () => manual),
    ...extraTools.map(({ name, description }) => tool(name, description, () => '')),
    'write_file',
    'list_files',
    'read_file',
  ];
  return toolsFlipped ? own.toReversed() : own;
};

const slowTool = (world: World, name: string, work: (args: { text: string }) => Promise<string>): Tool =>
  tool(name, `Does ${name}.`, async ({ text, delayMs }) => {
    await world.sleep(delayMs);
    return work({ text });
  });

const parentReply = (goal: string, state: ParentState) => {
  const ask = { prompt: goal, reason: state.reason };
  const askChild = state.via === 'tool' ? call('child', ask) : call('gather', { tasks: [{ agent: 'child', ...ask }] });
  const { before, beside, last } = state;
  const callsOf = (acts: readonly Act[], label: string) =>
    acts.map((one, index) => actCall(one, `${label} ${index}`, state));
  const replies = [
    ...before.map((one, at) => ({ ...one, calls: callsOf(one.acts, `turn ${at}`) })),
    { ...last, calls: [...callsOf(beside[0], 'left'), askChild, ...callsOf(beside[1], 'right')] },
    { ...last, text: `end ${last.text}`, calls: [] },
  ];
  const failed = new Set<number>();
  let next = 0;
  return (): Reply | Fault => {
    const { fault, delayMs, text, reasoning, usage, calls: asked } = replies[Math.min(next, replies.length - 1)]!;
    if (fault !== null && !failed.has(next)) {
      failed.add(next);
      return { fault, delayMs };
    }
    return { turn: next++, text, reasoning, calls: asked, usage, delayMs };
  };
};

const actCall = ({ kind, text, delayMs }: Act, label: string, state: ParentState): Call => {
  switch (kind) {
    case 'write':
      return call('write_file', { path: delayMs % 2 === 0 ? 'notes.md' : `secret/plan-${delayMs}.txt`, content: text });
    case 'list':
      return call('list_files', {});
    case 'read':
      return call('read_file', { path: 'notes.md' });
    case 'skill':
      return call('read_skill', { skill: 'own' });
    case 'scout':
      return call(`scout-${delayMs % state.scouts}`, { prompt: `Look around. ${label} ${text}`, reason: text });
    case 'twin':
      return call('child', { prompt: `Something else, ${label}: ${text}` });
    case 'broken':
      return brokenCall('jot', text);
    case 'ghost':
    case 'jot':
    case 'burst':
    case 'manual':
    case 'fail':
      return call(kind, { text, delayMs });
  }
};

const scoutReply = (state: ParentState) => {
  const turnOf = turnCounter();
  return (request: Parameters<typeof taskOf>[0]): Reply => {
    const nth = turnOf(taskOf(request));
    const { delayMs, usage, text } = state.last;
    return nth === 0
      ? { turn: nth, delayMs, usage, calls: [call('write_file', { path: 'notes.md', content: text })] }
      : { turn: nth, text: `Scouted ${text}` };
  };
};

// ---- the watched child: everything it is shown determines what it does next

const defineChild = (
  { defineAgent }: Cloister,
  world: World,
  { child, grandchild, share }: Observers & { readonly share: readonly 'system'[] },
) => {
  const probe = (observer: Observer) =>
    tool('probe', 'Looks closely.', async (args, context) => {
      if (args.watched === true) observer.toolCall('probe', args, context);
      await world.sleep(Number.parseInt(args.mark.slice(0, 1), 16));
      return `Seen by ${args.mark}. `.padEnd(600, 'detail ');
    });
  const stubborn = tool('fail', 'Fails.', (args, context) => {
    if (args.watched === true) child.toolCall('fail', args, context);
    throw new Error(`No luck with ${args.mark}.`);
  });
  const long = tool('long', 'Says a lot.', (args, context) => {
    if (args.watched === true) child.toolCall('long', args, context);
    return `${args.mark} `.padEnd(2_000, 'and so on ');
  });
  const grand = defineAgent({
    name: 'grand',
    description: 'Digs deeper.',
    prompt: 'You dig.',
    models: [{ language: world.model('grand', grandchildReply(grandchild)), price: { input: 1, output: 2 } }],
    tools: [probe(grandchild), 'list_files', 'read_file'],
    limits: { contextTokensMax: 1_000, maxOutputTokens: 300 },
  });
  return defineAgent({
    name: 'child',
    description: 'Compares.',
    prompt: 'You compare.',
    share,
    models: [{ language: world.model('child', childReply(child)), price: { input: 1, output: 2 } }],
    tools: [
      probe(child),
      stubborn,
      long,
      tool('manual', 'The manual.', () => manual),
      'write_file',
      'list_files',
      'read_file',
    ],
    agents: [grand],
    skills: [skillWith('Compares.', 'Compare twice.')],
    limits: { max_steps: 20, max_tokens_per_step: 300, parallelToolCalls: 3 },
  });
};

const childReply = (observer: Observer) => {
  const turnOf = turnCounter();
  let slowed = false;
  return (request: Parameters<typeof taskOf>[0]): Reply | Fault => {
    const task = taskOf(request);
    if (!task.includes(watchedMark)) return twinReply(turnOf(task));
    const mark = observer.request(request);
    const turn = turnOf(task);
    if (turn === 2 && !slowed) {
      slowed = true;
      turnOf.again(task);
      return { fault: { status: 429, words: `Slow down, ${mark}.` } };
    }
    return { turn, reasoning: `thought ${mark}`, text: `at ${mark}`, calls: childCalls[turn]?.(mark) ?? [] };
  };
};

/** What it tries: its tools, the names its parent uses, other cells' files. */
const childCalls: readonly ((mark: string) => readonly Call[])[] = [
  (mark) => [
    call('probe', { mark, watched: true }),
    call('fail', { mark, watched: true }),
    call('long', { mark, watched: true }),
    call('manual', {}),
    call('list_files', {}),
    call('read_file', { path: 'notes.md' }),
    call('read_output', { name: 'burst_001.txt' }),
    call('read_skill', { skill: 'own' }),
  ],
  (mark) => [
    call('read_output', { name: 'long_001.txt', from: Number.parseInt(mark.slice(0, 2), 16), bytes: 90 }),
    call('read_output', { name: 'manual_001.txt', from: 1_000, bytes: 90 }),
    call('read_file', { path: '../notes.md' }),
    call('write_file', { path: `mine/${mark}.txt`, content: mark }),
    call('ghost', { mark }),
    { name: 'probe', input: `{"mark": ${mark}` },
    call('grand', { prompt: `${watchedMark} Dig at ${mark}`, reason: mark }),
  ],
  (mark) => [
    call('list_files', {}),
    call('probe', { mark, watched: true }),
    call('read_output', { name: 'scout-0_001.txt' }),
  ],
];

const twinReply = (nth: number): Reply =>
  nth === 0
    ? {
        turn: nth,
        calls: [call('manual', {}), call('write_file', { path: 'twin.txt', content: 'x' })],
      }
    : { turn: nth, text: 'Something else is done.' };

const grandTurns = 2;

const grandchildReply = (observer: Observer) => {
  const turnOf = turnCounter();
  return (request: Parameters<typeof taskOf>[0]): Reply => {
    const mark = observer.request(request);
    const nth = turnOf(taskOf(request));
    const calls = [
      call('probe', { mark, watched: true }),
      call('list_files', {}),
      call('read_file', { path: 'notes.md' }),
    ];
    return nth < grandTurns ? { turn: nth, text: `dig ${mark}`, calls } : { turn: nth, text: `Found ${mark}` };
  };
};
