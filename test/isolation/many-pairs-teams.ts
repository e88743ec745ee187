// Teams of any shape, from a seed: what users might write. Their models and tools throw, since none is ever called.
import type { defineAgent } from 'cloister';

type Define = typeof defineAgent;
type Agent = ReturnType<Define>;
type Options = Parameters<Define>[0];

/** A small, fast generator: the same seed gives the same team. */
export const randomTeam = (define: Define, seed: number, marks = false): Agent => {
  const rng = drawsFrom(seed);
  const marked = drawsFrom(-7 * seed);
  // In some teams a person must allow some calls.
  const isMarked: IsMarked = marks || marked(4) === 0 ? () => marked(marks ? 4 : 2) > 0 : () => false;
  // Draws of their own, so that the rest of a team does not depend on them.
  const skillsOf = drawSkills(drawsFrom(-seed));
  const create: Create = (name, agents) => agentOf(define, rng, name, { agents, skills: skillsOf(name), isMarked });
  const pool: Agent[] = [];
  const deep = Array.from({ length: rng(3) }, (_, index) => create(`deep-${index}`, []));
  const middle = Array.from({ length: 1 + rng(2) }, (_, index) =>
    create(`middle-${index}`, rng(2) === 0 ? deep.slice(0, 1 + rng(2)) : []),
  );
  pool.push(...middle, ...(rng(4) === 0 ? deep.slice(0, 1) : []));
  return create('lead', pool);
};

type Create = (name: string, agents: readonly Agent[]) => Agent;

type Draw = (below: number) => number;
type IsMarked = () => boolean;

const drawsFrom = (seed: number): Draw => {
  let state = (seed + 1) * 0x9e3779b1;
  return (below) => {
    state = Math.imul(state ^ (state >>> 15), 0x85ebca6b) + 0x6d2b79f5;
    return ((state ^ (state >>> 13)) >>> 0) % below;
  };
};

const never = (): never => {
  throw new Error('A model or tool of the user was called.');
};

const model = (modelId: string) => ({
  specificationVersion: 'v4' as const,
  provider: 'mine',
  modelId,
  supportedUrls: {},
  doGenerate: never,
  doStream: never,
});

const schemas = [
  { type: 'object', properties: { q: { type: 'string' } }, required: ['q'] },
  {
    type: 'object',
    properties: { n: { type: 'integer', minimum: 0, maximum: 9 }, kind: { enum: ['a', 'b'] } },
    additionalProperties: false,
  },
  {
    type: 'object',
    properties: {
      list: { type: 'array', items: { type: 'string', maxLength: 8 }, maxItems: 3 },
      deep: { type: 'object' },
    },
    required: ['list'],
  },
  { type: 'object' },
] as const;

const files = ['write_file', 'list_files', 'read_file'] as const;

const toolsOf = (rng: Draw, isMarked: IsMarked): NonNullable<Options['tools']> => [
  ...['look', 'burst'].slice(0, rng(3)).map((name) => ({
    ...(isMarked() ? { approve: true as const } : {}),
    name,
    description: `Does ${name}.`,
    inputSchema: schemas[rng(schemas.length)]!,
    ...(rng(4) === 0 ? { instructions: `Use ${name} with care.` } : {}),
    execute: never,
  })),
  ...(rng(3) === 0 ? [] : files.slice(0, 1 + rng(3))),
  ...(rng(8) === 0 ? [{ name: 'kit', list: never }] : []),
  ...(rng(8) === 0 ? ['box/one', 'box/two'] : []),
];

const limitsOf = (rng: Draw): NonNullable<Options['limits']> => ({
  max_tokens_per_step: 150 + rng(200),
  ...(rng(4) === 0 ? { max_steps: 3 + rng(5) } : {}),
  ...(rng(4) === 0 ? { maxToolTurns: 1 + rng(4) } : {}),
  ...(rng(4) === 0 ? { max_output_files: 1 + rng(3) } : {}),
  ...(rng(6) === 0 ? { max_output_size_bytes: 300 } : {}),
  ...(rng(4) === 0 ? { parallelToolCalls: 1 + rng(3) } : {}),
  ...(rng(6) === 0 ? { contextTokensMax: 3_000 } : {}),
  ...(rng(6) === 0 ? { timeout_ms: 20 } : {}),
});

type Parts = Required<Pick<Options, 'skills'>> & { readonly agents: readonly Agent[]; readonly isMarked: IsMarked };

const agentOf = (define: Define, rng: Draw, name: string, { agents, skills, isMarked }: Parts): Agent =>
  define({
    name,
    description: `Works as ${name}.`,
    prompt: rng(12) === 0 ? `You are ${name}. Today is \${DATE}.` : `You are ${name}.`,
    models: [
      { language: model('one'), ...(rng(2) === 0 ? { price: { input: rng(9), output: rng(9) } } : {}) },
      ...(rng(3) === 0 ? [model('two')] : []),
      ...(rng(8) === 0 ? ['house/three'] : []),
    ],
    tools: toolsOf(rng, isMarked),
    agents,
    ...(agents.length > 0 && rng(2) === 0 ? { gather: { timeoutMs: 50 } } : {}),
    ...(rng(4) === 0 ? { input: { format: 'json', schema: schemas[rng(schemas.length)]! } } : {}),
    ...(rng(4) === 0 ? { output: { format: 'json', schema: schemas[rng(3)]! } } : {}),
    ...(rng(3) === 0 ? { settings: { temperature: rng(10) / 10 } } : {}),
    ...(rng(3) === 0 ? { budget: { tokens: 10, spawns: 0 } } : {}),
    ...(rng(12) === 0 ? { grants: ['goal'] } : {}),
    ...(rng(4) === 0 ? { share: (['system', 'context'] as const).slice(rng(2), 1 + rng(2)) } : {}),
    limits: limitsOf(rng),
    skills,
  });

/** Half of the agents have some, under the same names in every agent. */
const drawSkills = (rng: Draw) => (agent: string) =>
  ['own', 'other'].slice(0, Math.max(0, rng(4) - 1)).map((name) => ({
    name,
    description: `Helps ${agent} with ${name}.`,
    instructions: `How ${agent} works.${rng(3) === 0 ? ' And so on.'.repeat(100) : ''}`,
    files: { 'more.md': `More for ${agent}.` },
  }));
