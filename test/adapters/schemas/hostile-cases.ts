// Schemas and values that make naive checks slow: each seed draws one of several ways, and its size.
import type { Json, JsonObject } from '#base';

export type HostileCase = { readonly way: string; readonly schema: JsonObject; readonly value: Json };

type Draw = (max: number) => number;

/** A whole number from 0 up to `max`, excluding it; the same for the same seed. */
const drawFrom = (seed: number): Draw => {
  let state = (Math.imul(seed + 1, 0x9e37_79b1) ^ 0x85eb_ca6b) >>> 0;
  return (max) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b_3c6d) + 0x297a_2d39) >>> 0;
    return Math.floor((((state ^ (state >>> 12)) >>> 0) / 2 ** 32) * max);
  };
};

const repeat = <T>(count: number, of: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => of(at));
/** Small sizes are as likely as large ones. */
const size = (draw: Draw, max: number): number => 1 + Math.floor(max ** (draw(1_000) / 1_000));
const pick = <T>(draw: Draw, from: readonly T[]): T => from[draw(from.length)]!;
const nest = (depth: number, inner: Json, wrap: (one: Json) => Json): Json => {
  let value = inner;
  for (let level = 0; level < depth; level++) value = wrap(value);
  return value;
};

const patterns = [
  '^(a+)+$',
  '^(a|aa)+$',
  '(a*)*b',
  '^(?:(?:a+)+)+$',
  '(?:a?){60}a{60}$',
  '(?:a|b)*a(?:a|b){200}c$',
  '^[a-z]{1,900}[0-9]$',
  '(?:[a-c]*[b-d]*){30}x',
  '(\\w+\\s?)*!$',
  '(?:\\p{L}\\p{N}?){100}$',
  '[^x]*x[^x]*x[^x]*x$',
  '(?:a{30}){30}b',
  '^(?=a)a+$',
  '(a)\\1',
];

const longText = (draw: Draw): string =>
  pick(draw, ['a', 'ab', 'aé', 'word ', 'a1', '/a', 'a@', 'a.', '%41', '\u{1f600}']).repeat(size(draw, 60_000)) +
  pick(draw, ['', 'b', '!', '\n']);

/** Each level refers to the next one twice. */
const doubling = (levels: number, by: string): JsonObject => ({
  $ref: '#/$defs/l0',
  $defs: Object.fromEntries(
    repeat(levels + 1, (level): [string, JsonObject] => {
      const next = { $ref: `#/$defs/l${level + 1}` };
      return [`l${level}`, level === levels ? { type: 'string' } : { [by]: [next, next] }];
    }),
  ),
});

const ways: Readonly<Record<string, (draw: Draw) => { schema: JsonObject; value: Json }>> = {
  pattern: (draw) => ({ schema: { pattern: pick(draw, patterns) }, value: longText(draw) }),
  'patterns of items': (draw) => ({
    schema: { items: { pattern: pick(draw, patterns) } },
    value: repeat(size(draw, 2_000), () => 'a'.repeat(size(draw, 200))),
  }),
  'patterns of names': (draw) => ({
    schema: {
      patternProperties: Object.fromEntries(
        repeat(size(draw, 60), (at) => [`${pick(draw, patterns)}|k${at}`, { type: 'number' }]),
      ),
      additionalProperties: false,
    },
    value: Object.fromEntries(repeat(size(draw, 3_000), (at) => [`${'a'.repeat(draw(30))}${at}`, at])),
  }),
  'negated pattern': (draw) => ({ schema: { not: { not: { pattern: pick(draw, patterns) } } }, value: longText(draw) }),
  references: (draw) => ({
    schema: doubling(size(draw, 60), pick(draw, ['allOf', 'anyOf', 'oneOf'])),
    value: pick<Json>(draw, ['x', 5]),
  }),
  'recursive schema': (draw) => ({
    schema: { anyOf: repeat(size(draw, 20), () => ({ items: { $ref: '#' } })) },
    value: nest(size(draw, 5_000), 1, (one) => [one]),
  }),
  'equal items': (draw) => {
    const inner = nest(draw(50), 'x', (one) => ({ a: one }));
    return {
      schema: { uniqueItems: true },
      value: repeat(size(draw, 60_000), (at) => pick<Json>(draw, [at, `t${at}`, [at], { at, inner }])),
    };
  },
  'deep items': (draw) => ({ schema: { uniqueItems: true }, value: [nest(size(draw, 8_000), 1, (one) => [one]), 2] }),
  choices: (draw) => {
    const object = Object.fromEntries(repeat(size(draw, 300), (at) => [`k${at}`, at]));
    return {
      schema: { items: { enum: repeat(size(draw, 2_000), (at) => ({ ...(at < 100 ? object : {}), last: at })) } },
      value: repeat(size(draw, 1_000), () => ({ ...object, last: -1 })),
    };
  },
  branches: (draw) => ({
    schema: {
      items: { [pick(draw, ['anyOf', 'oneOf', 'allOf'])]: repeat(size(draw, 3_000), (at) => ({ const: at })) },
    },
    value: repeat(size(draw, 10_000), () => -1),
  }),
  contains: (draw) => ({
    schema: { contains: { contains: { contains: { const: 1 } }, minContains: 0, maxContains: size(draw, 10) } },
    value: repeat(size(draw, 300), () => repeat(size(draw, 300), () => repeat(draw(4), (at) => at))),
  }),
  unevaluated: (draw) => ({
    schema: {
      allOf: repeat(size(draw, 200), () => ({ allOf: [{ additionalProperties: true }] })),
      unevaluatedProperties: false,
    },
    value: Object.fromEntries(repeat(size(draw, 5_000), (at) => [`k${at}`, at])),
  }),
  'wide objects': (draw) => ({
    schema: {
      items: {
        required: repeat(size(draw, 10_000), (at) => `k${at}`),
        minProperties: 1,
        propertyNames: { maxLength: 3 },
      },
    },
    value: repeat(size(draw, 2_000), () => ({ k1: 1 })),
  }),
  texts: (draw) => ({
    schema: {
      items: {
        maxLength: 5,
        minLength: 2,
        format: pick(draw, [
          'email',
          'uri',
          'url',
          'hostname',
          'date-time',
          'regex',
          'uri-template',
          'json-pointer',
          'ipv6',
          'duration',
          'uri-reference',
          'idn-email',
        ]),
      },
    },
    value: repeat(size(draw, 20), () => longText(draw)),
  }),
  addresses: (draw) => ({
    schema: nest(size(draw, 90), {}, (one) => ({
      $id: `https://x.example/${draw(1_000_000)}`,
      not: one,
    })) as JsonObject,
    value: 1,
  }),
  'many wrong items': (draw) => ({
    schema: { items: { type: 'string', minLength: 1 } },
    value: repeat(size(draw, 100_000), (at) => at),
  }),
  numbers: (draw) => ({
    schema: { items: { multipleOf: 1e-300, not: { multipleOf: 0.1 } } },
    value: repeat(size(draw, 20_000), (at) => (at + 1) * 1e300),
  }),
  dependencies: (draw) => ({
    schema: {
      items: {
        dependentSchemas: Object.fromEntries(repeat(size(draw, 2_000), (at) => [`k${at}`, { required: ['z'] }])),
      },
    },
    value: repeat(size(draw, 1_000), () => Object.fromEntries(repeat(20, (at) => [`k${at}`, at]))),
  }),
};

export const hostileCase = (seed: number): HostileCase => {
  const names = Object.keys(ways);
  const way = names[seed % names.length]!;
  return { way, ...ways[way]!(drawFrom(seed)) };
};
