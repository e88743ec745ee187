// The other direction: a child's private work varies while it ends the same way, and neither its parent nor a sibling can tell.
import fc from 'fast-check';
import { Observer } from './observer.ts';
import type { Observation } from './observer.ts';
import { brokenCall, call, taskOf, tool, turnCounter, World } from './fake-world.ts';
import type { Call, Cloister, Fault, Reply } from './fake-world.ts';
import { envName, words } from './parent-varies.ts';

// ---- what the pair has in common: the answer, and how it ended

export type Ending = {
  readonly kind:
    | 'answer'
    | 'long answer'
    | 'cut answer'
    | 'no answer'
    | 'refused'
    | 'limit'
    | 'last turn'
    | 'helper missing'
    | 'json'
    | 'no json';
  readonly answer: string;
  /** Which limit it exceeds, when it ends that way. Its parent is told. */
  readonly limit: 'max_steps' | 'max_output_files' | 'max_output_size_bytes';
};

export const ending: fc.Arbitrary<Ending> = fc.record({
  kind: fc.constantFrom(
    'answer',
    'long answer',
    'cut answer',
    'no answer',
    'refused',
    'limit',
    'last turn',
    'helper missing',
    'json',
    'no json',
  ),
  answer: words.map((text) => `Tea. ${text}`),
  limit: fc.constantFrom('max_steps', 'max_output_files', 'max_output_size_bytes'),
});

// ---- what the child keeps private

type Act = { readonly kind: (typeof actKinds)[number]; readonly text: string; readonly delayMs: number };
const actKinds = ['jot', 'burst', 'fail', 'write', 'list', 'helper', 'ghost', 'broken'] as const;

export type ChildState = {
  readonly prompt: string;
  readonly turns: readonly { readonly text: string; readonly acts: readonly Act[]; readonly delayMs: number }[];
  /** A provider's or a tool's own text. */
  readonly words: string;
  readonly faults: number;
  /** Whether another model of the same provider, which does not answer, is asked first. */
  readonly down: boolean;
  readonly extraTools: readonly string[];
  readonly usage: readonly [number, number];
  readonly settings: { readonly temperature?: number };
  readonly env: string;
  readonly seed: number;
  readonly startMs: number;
};

const act: fc.Arbitrary<Act> = fc.record({
  kind: fc.constantFrom(...actKinds),
  text: words,
  delayMs: fc.integer({ min: 0, max: 40 }),
});

export const childState: fc.Arbitrary<ChildState> = fc.record({
  prompt: words,
  turns: fc.array(
    fc.record({ text: words, acts: fc.array(act, { minLength: 1, maxLength: 3 }), delayMs: fc.nat(90) }),
    { maxLength: 3 },
  ),
  words,
  faults: fc.integer({ min: 0, max: 2 }),
  down: fc.boolean(),
  extraTools: fc.uniqueArray(fc.stringMatching(/^x[a-z]{1,6}$/u), { maxLength: 3 }),
  usage: fc.tuple(fc.nat(1_500), fc.nat(100)),
  settings: fc.record({ temperature: fc.constantFrom(0, 0.5) }, { requiredKeys: [] }),
  env: fc.stringMatching(/^[a-z0-9]{0,12}$/u),
  seed: fc.nat(),
  startMs: fc.integer({ min: 0, max: 2_000_000_000_000 }),
});

// ---- the run

export const watchParent = async (
  cloister: Cloister,
  { ending: end, viaGather }: { readonly ending: Ending; readonly viaGather: boolean },
  state: ChildState,
): Promise<readonly Observation[]> => {
  const world = new World(state.seed, state.startMs);
  const parent = new Observer('parent', world.drawn);
  const sibling = new Observer('sibling', world.drawn);
  const lead = cloister.defineAgent({
    name: 'lead',
    description: 'Leads.',
    prompt: 'You lead.',
    models: [world.model('lead', parentReply(parent, viaGather))],
    tools: [probe(world, parent), 'list_files', 'read_file', 'write_file'],
    agents: [defineChild(cloister, world, end, state), defineSibling(cloister, world, sibling)],
    gather: { timeoutMs: 600_000 },
    limits: { max_tokens_per_step: 300, parallelToolCalls: 3 },
  });
  process.env[envName] = state.env;
  const home = await cloister.openCloister({ store: 'memory', agents: [lead], clock: world.clock, ids: world.ids });
  const session = home.run('lead', 'What is better, tea or coffee?');
  const { status, output, failure, missing } = await world.finish(session.outcome);
  parent.note('the run', { status, output, failure, missing });
  await home.close();
  delete process.env[envName];
  return [...parent.observations, ...sibling.observations];
};

