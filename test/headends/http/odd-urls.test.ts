// URLs, hosts and framings that no client needs: refused with a reason, in the format of the protocol concerned.
import { defineAgent } from 'cloister';
import { rehearse, virtualClock } from 'cloister/testkit';
import { expect, test } from 'vitest';
import { serveAgents } from './driver.ts';
import type { ServeOptions } from './driver.ts';
import { sendOnce, encodeHead, openRawConnection } from './raw-client.ts';

const startServer = async (options: Partial<ServeOptions> = {}) => {
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
])('a query that is not UTF-8 is refused: %s', async (path, status) => {
  const { ask } = await startServer();
  const response = await ask(path);
  const text = await response.text();
  expect(response.status, text).toBe(status);
  expect(text).toContain(status === 200 ? 'It was é x.' : 'UTF-8');
});

test('an absolute URL is refused if its host is', async () => {
  const { url, host, headers } = await startServer();
  const at = async (target: string) => (await sendOnce(url, { path: target, headers })).status;
  expect(await at(`http://${host}/v1/lead?q=x`)).toBe(200);
  expect(await at('http://evil.example/v1/lead?q=x')).toBe(403);
  expect(await at('http://evil.example:80/health')).toBe(403);
});

test('a body with a transfer encoding is refused', async () => {
  const { url, headers } = await startServer();
  const coded = [...headers, ['content-type', 'application/json'], ['transfer-encoding', 'gzip, chunked']] as const;
  const peer = await openRawConnection(url);
  peer.write(`${encodeHead({ method: 'POST', path: '/v1/lead', headers: coded })}f\r\n{"input": "hi"}\r\n0\r\n\r\n`);
  expect((await peer.nextReply()).status).toBe(415);
});

test.each<readonly [path: string, form: object]>([
  ['/v1/responses/resp_1/cancel', { error: { code: expect.any(String), type: expect.any(String), param: null } }],
  ['/v1/chat/completions/chatcmpl-1', { error: { code: expect.any(String), type: expect.any(String), param: null } }],
  ['/v1/messages/batches', { type: 'error', error: { type: 'not_found_error' } }],
  ['/mcp/more', { jsonrpc: '2.0', error: { code: -32_000 } }],
  ['/v1/runs/x/y/z', { error: { code: 'route_unknown', class: expect.any(String) } }],
  ['/elsewhere', { error: { code: 'route_unknown', class: expect.any(String) } }],
])('an unknown path gets the error format of the path above it: %s', async (path, form) => {
  const { ask } = await startServer();
  const response = await ask(path);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject(form);
});

test('a client that keeps sending after a refusal is cut off', async () => {
  const clock = virtualClock();
  const { url, headers } = await startServer({ clock, limits: { bodyBytesMax: 100 } });
  const peer = await openRawConnection(url);
  const chunked = [...headers, ['content-type', 'application/json'], ['transfer-encoding', 'chunked']] as const;
  peer.write(encodeHead({ method: 'POST', path: '/v1/lead', headers: chunked }));
  peer.write(`80\r\n${'x'.repeat(128)}\r\n`);
  expect((await peer.nextReply()).status).toBe(413);
  peer.write(`80\r\n${'x'.repeat(128)}\r\n`);
  await clock.advance(500);
  expect(await peer.ended).toBe('');
});
