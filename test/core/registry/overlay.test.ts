import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ConfigLayer, Overlay, ProviderConfig, ServerConfig } from '#contracts';
import { fillProvider, fillServer, missingVariablesMessage, overlayFor } from '#core/registry';
import { buildOverlay } from '#testing/core/registry';

const layer = (env: Record<string, string>, sidecar: Record<string, string>): ConfigLayer => ({
  source: 'a layer',
  folder: '/folder',
  providers: {},
  servers: {},
  defaults: {},
  agents: [],
  env,
  sidecar,
  plain: [],
});

const names = fc.constantFrom('A', 'B', 'C', 'D', '__proto__', 'constructor');
const values = fc.dictionary(names, fc.string(), { noNullPrototype: false });
const layersOf = fc.array(
  fc.tuple(values, values).map(([env, sidecar]) => layer(env, sidecar)),
  { maxLength: 4 },
);

test('a variable has its first value: from the run, then from the env blocks by layer, then from the sidecars by layer', () => {
  fc.assert(
    fc.property(fc.array(names), layersOf, fc.option(values), (asked, layers, given) => {
      const { overlay, missing } = buildOverlay(asked, layers, given ?? undefined);
      const all = [given ?? {}, ...layers.map(({ env }) => env), ...layers.map(({ sidecar }) => sidecar)].map(
        (map) => new Map(Object.entries(map)),
      );
      const expected = new Map<string, string>();
      for (const name of asked) {
        const found = all.map((map) => map.get(name)).find((value) => value !== undefined && value !== '');
        if (found !== undefined) expected.set(name, found);
      }
      expect(new Map(Object.entries(overlay))).toEqual(expected);
      expect(new Set(missing)).toEqual(new Set(asked.filter((name) => !expected.has(name))));
    }),
    { numRuns: 1000 },
  );
});

test('an overlay holds the requested variables, has no prototype and is read-only', () => {
  const { overlay } = buildOverlay(['KEY'], [layer({}, { KEY: 'value', OTHER: 'secret' })]);
  expect(Object.entries(overlay)).toEqual([['KEY', 'value']]);
  expect(Object.getPrototypeOf(overlay)).toBeNull();
  expect(() => Object.assign(overlay, { OTHER: 'x' })).toThrow(TypeError);
  expect(() => Object.assign(overlay, { KEY: 'x' })).toThrow(TypeError);
});

test('a missing variable is reported with what to do', () => {
  expect(missingVariablesMessage(['OPENAI_API_KEY'])).toBe('Missing: OPENAI_API_KEY; define in shell or .ai-agent.env');
  expect(missingVariablesMessage(['A', 'B'])).toBe('Missing: A, B; define in shell or .ai-agent.env');
});

test('a variable with a default everywhere it is used is not missing', () => {
  const declared: ServerConfig[] = [
    { type: 'stdio', command: 'x', args: ['${A:-1}', '${B:-2}', '${C:-}'] },
    { type: 'stdio', command: 'x', env: { B: '${B}' } },
  ];
  expect(overlayFor(declared, [layer({}, { C: 'set' })])).toEqual({ overlay: { C: 'set' }, missing: ['B'] });
});

const openai: ProviderConfig = { type: 'openai', apiKey: '${KEY}', baseUrl: 'https://${HOST:-api.test}/v1' };

test('a resolved provider has every field, as text', () => {
  expect(fillProvider('work', openai, { KEY: 'sk-1' })).toEqual({
    name: 'work',
    type: 'openai',
    apiKey: 'sk-1',
    baseUrl: 'https://api.test/v1',
    headers: {},
    api: 'responses',
  });
  const local: ProviderConfig = { type: 'ollama', baseUrl: 'http://127.0.0.1:1/v1', headers: { 'X-A': '${A} $${A}' } };
  expect(fillProvider('local', local, { A: '1' })).toMatchObject({ apiKey: '', headers: { 'X-A': '1 ${A}' } });
});

test('substituted values are not substituted again', () => {
  const overlay = { KEY: '${HOST} $& $1 $${', HOST: 'never' };
  expect(fillProvider('work', { ...openai, baseUrl: 'https://a.test' }, overlay).apiKey).toBe('${HOST} $& $1 $${');
});

const refusals: readonly (readonly [string, () => unknown, string, RegExp])[] = [
  ['a missing key', () => fillProvider('work', openai, {}), 'env_missing', /Missing: KEY; define in shell/u],
  [
    'a variable that only a prototype has',
    () => fillProvider('work', { ...openai, apiKey: '${toString}' }, {}),
    'env_missing',
    /Missing: toString/u,
  ],
  [
    'no base URL',
    () => fillProvider('mine', { type: 'openai-compatible' }, {}),
    'config_invalid',
    /providers\.mine\.baseUrl/u,
  ],
  ['a rehearsal', () => fillProvider('play', { type: 'rehearsal' }, {}), 'config_invalid', /providers\.play/u],
  [
    'a module',
    () => fillServer('tools', { type: 'module', module: './x.ts' }, {}, { folder: '/f', path: '' }),
    'config_invalid',
    /mcpServers\.tools/u,
  ],
  [
    'a server’s missing variable',
    () => fillServer('web', { type: 'http', url: 'https://${HOST}' }, {}, { folder: '/f', path: '' }),
    'env_missing',
    /Missing: HOST/u,
  ],
];

test.each(refusals)('rejected before anything starts: %s', (_name, fill, code, message) => {
  expect(fill).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) as string }) as Error);
});

const stdio = (part: object, overlay: Overlay = {}) =>
  fillServer('files', { type: 'stdio', command: 'run', ...part }, overlay, { folder: '/config', path: '/bin' });

test('a server’s process sees its declared environment and PATH, and nothing else', () => {
  const overlay = { TOKEN: 't', UNUSED: 'u' };
  const filled = stdio({ args: ['--t=${TOKEN}'], env: { A: '${TOKEN}', B: 'plain' }, trusted: true }, overlay);
  expect(filled).toEqual({
    name: 'files',
    type: 'stdio',
    command: 'run',
    args: ['--t=t'],
    env: { PATH: '/bin', A: 't', B: 'plain' },
    cwd: '/config',
    trusted: true,
  });
  expect(stdio({ env: { PATH: '/only/here' } })).toMatchObject({ env: { PATH: '/only/here' } });
});

test('a server runs in the folder of its config unless configured otherwise', () => {
  expect(stdio({ cwd: 'sub' })).toMatchObject({ cwd: '/config/sub' });
  expect(stdio({ cwd: '/elsewhere' })).toMatchObject({ cwd: '/elsewhere' });
});

test('variables in the address and headers of a remote server are substituted', () => {
  const config: ServerConfig = { type: 'sse', url: 'https://a.test/${P}', headers: { Authorization: 'Bearer ${T}' } };
  expect(fillServer('web', config, { P: 'p', T: 't' }, { folder: '/f', path: '' })).toEqual({
    name: 'web',
    type: 'sse',
    url: 'https://a.test/p',
    headers: { Authorization: 'Bearer t' },
  });
});