const probe = (world: World, observer: Observer) =>
  tool('probe', 'Looks closely.', async (args, context) => {
    observer.toolCall('probe', args, context);
    await world.sleep(Number.parseInt(args.mark.slice(0, 1), 16));
    return `Seen by ${args.mark}.`;
  });

type Request = Parameters<typeof taskOf>[0];

const parentReply = (observer: Observer, viaGather: boolean) => {
  const turnOf = turnCounter();
  const askOf = (agent: string, prompt: string) =>
    viaGather ? call('gather', { tasks: [{ agent, prompt }] }) : call(agent, { prompt });
  const turns: readonly ((mark: string) => readonly Call[])[] = [
    (mark) => [
      call('probe', { mark }),
      askOf('child', 'Compare tea and coffee.'),
      call('sibling', { prompt: `Look beside it, ${mark}.` }),
      call('probe', { mark, again: true }),
      call('list_files', {}),
    ],
    (mark) => [
      call('read_output', { name: 'child_001.txt', from: 500, bytes: 300 }),
      call('read_output', { name: 'burst_001.txt' }),
      call('read_file', { path: 'notes.md' }),
      call('sibling', { prompt: `Look after it, ${mark}.` }),
      call('list_files', {}),
    ],
  ];
  return (request: Request): Reply => {
    const mark = observer.request(request);
    const turn = turnOf('');
    return { turn, text: `lead ${mark}`, calls: turns[turn]?.(mark) ?? [] };
  };
};

const defineSibling = ({ defineAgent }: Cloister, world: World, observer: Observer) => {
  const turnOf = turnCounter();
  const replyBy =
    (model: string) =>
    (request: Request): Reply => {
      const mark = observer.request(request);
      observer.note('asked', model);
      const turn = turnOf(taskOf(request));
      const calls = [
        call('probe', { mark }),
        call('list_files', {}),
        call('read_file', { path: 'notes.md' }),
        call('write_file', { path: `${mark}.txt`, content: mark }),
      ];
      return turn === 0 ? { turn, calls } : { turn, text: `Beside: ${mark}` };
    };
  return defineAgent({
    name: 'sibling',
    description: 'Looks beside.',
    prompt: 'You look.',
    // Which of them is asked, it would see too.
    models: [world.model('sibling', replyBy('first')), world.model('sibling', replyBy('second'), 'another provider')],
    tools: [probe(world, observer), 'list_files', 'read_file', 'write_file'],
  });
};

// ---- the child, in private

const defineChild = ({ defineAgent }: Cloister, world: World, end: Ending, state: ChildState) => {
  const slow = (name: string, work: (text: string) => string) =>
    tool(name, `Does ${name}.`, async ({ text, delayMs }) => {
      await world.sleep(delayMs);
      return work(text);
    });
  const helper = defineAgent({
    name: 'helper',
    description: `Helps. ${state.words}`,
    prompt: state.prompt,
    models: [world.model('helper', helperReply(end, state))],
  });
  return defineAgent({
    name: 'child',
    description: 'Compares.',
    prompt: state.prompt,
    models: [
      ...(state.down ? [world.model('down', () => ({ fault: { status: 503, words: state.words }, delayMs: 1 }))] : []),
      world.model(`child-${state.usage[0]}`, childReply(end, state)),
    ],
    tools: [
      slow('jot', (text) => `noted ${text}`),
      slow('burst', (text) => `${text} `.padEnd(9_000, 'private ')),
      slow('fail', (text) => {
        throw new Error(text);
      }),
      ...state.extraTools.map((name) => tool(name, state.words, () => '')),
      'write_file',
      'list_files',
    ],
    agents: [helper],
    ...(end.kind === 'json' || end.kind === 'no json' ? { output: { format: 'json', schema: answerSchema } } : {}),
    settings: state.settings,
    limits: {
      maxRetries: 2,
      max_steps: end.kind === 'limit' && end.limit === 'max_steps' ? actsOf(end, state).flat().length : 40,
      max_output_files: end.kind === 'limit' && end.limit === 'max_output_files' ? 1 : 20,
      max_output_size_bytes: end.kind === 'limit' && end.limit === 'max_output_size_bytes' ? 2_000 : 100_000,
      maxToolTurns: end.kind === 'last turn' ? Math.max(1, actsOf(end, state).length) : 10,
    },
  });
};

