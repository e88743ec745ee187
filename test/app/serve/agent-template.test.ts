// The frontmatter of an agent over HTTP.
// invariant: service-others-unknown
import { expect, onTestFinished, test } from 'vitest';
import { defineAgent, hashToken, openCloister, openServer } from 'cloister';
import type { JsonObject } from '#base';
import { rehearse } from 'cloister/testkit';
import { agentHelp } from '../../../src/app/agents/agent-help.ts';
import { ai, createFolders } from '../driver.ts';
import { getRequest } from './local-requests.ts';

const key = 'sk-5f1b8d1e7c2a4f6099aa';
const files = {
  'lead.ai': ai('models: mine/small\nmaxToolTurns: 7'),
  'vault.ai': ai('models: mine/small'),
  '.ai-agent.json': {
    providers: { mine: { type: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1', apiKey: key } },
    defaults: { temperature: 0.5 },
  },
};

const tokens = [
  { name: 'ana', sha256: hashToken('ana'), agents: ['lead', 'coded'] },
  { name: 'bob', sha256: hashToken('bob') },
  { name: 'eve', sha256: hashToken('eve'), may: ['watch'] },
] as const;

const serve = async () => {
  const folders = createFolders(files);
  const models = [rehearse([{ reply: 'Done.' }])];
  const coded = defineAgent({ name: 'coded', description: 'Is made in code.', prompt: 'Work.', models });
  const paths = ['lead.ai', 'vault.ai'].map((name) => folders.path(name));
  const config = folders.path('.ai-agent.json');
  const cloister = await openCloister({ agents: [...paths, coded], config, store: 'memory' });
  const server = await openServer(cloister, { tokens });
  onTestFinished(async () => {
    await server.stop(0);
    await cloister.close();
  });
  const get = async (token: string, path: string) => {
    const response = await server.fetch(getRequest(path, token));
    return { status: response.status, body: (await response.json()) as JsonObject };
  };
  return { cloister, folders, get };
};

test('a caller reads the frontmatter of an agent that it may run, as help shows it, without the folders of the machine', async () => {
  const { get, folders, cloister } = await serve();
  const { status, body } = await get('ana', '/v1/agents/lead/template');
  expect([status, body['agent']]).toEqual([200, 'lead']);
  const template = body['template'] as string;
  expect(template).toMatch(/maxToolTurns: 7\s+# this file/u);
  expect(template).toMatch(/temperature: 0.5\s+# from .ai-agent.json\n/u);
  expect(template).not.toContain(folders.path(''));
  expect(template).not.toContain(key);
  const { template: shown } = await agentHelp('lead.ai', folders);
  const values = (text: string): string => text.replaceAll(/ *# .*/gu, '').replaceAll(/\n+/gu, '\n');
  expect(values(template)).toBe(values(shown));
  expect(cloister.template('lead')).toBe(template);
});

test('an agent that was made in code has none', async () => {
  const { get } = await serve();
  expect(await get('ana', '/v1/agents/coded/template')).toEqual({
    status: 200,
    body: { agent: 'coded', template: null },
  });
});

test('an agent that the caller may not run is as unknown as one that does not exist', async () => {
  const { get } = await serve();
  expect((await get('bob', '/v1/agents/vault/template')).status).toBe(200);
  const texts = await Promise.all(
    ['vault', 'walls'].map(async (name) => {
      const { status, body } = await get('ana', `/v1/agents/${name}/template`);
      return JSON.stringify([status, body]).replaceAll(name, '…');
    }),
  );
  expect(texts[0]).toContain('agent_unknown');
  expect(texts[0]).toBe(texts[1]);
});

test.each(['..%2Fvault', '%2Fetc%2Fpasswd', 'vault.ai', '.%2Flead.ai', '__proto__', '%00'])(
  'a name is never a path: %s',
  async (name) => {
    const { get } = await serve();
    const { status } = await get('ana', `/v1/agents/${name}/template`);
    expect([400, 404]).toContain(status);
  },
);

test('a token that only watches may run no agent, so it reads none', async () => {
  const { get } = await serve();
  const { status, body } = await get('eve', '/v1/agents/lead/template');
  expect([status, body['error']]).toMatchObject([403, { code: 'watch_only' }]);
});
