// Models whose API key is missing, and names of models that are probably misspelt.
import { expect, test } from 'vitest';
import type { RunEvent } from 'cloister';
import { openCloister } from 'cloister';
import { ai, check, createFolders } from './driver.ts';
import type { TestFolders } from './driver.ts';

/** Nothing listens on port 9, so `vault/first` never answers. */
const files = {
  'lead.ai': ai('models: [vault/first, played/second]\nagents: helper\nlimits: { maxRetries: 0 }'),
  'helper.ai': ai('models: [vault/first, played/second]\nlimits: { maxRetries: 0 }'),
  'script.yaml':
    'lines:\n  - when: { agent: helper }\n    reply: Helped.\n  - when: { turn: 1 }\n    reply: { calls: [{ tool: helper, args: { prompt: Go } }] }\n  - reply: Done.\n',
  '.ai-agent.json': {
    providers: {
      vault: { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1', apiKey: '${VAULT_KEY}' },
      played: { type: 'rehearsal', script: 'script.yaml' },
    },
  },
};
const withKey = { VAULT_KEY: 'k-3f9a8c1d7e5b2064' };

const open = ({ cwd, path }: TestFolders, env: Record<string, string>) =>
  openCloister({ agents: ['lead.ai'], workspace: path('.cloister'), cwd, env });

const attemptsOf = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === 'model-end' ? [`${event.model} ${event.error?.code ?? 'ok'}`] : []));

const record = async (folders: TestFolders, env: Record<string, string>) => {
  await using cloister = await open(folders, env);
  const session = cloister.run('lead', 'Do it');
  const events: RunEvent[] = [];
  for await (const event of session) events.push(event);
  expect(await session.outcome).toMatchObject({ status: 'completed', output: 'Done.', spent: { uncertain: 0 } });
  return { run: session.run, events };
};

test('a model whose key is missing is passed over, and the start of each session says so', async () => {
  const { events } = await record(createFolders(files), {});
  expect(attemptsOf(events)).toEqual(['played/second ok', 'played/second ok', 'played/second ok']);
  const starts = events.filter((event) => event.type === 'session-start');
  expect(starts.map(({ passedOver }) => passedOver)).toEqual([['vault/first'], ['vault/first']]);
  expect(JSON.stringify(starts)).not.toContain('VAULT_KEY');
});

test('a run that passed a model over continues without it, even if its key is there now', async () => {
  const folders = createFolders(files);
  const { run } = await record(folders, {});
  await using cloister = await open(folders, withKey);
  expect(await cloister.replay(run)).toMatchObject({ ok: true, differences: [] });
  const { cells } = await cloister.show(run);
  const fork = await cloister.fork(run, { at: `${cells[0]!.cell}/2` });
  const events: RunEvent[] = [];
  for await (const event of fork) events.push(event);
  expect(await fork.outcome).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(attemptsOf(events).every((attempt) => attempt === 'played/second ok')).toBe(true);
  expect(await cloister.audit(fork.run)).toMatchObject({ ok: true, problems: [] });
});

test('a run that had the key continues without it: its requests to that model fail and cost nothing', async () => {
  const folders = createFolders(files);
  const { run, events: before } = await record(folders, withKey);
  expect(attemptsOf(before).slice(0, 2)).toEqual(['vault/first model_network', 'played/second ok']);
  await using cloister = await open(folders, {});
  expect(await cloister.replay(run)).toMatchObject({ ok: true, differences: [] });
  const { cells } = await cloister.show(run);
  const fork = await cloister.fork(run, { at: `${cells[0]!.cell}/1` });
  const events: RunEvent[] = [];
  for await (const event of fork) events.push(event);
  expect(await fork.outcome).toMatchObject({ status: 'completed', output: 'Done.', spent: { uncertain: 0 } });
  expect(attemptsOf(events).slice(-2)).toEqual(['vault/first env_missing', 'played/second ok']);
});

