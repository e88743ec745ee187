import { fileURLToPath } from 'node:url';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { openCloister } from 'cloister';
import type { ConfigLayer, ProviderConfig } from '#contracts';
import { overlayFor, listVariables } from '#core/registry';
import { chatResponse, withFetch } from './fake-wire.ts';
import type { Sent } from './fake-wire.ts';
import { listenLoopback } from './loopback.ts';
import { aiFile, temporaryFolder } from './temporary-folder.ts';

const serverScript = fileURLToPath(new URL('recording-stdio-server.js', import.meta.url));
const before = { ...process.env };

afterEach(() => {
  for (const name of Object.keys(process.env)) if (before[name] === undefined) delete process.env[name];
  Object.assign(process.env, before);
});

// ---- variables that real providers and tools read if they are available

const poisoned = [
  'OPENAI_API_KEY OPENAI_BASE_URL OPENAI_ORGANIZATION OPENAI_ORG_ID OPENAI_PROJECT OPENAI_PROJECT_ID OPENAI_LOG',
  'ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_BASE_URL ANTHROPIC_CUSTOM_HEADERS ANTHROPIC_MODEL',
  'GOOGLE_API_KEY GOOGLE_GENERATIVE_AI_API_KEY GEMINI_API_KEY GOOGLE_APPLICATION_CREDENTIALS GOOGLE_VERTEX_PROJECT',
  'OPENROUTER_API_KEY OPENROUTER_BASE_URL OLLAMA_HOST OLLAMA_API_KEY OLLAMA_BASE_URL OPENAI_COMPATIBLE_API_KEY',
  'AI_GATEWAY_API_KEY VERCEL_OIDC_TOKEN AZURE_API_KEY AZURE_OPENAI_API_KEY MISTRAL_API_KEY GROQ_API_KEY COHERE_API_KEY',
  'AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN GITHUB_TOKEN GH_TOKEN NPM_TOKEN SLACK_BOT_TOKEN',
  'DATABASE_URL DEPLOY_TOKEN SECRET PASSWORD SESSION_COOKIE SSH_AUTH_SOCK MCP_TOKEN API_KEY TOKEN OWN_KEY_2',
]
  .join(' ')
  .split(' ');

const poison = (): void => {
  for (const name of poisoned)
    process.env[name] = /URL|HOST/u.test(name) ? `http://127.0.0.1:9/poison-${name}` : `poison-${name}-0123456789`;
};

const providerTypes = ['openai', 'anthropic', 'google', 'openrouter', 'ollama', 'openai-compatible'] as const;

/** An agent for each kind of provider, all at the given address, and one whose server returns its environment. */
const everyProvider = async (url: string) =>
  temporaryFolder({
    '.ai-agent.json': {
      providers: Object.fromEntries(
        providerTypes.map((type) => [
          `my-${type}`,
          { type, baseUrl: `${url}/${type}`, ...(type !== 'ollama' && { apiKey: '${OWN_KEY}' }) },
        ]),
      ),
      mcpServers: {
        recorder: {
          command: process.execPath,
          args: [serverScript, './told', ''],
          env: { OWN: 'of-the-server', GIVEN: '${OWN_KEY}' },
        },
      },
    },
    '.ai-agent.env': 'OWN_KEY=own-key-of-the-config\n',
    ...Object.fromEntries(
      providerTypes.map((type) => [
        `with-${type}.ai`,
        aiFile({
          models: [`my-${type}/m`],
          limits: { maxRetries: 0 },
          ...(type === 'openai' && { tools: ['recorder'] }),
        }),
      ]),
    ),
  });

const recordsOf = async (folder: string): Promise<{ argv: string[]; env: Record<string, string> }[]> => {
  const files = await readdir(join(folder, 'told'));
  const texts = await Promise.all(files.map((name) => readFile(join(folder, 'told', name), 'utf8')));
  return texts.map((words) => JSON.parse(words.split('\n')[0]!));
};

