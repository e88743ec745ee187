// Bodies with as many small parts as allowed: each protocol parses them in linear time, or says what is wrong.
import { defineAgent } from 'cloister';
import type { ServerOptions } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { expect, test } from 'vitest';
import { serveAgents } from './driver.ts';

const serve = () => {
  const models = [rehearse([{ reply: 'Hi.' }], { keepRequests: false })];
  const lead = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead.', models });
  const defects: unknown[] = [];
  const log: ServerOptions['log'] = (line) => {
    if (line.type === 'request' && line.defect !== undefined) defects.push(line.defect);
  };
  return { defects, served: serveAgents({ agents: [lead], clients: { system: true, tools: true }, log }) };
};

const times = (count: number, item: string, last: string): string => `[${`${item},`.repeat(count)}${last}]`;
const messagesJson = (count: number, item: string, last = '{"role":"user","content":"a"}'): string =>
  `{"model":"lead","max_tokens":1,"messages":${times(count, item, last)}}`;
const call = (more: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lead","arguments":{"prompt":"x"${more}}}}`;

/** Each of these blocked or crashed the server when parsing took quadratic time. */
const bodies: readonly (readonly [what: string, path: string, body: string])[] = [
  ['turns of history', '/v1/lead', `{"input":"x","history":${times(33_000, '{"by":"person","text":"a"}', '{}')}}`],
  ['texts of context', '/v1/lead', `{"input":"x","context":${times(90_000, '"a"', '"a"')}}`],
  ['messages of one speaker', '/v1/messages', messagesJson(30_000, '{"role":"user","content":"a"}')],
  ['messages to count', '/v1/messages/count_tokens', messagesJson(30_000, '{"role":"user","content":"a"}')],
  ['answers of nothing', '/v1/messages/count_tokens', messagesJson(30_000, '{"role":"assistant","content":""}')],
  ['system messages', '/v1/messages', messagesJson(30_000, '{"role":"system","content":"a"}')],
  [
    'blocks of a system message',
    '/v1/messages',
    messagesJson(
      1,
      `{"role":"system","content":${times(33_000, '{"type":"text","text":"a"}', '{"type":"text","text":"a"}')}}`,
    ),
  ],
  [
    'results of tools',
    '/v1/messages',
    messagesJson(0, '', `{"role":"user","content":${times(33_000, '{"type":"tool_result","tool_use_id":"a"}', '{}')}}`),
  ],
  ['messages of a chat', '/v1/chat/completions', messagesJson(30_000, '{"role":"user","content":"a"}')],
  [
    'results in a chat',
    '/v1/chat/completions',
    messagesJson(24_000, '{"role":"tool","tool_call_id":"a","content":""}'),
  ],
  ['references to answers', '/v1/responses', `{"model":"lead","input":${times(49_000, '{"id":"msg_a"}', '{}')}}`],
  [
    'references and a question',
    '/v1/responses',
    `{"model":"lead","input":${times(49_000, '{"id":"msg_a"}', '{"role":"user","content":"x"}')}}`,
  ],
  ['thoughts', '/v1/responses', `{"model":"lead","input":${times(49_000, '{"type":"reasoning"}', '{}')}}`],
  ['unknown fields', '/v1/messages', `{${Array.from({ length: 99_000 }, (_, no) => `"f${no}":1`).join(',')}}`],
  ['arguments of a tool', '/mcp', call(`,"y":${times(99_000, '1', '1')}`)],
];

const post = async (served: Awaited<ReturnType<typeof serveAgents>>, path: string, body: string) => {
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const response = await served.ask(path, { method: 'POST', body, headers });
  return { status: response.status, text: await response.text() };
};

test.each(bodies)('many %s cause no internal error', async (_what, path, body) => {
  const { defects, served } = serve();
  const server = await served;
  const { status, text } = await post(server, path, body);
  expect(text).not.toContain('More than 100000 values');
  expect(status).toBeLessThan(500);
  expect(defects).toEqual([]);
});

// invariant: strict-json-bounded-values
test.each(['/v1/lead', '/v1/messages', '/v1/chat/completions', '/v1/responses', '/mcp'])(
  'a body with too many values is refused before it is parsed: %s',
  async (path) => {
    const { served } = serve();
    const server = await served;
    for (const body of [`{"x":${times(100_000, '1', '1')}}`, `[${'{},'.repeat(60_000)}{}]`])
      expect(await post(server, path, body)).toEqual({
        status: 400,
        text: expect.stringContaining('More than 100000 values.'),
      });
  },
);
