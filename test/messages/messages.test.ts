// The messages for wrong values, word for word, one file for each way in. A message says where, what was expected, and the
// nearest key. A changed file is a changed message: read the difference before you accept it with `vitest -u`.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { defineAgent, defineTeam, openCloister } from 'cloister';
import { CloisterError } from '#base';
import type { Json } from '#base';
import { checkTokenFile, readConfigLayers } from '#adapters/config';
import { parseYaml } from '#adapters/yaml';
import type { Problem } from '#contracts';
import { parseAgentFile, parseTeamFile } from '#core/registry';
import { restRoutes } from '#headends/rest';
import { checkServerOptions } from '../../src/app/server-options.ts';
import { checkTokenEntries } from '../../src/app/serve/check-server-setup.ts';
import { openFakeService } from '../headends/anthropic/fake-service.ts';
import { call, serve } from '../headends/openai/driver.ts';
import { FakeService, send } from '../headends/rest/fake-service.ts';
import { scratchFolder } from '../scratch-folder.ts';
import { anthropicBodies, chatBodies, responseBodies } from './client-bodies.ts';
import { agentOptions, cloisterOptions, serverOptions, teamOptions, tokenEntries } from './code-options.ts';
import { agentFiles, configFiles, teamFiles, tokenFiles } from './files.ts';
import { restBodies, restQueries } from './rest-requests.ts';

const problemLine = ({ line, key, message, nearest }: Omit<Problem, 'file'>): string =>
  `  ${line ?? '-'} ${key ?? '-'}: ${message}${nearest === null ? '' : ` (${nearest}?)`}`;

/** The text of what a call throws or rejects with. */
const thrown = async (attempt: () => unknown): Promise<string> => {
  try {
    await attempt();
  } catch (error) {
    if (error instanceof CloisterError) return `  ${error.code}: ${(error.failure.detail ?? '').trim()}`;
    throw error;
  }
  return '  accepted';
};

type Kind = readonly [inputs: readonly unknown[], messages: (input: never) => string | Promise<string>];

const listed = (problems: readonly Omit<Problem, 'file'>[]): string => problems.map(problemLine).join('\n');

const members = ['ann', 'bob'].map((name) => defineAgent({ name, description: 'Works', prompt: '' }));
const rest = restRoutes(new FakeService(), { version: '1' });
const clients = { tools: true, system: true, activity: false };
const openai = serve({ clients });
const anthropic = openFakeService({ clients });

const readConfig = (text: string): string => {
  const cwd = mkdtempSync(join(scratchFolder(), 'messages-'));
  writeFileSync(join(cwd, '.ai-agent.json'), text);
  const { problems } = readConfigLayers({ cwd, home: '/nowhere', etc: '/nowhere', env: {} });
  rmSync(cwd, { recursive: true });
  return listed(problems);
};

const withRequired = (keys: string): string =>
  `---\ndescription: Works\nusage: a topic\noutput: { format: text }\n${keys}\n---\nWork.\n`;

const kinds: Readonly<Record<string, Kind>> = {
  'token-files': [tokenFiles, (text: string) => listed(checkTokenFile('tokens.json', text).problems)],
  'config-files': [configFiles, readConfig],
  'agent-files': [
    agentFiles,
    (keys: string) => listed(parseAgentFile('solo.ai', withRequired(keys), { parseYaml }).problems),
  ],
  'team-files': [
    teamFiles,
    (keys: string) => listed(parseTeamFile('crew.yaml', `agents: [./ann.ai, bob]\n${keys}\n`, { parseYaml }).problems),
  ],
  'agent-options': [
    agentOptions,
    (options: object) => thrown(() => defineAgent({ name: 'solo', description: 'Works', prompt: '', ...options })),
  ],
  'team-options': [
    teamOptions,
    (options: object) => thrown(() => defineTeam({ name: 'crew', agents: members, ...options })),
  ],
  'cloister-options': [
    cloisterOptions,
    (options: object) =>
      thrown(async () => (await openCloister({ agents: [], store: 'memory', ...options }))[Symbol.asyncDispose]()),
  ],
  'server-options': [serverOptions, (options: object) => thrown(() => checkServerOptions(options))],
  'token-entries': [
    tokenEntries,
    (entries: readonly object[]) => thrown(() => checkTokenEntries(entries as never, ['lead', 'scout'])),
  ],
  'rest-bodies': [
    restBodies,
    ([path, body]: readonly [string, Json]) => thrown(() => send(rest, 'POST', path, { body })),
  ],
  'rest-queries': [restQueries, (address: string) => thrown(() => send(rest, 'GET', address))],
  'chat-bodies': [chatBodies, (body: Json) => thrown(() => call(openai, 'POST /v1/chat/completions', { body }))],
  'response-bodies': [responseBodies, (body: Json) => thrown(() => call(openai, 'POST /v1/responses', { body }))],
  'anthropic-bodies': [anthropicBodies, (body: Json) => thrown(() => anthropic.call('POST /v1/messages', { body }))],
};

test.each(Object.keys(kinds))('%s', async (kind) => {
  const [inputs, messages] = kinds[kind]!;
  const parts: string[] = [];
  for (const input of inputs) {
    const shown = typeof input === 'string' ? input : JSON.stringify(input);
    const said = (await messages(input as never)).replaceAll(/^\s*$/gmu, '  -');
    parts.push(`${shown.slice(0, 400)}\n${said}\n`);
  }
  await expect(parts.join('\n')).toMatchFileSnapshot(`${kind}.txt`);
});