test.each([
  ['that was given', { PATH: '/usr/bin:/bin', OTHER: 'given-but-not-named' }],
  ['of the process', undefined],
])(
  'nothing of the environment %s is sent to a provider or inherited by a server unless config names it',
  async (_, env) => {
    await using server = await listenLoopback((_arrived, to) =>
      to.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"no"}}'),
    );
    await using folder = await everyProvider(server.url);
    poison();
    const [object, content] = [process.env, { ...process.env }];
    await using cloister = await openCloister({
      store: 'memory',
      agents: ['.'],
      cwd: folder.path,
      ...(env !== undefined && { env }),
    });
    const names = cloister.agents.map(({ name }) => name).sort();
    for (const name of names) await cloister.run(name, 'Go.').outcome;

    expect(new Set(server.arrived.map(({ url }) => url.split('/')[1]))).toEqual(new Set(providerTypes));
    expect(server.arrived).toHaveLength(providerTypes.length);
    expect(JSON.stringify(server.arrived)).not.toMatch(/poison|given-but-not-named/u);
    for (const { url, headers } of server.arrived)
      expect(JSON.stringify(headers).includes('own-key-of-the-config'), url).toBe(!url.startsWith('/ollama'));
    const processes = await recordsOf(folder.path);
    expect(processes.map((one) => one.env)).toEqual([
      { PATH: env?.PATH ?? content['PATH'], OWN: 'of-the-server', GIVEN: 'own-key-of-the-config' },
    ]);
    expect(processes[0]!.argv).toEqual([serverScript, './told', '']);
    expect(process.env).toBe(object);
    expect({ ...process.env }).toEqual(content);
  },
);

test('a variable of the process is used only where config names it', async () => {
  await using server = await listenLoopback((_arrived, to) => to.writeHead(400).end());
  await using folder = await temporaryFolder({
    '.ai-agent.json': {
      providers: {
        one: { type: 'openai', baseUrl: `${server.url}/one`, apiKey: '${OPENAI_API_KEY}' },
        other: { type: 'anthropic', baseUrl: `${server.url}/other`, apiKey: '${DEPLOY_TOKEN}' },
      },
    },
    'one.ai': aiFile({ models: ['one/m'] }),
    'other.ai': aiFile({ models: ['other/m'] }),
  });
  poison();
  await using cloister = await openCloister({ store: 'memory', agents: ['.'], cwd: folder.path });
  for (const name of ['one', 'other']) await cloister.run(name, 'Go.').outcome;
  const used = server.arrived.map(({ headers }) => JSON.stringify(headers).match(/poison-\w+/gu));
  expect(used).toEqual([['poison-OPENAI_API_KEY'], ['poison-DEPLOY_TOKEN']]);
});

test('a given environment replaces that of the process: what it lacks is missing', async () => {
  await using folder = await temporaryFolder({ 'one.ai': aiFile({ models: ['openai/gpt-5'] }) });
  poison();
  await using cloister = await openCloister({ store: 'memory', agents: ['one.ai'], cwd: folder.path, env: {} });
  expect(() => cloister.run('one', 'Go.')).toThrow('Missing: OPENAI_API_KEY; define in shell or .ai-agent.env');
});

test('a session sends what its environment was when Cloister was opened, whatever has changed since', async () => {
  await using folder = await temporaryFolder({
    '.ai-agent.json': {
      providers: { my: { type: 'openai-compatible', baseUrl: 'http://x.invalid', apiKey: '${KEY}' } },
    },
    'one.ai': aiFile({ models: ['my/m'] }),
  });
  const env: Record<string, string> = { KEY: 'key-at-the-beginning' };
  const keys: (string | undefined)[] = [];
  await withFetch(
    ({ headers }) => {
      keys.push(headers['authorization']);
      return chatResponse({ text: 'Done.' });
    },
    async () => {
      await using cloister = await openCloister({ store: 'memory', agents: ['one.ai'], cwd: folder.path, env });
      env['KEY'] = process.env['KEY'] = 'key-of-later-on';
      for (const _ of [1, 2]) await cloister.run('one', 'Go.').outcome;
    },
  );
  expect(keys).toEqual(['Bearer key-at-the-beginning', 'Bearer key-at-the-beginning']);
});

