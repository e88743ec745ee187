// Teams of any shape, from a seed: what users might write. Nothing of them is ever called: their models and tools throw.
import type { defineAgent } from 'cloister';

type Define = typeof defineAgent;
type Agent = ReturnType<Define>;
type Options = Parameters<Define>[0];

/** Small and quick: the same seed gives the same team. */
export const randomTeam = (define: Define, seed: number): Agent => {
  const draw = drawsFrom(seed);
  const pool: Agent[] = [];
  const deep = Array.from({ length: draw(3) }, (_, index) => agentOf(define, draw, `deep-${index}`, []));
  const middle = Array.from({ length: 1 + draw(2) }, (_, index) =>
    agentOf(define, draw, `middle-${index}`, draw(2) === 0 ? deep.slice(0, 1 + draw(2)) : []),
  );
  pool.push(...middle, ...(draw(4) === 0 ? deep.slice(0, 1) : []));
  return agentOf(define, draw, 'lead', pool);
};

type Draw = (below: number) => number;

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

const toolsOf = (draw: Draw): NonNullable<Options['tools']> => [
  ...['look', 'burst'].slice(0, draw(3)).map((name) => ({
    name,
    description: `Does ${name}.`,
    inputSchema: schemas[draw(schemas.length)]!,
    ...(draw(4) === 0 ? { instructions: `Use ${name} with care.` } : {}),
    execute: never,
  })),
  ...(draw(3) === 0 ? [] : files.slice(0, 1 + draw(3))),
  ...(draw(8) === 0 ? [{ name: 'kit', list: never }] : []),
  ...(draw(8) === 0 ? ['box/one', 'box/two'] : []),
];

const limitsOf = (draw: Draw): NonNullable<Options['limits']> => ({
  max_tokens_per_step: 150 + draw(200),
  ...(draw(4) === 0 ? { max_steps: 3 + draw(5) } : {}),
  ...(draw(4) === 0 ? { maxToolTurns: 1 + draw(4) } : {}),
  ...(draw(4) === 0 ? { max_output_files: 1 + draw(3) } : {}),
  ...(draw(6) === 0 ? { max_output_size_bytes: 300 } : {}),
  ...(draw(4) === 0 ? { parallelToolCalls: 1 + draw(3) } : {}),
  ...(draw(6) === 0 ? { contextTokensMax: 3_000 } : {}),
  ...(draw(6) === 0 ? { timeout_ms: 20 } : {}),
});

const agentOf = (define: Define, draw: Draw, name: string, agents: readonly Agent[]): Agent =>
  define({
    name,
    description: `Works as ${name}.`,
    prompt: draw(12) === 0 ? `You are ${name}. Today is \${DATE}.` : `You are ${name}.`,
    models: [
      { language: model('one'), ...(draw(2) === 0 ? { price: { input: draw(9), output: draw(9) } } : {}) },
      ...(draw(3) === 0 ? [model('two')] : []),
      ...(draw(8) === 0 ? ['house/three'] : []),
    ],
    tools: toolsOf(draw),
    agents,
    ...(agents.length > 0 && draw(2) === 0 ? { gather: { timeoutMs: 50 } } : {}),
    ...(draw(4) === 0 ? { input: { format: 'json', schema: schemas[draw(schemas.length)]! } } : {}),
    ...(draw(4) === 0 ? { output: { format: 'json', schema: schemas[draw(3)]! } } : {}),
    ...(draw(3) === 0 ? { settings: { temperature: draw(10) / 10 } } : {}),
    ...(draw(3) === 0 ? { budget: { tokens: 10, spawns: 0 } } : {}),
    ...(draw(12) === 0 ? { grants: ['goal'] } : {}),
    ...(draw(4) === 0 ? { share: (['system', 'context'] as const).slice(draw(2), 1 + draw(2)) } : {}),
    limits: limitsOf(draw),
  });