const answerSchema = {
  type: 'object',
  properties: { drink: { type: 'string' } },
  required: ['drink'],
  additionalProperties: false,
} as const;

/** Its private turns, with what the ending needs. Where the newest text becomes the answer, it says nothing before. */
const actsOf = ({ kind }: Ending, { turns, words: text }: ChildState): readonly (readonly Act[])[] => {
  const free = turns.map(({ acts }) => acts.filter((one) => kind !== 'limit' || one.kind !== 'write'));
  const some = free.map((acts) => (acts.length > 0 ? acts : [{ kind: 'list', text, delayMs: 0 } as const]));
  if (kind === 'helper missing') return [...some, [{ kind: 'helper', text, delayMs: 1 }]];
  return kind === 'last turn' && some.length === 0 ? [[{ kind: 'jot', text, delayMs: 1 }]] : some;
};

const childReply = (end: Ending, state: ChildState) => {
  const acts = actsOf(end, state);
  let next = 0;
  let faults = 0;
  return (): Reply | Fault => {
    if (faults < state.faults) {
      faults++;
      return { fault: { status: 500, words: state.words }, delayMs: faults * 7 };
    }
    const turn = next++;
    const { usage } = state;
    const delayMs = state.turns[turn]?.delayMs ?? 3;
    const now = acts[turn];
    if (now === undefined) return { delayMs, usage, ...lastReply(end, state, turn) };
    const silent = end.kind === 'no answer' || end.kind === 'refused' || end.kind === 'limit';
    return { turn, usage, delayMs, text: silent ? '' : (state.turns[turn]?.text ?? ''), calls: now.map(actCall) };
  };
};

/** With a brace of its own, the text around a value would hide where the value begins, and it would end otherwise. */
const withoutBraces = (text: string): string => text.replaceAll(/[[\]{}]/gu, '');

/** The answer, or the way it fails. */
const lastReply = ({ kind, answer }: Ending, state: ChildState, turn: number): Reply | Fault => {
  const write = (path: string) => call('write_file', { path, content: state.words.padEnd(1_500, '.') });
  switch (kind) {
    case 'answer':
    case 'last turn':
    case 'helper missing':
      return { turn, text: answer };
    case 'json':
      return {
        turn,
        text: `${withoutBraces(state.words)}: ${JSON.stringify({ drink: answer })}\n${withoutBraces(state.prompt)}`,
      };
    case 'no json':
      return { turn, text: `${state.words}: {"drink":"${state.seed}","other":"${state.seed}"}` };
    case 'long answer':
      return { turn, text: `${answer}\n`.padEnd(3_000, 'tea ') };
    case 'cut answer':
      return { turn, text: answer, finish: 'length' };
    case 'no answer':
      return { fault: { status: 401, words: state.words } };
    case 'refused':
      return { fault: { status: 400, words: `${state.words}: ${state.prompt}` } };
    case 'limit':
      return { turn, calls: [write('a.txt'), write('b.txt')] };
  }
};

const actCall = ({ kind, text, delayMs }: Act): Call => {
  switch (kind) {
    case 'write':
      return call('write_file', { path: delayMs % 2 === 0 ? 'notes.md' : `secret-${delayMs}.txt`, content: text });
    case 'list':
      return call('list_files', {});
    case 'helper':
      return call('helper', { prompt: `Help with ${text}` });
    case 'broken':
      return brokenCall('jot', text);
    case 'jot':
    case 'burst':
    case 'fail':
    case 'ghost':
      return call(kind, { text, delayMs });
  }
};

/** It answers, unless its ending is that it does not. */
const helperReply =
  ({ kind }: Ending, state: ChildState) =>
  (): Reply | Fault =>
    kind === 'helper missing'
      ? { fault: { status: 403, words: state.words } }
      : { turn: 0, text: `Help: ${state.words}` };