test('loading tool modules leaves no listener behind', async () => {
  await using folder = await temporaryFolder({
    '.ai-agent.json': { mcpServers: { kit: { type: 'module', module: './kit.mjs' } } },
    'kit.mjs': `export default [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object' }, execute: () => '' }];`,
    'one.ai': aiFile({ tools: ['kit'] }),
  });
  const listeners = process.listenerCount('beforeExit');
  const cloister = await openCloister({ store: 'memory', agents: ['one.ai'], cwd: folder.path, env: {} });
  await cloister.close();
  expect(process.listenerCount('beforeExit')).toBe(listeners);
});

// ---- two agents, one name, two values

const folderNames = ['north', 'south'] as const;

/** Both folders have an agent `one`, which asks its own `helper`; both use the same names for everything. */
const openTwoFolders = async () => {
  const config = (house: string) => ({
    providers: {
      my: {
        type: 'openai-compatible',
        baseUrl: `http://${house}.invalid/v1`,
        apiKey: '${KEY}',
        headers: { 'x-region': '${REGION}' },
      },
    },
  });
  const files = folderNames.map((house) => ({
    [`${house}/.ai-agent.json`]: config(house),
    [`${house}/.ai-agent.env`]: `KEY=key-of-${house}-0123456789\nREGION="region of ${house}"\n`,
    [`${house}/from-${house}.ai`]: aiFile({ models: ['my/m'], agents: ['helper'] }, `You are of ${house}.`),
    [`${house}/helper.ai`]: aiFile({ models: ['my/m'] }, `You help in ${house}.`),
  }));
  return temporaryFolder({ 'here/README.md': 'Nothing.', ...files[0], ...files[1] });
};

