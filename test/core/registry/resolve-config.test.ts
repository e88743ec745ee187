import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ConfigLayer, ProviderConfig, ServerConfig } from '#contracts';
import { resolveConfig, requiredVariables, listVariables } from '#core/registry';
import { builtinProviders } from '#testing/core/registry';

const layer = (source: string, part: Partial<ConfigLayer> = {}): ConfigLayer => ({
  source,
  folder: `/${source}`,
  providers: {},
  servers: {},
  defaults: {},
  agents: [],
  env: {},
  sidecar: {},
  plain: [],
  ...part,
});

test('the default agent comes from the first layer that names one', () => {
  expect(resolveConfig([layer('a'), layer('b')]).defaultAgent).toBeNull();
  const named = [layer('a'), layer('b', { defaultAgent: 'lead' }), layer('c', { defaultAgent: 'scout' })];
  expect(resolveConfig(named).defaultAgent).toBe('lead');
});

test('a limit of how long runs are kept comes from the first layer that has it, and an agent’s entry as a whole', () => {
  expect(resolveConfig([layer('a')]).keep).toBeNull();
  const near = layer('a', { keep: { days: 7, agents: { lead: { runs: 5 } } } });
  const far = layer('b', { keep: { days: 90, bytes: 10, agents: { lead: { days: 1 }, scout: { days: 2 } } } });
  expect(resolveConfig([near, layer('c'), far]).keep).toEqual({
    days: 7,
    bytes: 10,
    agents: { lead: { runs: 5 }, scout: { days: 2 } },
  });
});

const names = fc.constantFrom('one', 'two', 'three', 'openai', '__proto__', 'constructor', 'toString');
/** Own keys only, `__proto__` too. */
const mapOf = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> =>
  fc.dictionary(names, value, { noNullPrototype: false });

test('the first layer that has a name wins, separately for providers, servers and defaults', () => {
  const provider = fc.webUrl().map((baseUrl): ProviderConfig => ({ type: 'openai-compatible', baseUrl }));
  const server = fc.string().map((command): ServerConfig => ({ type: 'stdio', command }));
  const parts = fc.record({ providers: mapOf(provider), servers: mapOf(server), defaults: mapOf(fc.nat()) });
  fc.assert(
    fc.property(fc.array(parts, { maxLength: 4 }), (given) => {
      const layers = given.map((part, index) => layer(`layer-${index}`, part));
      const resolved = resolveConfig(layers);
      const kinds = { providers: { ...builtinProviders }, servers: {}, defaults: {} };
      for (const [kind, builtin] of Object.entries(kinds) as [keyof typeof kinds, object][]) {
        const all = new Set([...layers.flatMap((one) => Object.keys(one[kind])), ...Object.keys(builtin)]);
        expect(new Set(Object.keys(resolved[kind]))).toEqual(all);
        for (const name of all) {
          const first = layers.find((one) => Object.hasOwn(one[kind], name));
          const found = resolved[kind][name];
          if (kind === 'defaults') {
            expect(found).toBe(first!.defaults[name]);
            expect(resolved.defaultSources[name]).toBe(first!.source);
          } else {
            expect(found).toMatchObject({ source: first?.source ?? 'built in' });
            expect((found as { value: object }).value).toEqual(
              first === undefined ? expect.anything() : first[kind][name],
            );
          }
        }
        expect(Object.getPrototypeOf(resolved[kind])).toBeNull();
        expect(Object.isFrozen(resolved[kind])).toBe(true);
      }
    }),
    { numRuns: 200 },
  );
});

test('the spawn limit is the first number that a layer has, else the built-in one', () => {
  const number = fc.nat(50);
  const part = fc.record({ children: number, perMinute: number, depth: number }, { requiredKeys: [] });
  fc.assert(
    fc.property(fc.array(part, { maxLength: 4 }), (given) => {
      const { spawns } = resolveConfig(given.map((one, index) => ({ ...layer(`layer-${index}`), spawns: one })));
      for (const [key, builtIn] of Object.entries({ children: 10, perMinute: 5, depth: 3 } as const)) {
        const first = given.find((one) => Object.hasOwn(one, key)) as Record<string, number> | undefined;
        expect(spawns[key as keyof typeof spawns]).toBe(first === undefined ? builtIn : first[key]);
      }
    }),
  );
});

test('agents are searched in every layer, in order, each path with its folder; plain variables are merged', () => {
  const { agents, plain } = resolveConfig([
    layer('a', { agents: ['./x', '/y'], plain: ['ONE'] }),
    layer('b', { agents: ['./x'], plain: ['TWO', 'ONE'] }),
  ]);
  expect(agents).toEqual([
    { folder: '/a', path: './x' },
    { folder: '/a', path: '/y' },
    { folder: '/b', path: './x' },
  ]);
  expect(plain).toEqual(['ONE', 'TWO']);
});

test('without any configuration the well-known providers exist', () => {
  const { providers } = resolveConfig([]);
  expect(
    Object.fromEntries(Object.entries(providers).map(([name, { value }]) => [name, listVariables(value)])),
  ).toEqual({
    openai: ['OPENAI_API_KEY'],
    anthropic: ['ANTHROPIC_API_KEY'],
    google: ['GOOGLE_API_KEY'],
    openrouter: ['OPENROUTER_API_KEY'],
    ollama: [],
  });
  for (const { value } of Object.values(providers)) expect(URL.canParse(value.baseUrl!)).toBe(true);
});

test('a provider inherits missing fields from the built-in one of its type', () => {
  const { providers } = resolveConfig([
    layer('a', {
      providers: {
        work: { type: 'anthropic', apiKey: '${WORK_KEY}' },
        proxy: { type: 'openai', baseUrl: 'http://127.0.0.1:9/v1' },
        local: { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:8/v1' },
      },
    }),
  ]);
  expect(providers['work']!.value).toEqual({ ...builtinProviders.anthropic, apiKey: '${WORK_KEY}' });
  expect(providers['proxy']!.value).toEqual({ ...builtinProviders.openai, baseUrl: 'http://127.0.0.1:9/v1' });
  expect(providers['local']!.value).toEqual({ type: 'openai-compatible', baseUrl: 'http://127.0.0.1:8/v1' });
});

test('variables are substituted in the declared fields only', () => {
  const provider: ProviderConfig = {
    type: 'openai',
    apiKey: '${A}',
    baseUrl: 'https://${B}/${A}',
    headers: { '${NO}': '${C:-x} $${NO} $NO ${N-O} ${}' },
    script: '${NO}',
    models: { '${NO}': {} },
  };
  expect(listVariables(provider)).toEqual(['A', 'B', 'C']);
  expect(requiredVariables(provider)).toEqual(['A', 'B']);
  const stdio: ServerConfig = {
    type: 'stdio',
    command: '${NO}',
    cwd: '${NO}',
    args: ['a${D}b'],
    env: { '${NO}': '${E}' },
    tools: ['${NO}'],
  };
  expect(listVariables(stdio)).toEqual(['D', 'E']);
  expect(listVariables({ type: 'websocket', url: 'wss://${F}', headers: { Cookie: '${G}' } })).toEqual(['F', 'G']);
  expect(listVariables({ type: 'module', module: '${NO}' })).toEqual([]);
});