test('only if no model is left is the run refused, and every missing variable is named', async () => {
  const { providers } = files['.ai-agent.json'];
  const other = { ...providers.vault, apiKey: '${OTHER_KEY}' };
  const folders = createFolders({
    ...files,
    'lead.ai': ai('models: [vault/first, other/second]'),
    '.ai-agent.json': { providers: { ...providers, other } },
  });
  await using without = await open(folders, {});
  expect(() => without.run('lead', 'Go.')).toThrow(
    /Missing: VAULT_KEY, OTHER_KEY; define in shell or \.ai-agent\.env/u,
  );
  await using cloister = await open(folders, withKey);
  const session = cloister.run('lead', 'Go.');
  session.cancel();
  await session.outcome;
});

test('a model that only summarises may lack its key: the agent works without summaries, and check warns', async () => {
  const folders = createFolders({
    ...files,
    'lead.ai': ai('models: played/second\nagents: helper\ncompaction: vault/first'),
    'helper.ai': ai('models: played/second'),
  });
  await record(folders, {});
  const { ok, warnings } = await check(folders, ['lead.ai']);
  expect(ok).toBe(true);
  expect(warnings.flatMap(({ code, agent }) => (code === 'model-passed-over' ? [agent] : []))).toEqual([
    'lead-compactor',
  ]);
});

test('check warns of a model that is passed over, and counts neither its price nor its reach', async () => {
  const priced = {
    ...files['.ai-agent.json'].providers.played,
    models: { second: { price: { input: 1, output: 1 } } },
  };
  const folders = createFolders({
    ...files,
    'lead.ai': files['lead.ai'].replace('limits:', 'budget: { usd: 9 }\nlimits:'),
    '.ai-agent.json': { providers: { ...files['.ai-agent.json'].providers, played: priced } },
  });
  const { ok, problems, warnings } = await check(folders, ['lead.ai']);
  expect({ ok, problems }).toEqual({ ok: true, problems: [] });
  // Each names its agent: the report for people shows the messages alone.
  const message = (agent: string) =>
    `\`${agent}\`: vault/first is passed over. Missing: VAULT_KEY; define in shell or .ai-agent.env.`;
  expect(warnings.filter(({ code }) => code === 'model-passed-over')).toEqual([
    { code: 'model-passed-over', agent: 'lead', message: message('lead') },
    { code: 'model-passed-over', agent: 'helper', message: message('helper') },
  ]);
});

test.for<[model: string, config: object, meant: string | null]>([
  ['openai/gpt-5-mnii', {}, 'openai/gpt-5-mini'],
  ['anthropic/claude-sonet-4-5', {}, 'anthropic/claude-sonnet-4-5'],
  ['google/gemini-2.5-flahs', {}, 'google/gemini-2.5-flash'],
  ['openai/gpt-5-mini', {}, null],
  ['openai/an-altogether-new-family', {}, null],
  // Another address may have other models, and what the config describes is known.
  ['openai/gpt-5-mnii', { openai: { type: 'openai', baseUrl: 'https://proxy.example/v1' } }, null],
  ['openai/gpt-5-mnii', { openai: { type: 'openai', models: { 'gpt-5-mnii': { contextTokens: 9 } } } }, null],
  ['ollama/qwen3:8bb', {}, null],
])('check of %s with %j suggests %s', async ([model, providers, meant]) => {
  const env = {
    OPENAI_API_KEY: 'k-1a2b3c4d5e6f7081',
    ANTHROPIC_API_KEY: 'k-2b3c4d5e6f708192',
    GOOGLE_API_KEY: 'k-3c4d5e6f',
  };
  const folders = createFolders(
    { 'lead.ai': ai(`models: ${model}`), '.ai-agent.json': { providers: providers as never } },
    { env },
  );
  const { ok, warnings } = await check(folders, ['lead.ai']);
  expect(ok).toBe(true);
  expect(warnings.flatMap(({ code, message }) => (code === 'model-unknown' ? [message] : []))).toEqual(
    meant === null
      ? []
      : [`\`lead\`: ${model} is not among the models that this version knows. Did you mean "${meant}"?`],
  );
});