test('parallel sessions with different values for the same variable each send their own', async () => {
  await using folder = await openTwoFolders();
  await using cloister = await openCloister({
    store: 'memory',
    agents: folderNames.map((house) => `../${house}/from-${house}.ai`),
    cwd: join(folder.path, 'here'),
    env: { KEY: 'key-of-the-shell', REGION: 'region of the shell' },
  });
  const turns = fc.array(fc.nat(6), { minLength: 24, maxLength: 24 });
  const order = fc.array(fc.constantFrom(...folderNames), { minLength: 4, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(turns, order, async (hops, starts) => {
      const sent: Sent[] = [];
      const answer = async (one: Sent) => {
        for (let hop = hops[sent.push(one) % hops.length]!; hop > 0; hop--) await setImmediate();
        const { messages } = JSON.parse(one.body) as { messages: { role: string; content: string }[] };
        const asks = messages[0]!.content.startsWith('You are of') && messages.at(-1)!.role === 'user';
        const call = { id: 'call_0', name: 'helper', input: '{"prompt":"Help."}' };
        return chatResponse(asks ? { calls: [call] } : { text: 'Done.' });
      };
      const outcomes = await withFetch(answer, () =>
        Promise.all(starts.map((house) => cloister.run(`from-${house}`, 'Go.').outcome)),
      );
      expect(outcomes.map(({ status }) => status)).toEqual(starts.map(() => 'completed'));
      // Each agent asks its helper, the helper answers, and the agent answers.
      expect(sent).toHaveLength(3 * starts.length);
      for (const { host, headers, body } of sent) {
        const house = host.split('.')[0];
        expect(headers).toMatchObject({
          authorization: `Bearer key-of-${house}-0123456789`,
          'x-region': `region of ${house}`,
        });
        expect(body).toMatch(new RegExp(`You (?:are of|help in) ${house}`, 'u'));
      }
    }),
    { numRuns: 60 },
  );
});

// invariant: mcp-process-environment
test('a child’s server has only the variables of the child’s config, whatever its parent’s has', async () => {
  const path = { PATH: '/usr/bin:/bin' };
  const server = (variable: string) => ({
    command: process.execPath,
    args: [serverScript, '../told', '', `--mine=\${${variable}}`],
    env: { [variable]: `\${${variable}}`, BOTH: '${BOTH}' },
  });
  const provider = (name: string) => ({ my: { type: 'openai-compatible', baseUrl: `http://${name}.invalid/v1` } });
  await using folder = await temporaryFolder({
    'lead/.ai-agent.json': { providers: provider('lead'), mcpServers: { recorder: server('LEAD_TOKEN') } },
    'lead/.ai-agent.env': 'LEAD_TOKEN=token-of-the-lead\nBOTH=both-of-the-lead\n',
    'lead/lead.ai': aiFile({ models: ['my/m'], tools: ['recorder'], agents: ['../child/child.ai'] }),
    'child/.ai-agent.json': { providers: provider('child'), mcpServers: { recorder: server('CHILD_TOKEN') } },
    'child/.ai-agent.env': 'CHILD_TOKEN=token-of-the-child\nBOTH=both-of-the-child\n',
    'child/child.ai': aiFile({ models: ['my/m'], tools: ['recorder'] }),
    'here/README.md': 'Nothing.',
  });
  const answer = ({ host, body }: Sent) => {
    const first = !body.includes('"role":"assistant"');
    const name = host === 'lead.invalid' ? 'child' : 'recorder__count';
    return chatResponse(first ? { calls: [{ id: 'call_0', name, input: '{"prompt":"Help."}' }] } : { text: 'Done.' });
  };
  await withFetch(answer, async () => {
    await using cloister = await openCloister({
      store: 'memory',
      agents: ['../lead/lead.ai', '../child/child.ai'],
      cwd: join(folder.path, 'here'),
      env: { ...path, LEAD_TOKEN: 'shell', CHILD_TOKEN: 'shell', BOTH: 'shell' },
    });
    expect((await cloister.run('lead', 'Go.').outcome).status).toBe('completed');
  });
  const processes = await recordsOf(folder.path);
  expect(processes.map(({ argv, env }) => ({ argv: argv.at(-1), env })).sort(byToken)).toEqual([
    {
      argv: '--mine=token-of-the-child',
      env: { ...path, BOTH: 'both-of-the-child', CHILD_TOKEN: 'token-of-the-child' },
    },
    { argv: '--mine=token-of-the-lead', env: { ...path, BOTH: 'both-of-the-lead', LEAD_TOKEN: 'token-of-the-lead' } },
  ]);
});

const byToken = (one: { argv: string | undefined }, other: { argv: string | undefined }): number =>
  String(one.argv) < String(other.argv) ? -1 : 1;

// ---- the overlay itself

test('an overlay is frozen, has no prototype, and holds only the variables that are named and set', () => {
  const name = fc.constantFrom('A', 'B', 'C_KEY', 'D_TOKEN', 'PATH', 'constructor', 'toString');
  const values = fc.dictionary(name, fc.string({ maxLength: 8 }), { maxKeys: 5 });
  const layer = fc.record({ env: values, sidecar: values }).map((given): ConfigLayer => ({ ...emptyLayer, ...given }));
  const field = fc.array(name, { maxLength: 3 }).map((names) => names.map((one) => `\${${one}}`).join('-'));
  const provider = fc
    .record({ apiKey: field, baseUrl: field })
    .map((given): ProviderConfig => ({ type: 'openai-compatible', ...given }));
  fc.assert(
    fc.property(fc.array(provider, { maxLength: 3 }), fc.array(layer, { maxLength: 3 }), (declared, layers) => {
      const { overlay, missing } = overlayFor(declared, layers);
      const named = [...new Set(declared.flatMap(listVariables))];
      const set = (one: string) =>
        [...layers.map(({ env }) => env), ...layers.map(({ sidecar }) => sidecar)]
          .filter((place) => Object.hasOwn(place, one))
          .map((place) => place[one]!)
          .find((value) => value !== '');
      expect(Object.isFrozen(overlay)).toBe(true);
      expect(Object.getPrototypeOf(overlay)).toBe(null);
      expect({ ...overlay }).toEqual(
        Object.fromEntries(named.flatMap((one) => (set(one) === undefined ? [] : [[one, set(one)]]))),
      );
      expect([...missing].sort()).toEqual(named.filter((one) => set(one) === undefined).sort());
    }),
  );
});

const emptyLayer: ConfigLayer = {
  source: 'a test',
  folder: '/',
  providers: {},
  servers: {},
  defaults: {},
  agents: [],
  env: {},
  sidecar: {},
  plain: [],
};
