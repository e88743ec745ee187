import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request as ask } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import * as library from '@modelcontextprotocol/server';
import { defineAgent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { expect, onTestFinished, test } from 'vitest';
import { routesFor } from '#testing/headends/mcp';
import { serveAgents } from '../http/driver.ts';
import { conformanceServer } from './conformance-server.ts';
import { routedApp, serveRoutes, testWorld } from './driver.ts';

const suite = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/dist/index.js'));

/** Which scenarios of the public suite a server passes, and which it does not. */
const runSuite = async (url: string): Promise<{ passed: string[]; failed: string[] }> => {
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile(process.execPath, [suite, 'server', '--url', url], { cwd: tmpdir() }, (_error, output) => resolve(output));
  const output = await promise;
  const marked = (sign: string): string[] =>
    [...output.matchAll(new RegExp(`^${sign} ([\\w-]+): `, 'gmu'))].map(([, name]) => name!);
  return { passed: marked('✓'), failed: marked('✗') };
};

/** Scenarios in which the server sends a request to the client during a call, which needs a session. */
const askTheClient = [
  'tools-call-sampling',
  'tools-call-elicitation',
  'elicitation-sep1034-defaults',
  'elicitation-sep1330-enums',
];

test('our transports pass the public conformance suite for servers without sessions', async () => {
  const { url, close } = await serveRoutes(routedApp(await routesFor(library, conformanceServer, testWorld())));
  onTestFinished(close);
  const { passed, failed } = await runSuite(`${await withToken(url, 'me')}/mcp`);
  expect(failed).toEqual(askTheClient);
  expect(passed).toHaveLength(26);
}, 60_000);

/** A proxy that adds the token to each request, because the suite cannot be given one. */
const withToken = async (url: string, token: string): Promise<string> => {
  const proxy = createServer((message, to) => {
    const headers = { ...message.headers, authorization: `Bearer ${token}` };
    const passed = ask(url + message.url, { method: message.method!, headers }, (response) => {
      to.writeHead(response.statusCode!, response.headers);
      response.pipe(to);
    });
    message.pipe(passed);
    passed.on('error', () => to.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => proxy.closeAllConnections());
  onTestFinished(() => void proxy.close());
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
};

test('a served Cloister passes the public conformance suite for servers with tools only', async () => {
  const nothing = { format: 'json', schema: { type: 'object', properties: {} } } as const;
  const helper = defineAgent({
    name: 'helper',
    description: 'Helps.',
    prompt: 'Help.',
    models: [rehearse([{ reply: 'Here.' }])],
  });
  const model = rehearse([
    { when: { agent: 'test_error_handling' }, reply: { fault: 401 } },
    {
      when: { agent: 'test_tool_with_progress', turn: 1 },
      reply: { calls: [{ tool: 'helper', args: { prompt: 'a' } }] },
    },
    {
      when: { agent: 'test_tool_with_progress', turn: 2 },
      reply: { calls: [{ tool: 'helper', args: { prompt: 'b' } }] },
    },
    { reply: { text: 'Done.', delayMs: 50 } },
  ]);
  const agents = ['test_simple_text', 'test_error_handling', 'test_tool_with_progress'].map((name) =>
    defineAgent({
      name,
      description: `It is ${name}.`,
      prompt: 'p',
      models: [model],
      input: nothing,
      agents: [helper],
    }),
  );
  const { url, token } = await serveAgents({ agents });
  const { passed } = await runSuite(`${await withToken(url, token)}/mcp`);
  expect(passed).toEqual([
    'server-initialize',
    'ping',
    'tools-list',
    'tools-call-simple-text',
    'tools-call-error',
    'tools-call-with-progress',
    'server-sse-multiple-streams',
    'dns-rebinding-protection',
  ]);
}, 60_000);
