// The least a hono server can do: it reads the same body and answers with the same JSON.
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import type { Ready } from './messages.ts';
import { reportUsage } from './report-usage.ts';
import { answerText } from '../models.ts';

const answer = {
  run: '0123456789ab',
  status: 'completed',
  output: answerText,
  data: null,
  error: null,
  spent: {
    inputTokens: 200,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: 20,
    usd: null,
    ms: 1,
    steps: 0,
    spawns: 0,
    uncertain: 0,
  },
  missing: [],
};

const app = new Hono();
app.post('/v1/:agent', async (c) => {
  const { input } = await c.req.json<{ input: string }>();
  return c.json(input === '' ? { error: 'empty' } : answer);
});
const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => {
  const { port } = server.address() as AddressInfo;
  process.send?.({ ready: { port, token: '' } } satisfies Ready);
});
reportUsage();
