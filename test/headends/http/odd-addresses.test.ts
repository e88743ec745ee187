// Addresses, hosts and framings that no client needs: told what is wrong with them, in the form of whoever they are meant for.
import { defineAgent } from 'cloister';
import { rehearse, virtualClock } from 'cloister/testkit';
import { expect, test } from 'vitest';
import { serveAgents } from './driver.ts';
import type { ServeOptions } from './driver.ts';
import { askOnce, headOf, openPeer } from './peer.ts';

const house = async (options: Partial<ServeOptions> = {}) => {
  const models = [rehearse([{ reply: ({ goal }) => `It was ${goal}.` }])];
  const lead = defineAgent({ name: 'lead', description: 'd', prompt: 'p', models });
  const served = await serveAgents({ agents: [lead], ...options });
  const host = new URL(served.url).host;
  const headers = [
    ['host', host],
    ['authorization', `Bearer ${served.token}`],
  ] as const;
  return { ...served, host, headers };
};

test.each([
  ['/v1/lead?q=%ff', 400],
  ['/v1/lead?q=%', 400],
  ['/v1/lead?q=%ed%a0%80', 400],
  ['/v1/lead?q=x&conversation=%fe', 400],
  ['/v1/lead?q=%C3%A9+x', 200],
])('a query is text in UTF-8, or it is refused: %s', async (path, status) => {
  const { ask } = await house();
  const response = await ask(path);
  const text = await response.text();
  expect(response.status, text).toBe(status);
  expect(text).toContain(status === 200 ? 'It was é x.' : 'UTF-8');
});

test('an address that names a host is refused like that host would be', async () => {
  const { url, host, headers } = await house();
  const at = async (target: string) => (await askOnce(url, { path: target, headers })).status;
  expect(await at(`http://${host}/v1/lead?q=x`)).toBe(200);
  expect(await at('http://evil.example/v1/lead?q=x')).toBe(403);
  expect(await at('http://evil.example:80/health')).toBe(403);
});

test('a body that is encoded on its way is refused', async () => {
  const { url, headers } = await house();
  const coded = [...headers, ['content-type', 'application/json'], ['transfer-encoding', 'gzip, chunked']] as const;
  const peer = await openPeer(url);
  peer.write(`${headOf({ method: 'POST', path: '/v1/lead', headers: coded })}f\r\n{"input": "hi"}\r\n0\r\n\r\n`);
  expect((await peer.reply()).status).toBe(415);
});

test.each<readonly [path: string, form: object]>([
  ['/v1/responses/resp_1/cancel', { error: { code: expect.any(String), type: expect.any(String), param: null } }],
  ['/v1/chat/completions/chatcmpl-1', { error: { code: expect.any(String), type: expect.any(String), param: null } }],
  ['/v1/messages/batches', { type: 'error', error: { type: 'not_found_error' } }],
  ['/mcp/more', { jsonrpc: '2.0', error: { code: -32_000 } }],
  ['/v1/runs/x/y/z', { error: { code: 'route_unknown', class: expect.any(String) } }],
  ['/elsewhere', { error: { code: 'route_unknown', class: expect.any(String) } }],
])('what is not there is told in the form of what lies above it: %s', async (path, form) => {
  const { ask } = await house();
  const response = await ask(path);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject(form);
});

test('whoever sends on after it was refused is cut off', async () => {
  const clock = virtualClock();
  const { url, headers } = await house({ clock, limits: { bodyBytesMax: 100 } });
  const peer = await openPeer(url);
  const chunked = [...headers, ['content-type', 'application/json'], ['transfer-encoding', 'chunked']] as const;
  peer.write(headOf({ method: 'POST', path: '/v1/lead', headers: chunked }));
  peer.write(`80\r\n${'x'.repeat(128)}\r\n`);
  expect((await peer.reply()).status).toBe(413);
  peer.write(`80\r\n${'x'.repeat(128)}\r\n`);
  await clock.advance(500);
  expect(await peer.ended).toBe('');
});
