// The events of a run by page, with chosen fields, and compressed: over a real server.
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { createGunzip, constants, gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defineAgent, defineTool } from 'cloister';
import type { DurableEvent } from 'cloister';
import { rehearse } from 'cloister/testkit';
import { acceptsGzip, openStreamEncoder } from '#testing/headends/http';
import { gatedAgent } from '../../app/serve/gated-agent.ts';
import { testRuns } from '../../test-seed.ts';
import { serveAgents } from '../http/driver.ts';

type Page = { readonly events: readonly DurableEvent[]; readonly next: string | null };

/** An agent that calls a tool many times. */
const busyAgent = (turns: number, calls: number) =>
  defineAgent({
    name: 'busy',
    description: 'Busy.',
    prompt: 'Work.',
    tools: [
      defineTool({
        name: 'nod',
        description: 'Nods.',
        inputSchema: { type: 'object', properties: {} },
        execute: () => 'Yes.',
      }),
    ],
    limits: { maxToolTurns: turns + 5, maxToolCallsPerTurn: calls },
    models: [
      rehearse([
        {
          when: ({ turn }) => turn <= turns,
          reply: { calls: Array.from({ length: calls }, () => ({ tool: 'nod', args: {} })) },
        },
        { reply: 'Done.' },
      ]),
    ],
  });

const openBusy = async (turns = 6, calls = 5) => {
  const served = await serveAgents({ agents: [busyAgent(turns, calls)] });
  const { run } = (await (await served.ask('/v1/busy', { json: { input: 'Go.' } })).json()) as { run: string };
  const { events } = await served.cloister.show(run, { sees: 'answers' });
  const page = async (query: string): Promise<Page> =>
    (await (await served.ask(`/v1/runs/${run}/events?${query}`)).json()) as Page;
  return { ...served, run, events, page };
};

/** A request by hand, whose body is as it was sent. */
const rawGet = (url: string, token: string, headers: Record<string, string>): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { headers: { authorization: `Bearer ${token}`, ...headers } }, resolve);
    onTestFinished(() => void sent.destroy());
    sent.on('error', reject);
    sent.end();
  });

const bytesOf = async (reply: IncomingMessage): Promise<Buffer> => {
  const parts: Buffer[] = [];
  for await (const part of reply) parts.push(part as Buffer);
  return Buffer.concat(parts);
};

describe('events by page', () => {
  test('are the events of the run, each once, for pages of any size', async () => {
    const { events, page } = await openBusy();
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: events.length + 3 }), async (limit) => {
        const read: DurableEvent[] = [];
        let after = '';
        for (;;) {
          const { events: some, next } = await page(`limit=${limit}${after}`);
          expect(some.length).toBeLessThanOrEqual(limit);
          read.push(...some);
          if (next === null) break;
          expect(next).toBe(some.at(-1)!.id);
          after = `&after=${encodeURIComponent(next)}`;
        }
        expect(read).toEqual(JSON.parse(JSON.stringify(events)));
      }),
      { numRuns: testRuns(30) },
    );
    expect(await page(`limit=5&after=${encodeURIComponent(events.at(-1)!.id)}`)).toEqual({ events: [], next: null });
  });

  test('are given to a client that accepts JSON and no streams; any other gets the stream', async () => {
    const { ask, run, events } = await openBusy();
    const typeFor = async (accept: string): Promise<string | null> => {
      const reply = await ask(`/v1/runs/${run}/events`, { headers: { accept } });
      await reply.text();
      return reply.headers.get('content-type');
    };
    expect(await typeFor('application/json')).toBe('application/json');
    for (const accept of ['*/*', 'text/event-stream', 'application/json, text/event-stream'])
      expect(await typeFor(accept)).toContain('text/event-stream');
    const all = await ask(`/v1/runs/${run}/events`, { headers: { accept: 'application/json' } });
    expect(await all.json()).toMatchObject({ events: events.map(({ id }) => ({ id })), next: null });
  });

  test('of a running run end with what is recorded, and go on from there', async () => {
    const { agent, gate } = gatedAgent();
    const { ask, cloister } = await serveAgents({ agents: [agent] });
    const { run } = (await (await ask('/v1/gated', { json: { input: 'Go.', wait: false } })).json()) as { run: string };
    await gate.arrived(1);
    const page = async (query: string): Promise<Page> =>
      (await (await ask(`/v1/runs/${run}/events?${query}`)).json()) as Page;
    const first = await page('limit=1000');
    expect(first.events.length).toBeGreaterThan(2);
    expect(first.next).toBeNull();
    gate.open();
    await (await ask(`/v1/runs/${run}/events`)).text();
    const rest = await page(`limit=1000&after=${encodeURIComponent(first.events.at(-1)!.id)}`);
    const { events } = await cloister.show(run);
    expect([...first.events, ...rest.events].map(({ id }) => id)).toEqual(events.map(({ id }) => id));
  });

  test('and streams have only the chosen fields, and always id and type', async () => {
    const { ask, run, events, page } = await openBusy();
    const { events: some } = await page('limit=1000&fields=cell,at,tool,unknown');
    expect(some).toEqual(
      events.map((event) => ({
        type: event.type,
        id: event.id,
        cell: event.cell,
        at: event.at,
        ...('tool' in event ? { tool: event.tool } : {}),
      })),
    );
    const text = await (await ask(`/v1/runs/${run}/events?fields=cell`)).text();
    const sent = [...text.matchAll(/^data: (.*)$/gmu)].slice(0, events.length).map(([, data]) => JSON.parse(data!));
    expect(sent).toEqual(events.map(({ type, id, cell }) => ({ type, id, cell })));
  });

  test.each([
    ['limit=0', 'limit'],
    ['limit=10001', 'limit'],
    ['limit=x', 'limit'],
    ['fields=', 'fields'],
    ['fields=cell,,at', 'fields'],
    ['fields=__proto__.x', 'fields'],
    ['limit=5&after=lead-1/99', 'id'],
  ])('refuse %s', async (query, word) => {
    const { ask, run } = await openBusy(1, 1);
    const reply = await ask(`/v1/runs/${run}/events?${query}`);
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(((await reply.json()) as { error: { message: string } }).error.message).toContain(word);
  });
});

describe('compression', () => {
  test('makes a page and a stream several times shorter, for clients that accept it', async () => {
    const { url, token, run } = await openBusy(20, 10);
    for (const [path, accept] of [
      ['?limit=1000', '*/*'],
      ['', 'text/event-stream'],
    ]) {
      const get = (encoding: Record<string, string>): Promise<IncomingMessage> =>
        rawGet(`${url}/v1/runs/${run}/events${path}`, token, { accept: accept!, ...encoding });
      const [plain, packed] = await Promise.all([get({}), get({ 'accept-encoding': 'gzip, deflate' })]);
      expect(plain.headers['content-encoding']).toBeUndefined();
      expect(packed.headers['content-encoding']).toBe('gzip');
      const [whole, short] = await Promise.all([bytesOf(plain), bytesOf(packed)]);
      expect(gunzipSync(short).toString()).toBe(whole.toString());
      expect(whole.length / short.length).toBeGreaterThan(3);
    }
  });

  test('is left out for short replies and for clients that refuse it', async () => {
    const { url, token, run } = await openBusy(20, 10);
    const encodingOf = async (path: string, accepted: string): Promise<string | undefined> =>
      (await rawGet(url + path, token, { 'accept-encoding': accepted })).headers['content-encoding'];
    expect(await encodingOf(`/v1/runs/${run}/events?limit=1`, 'gzip')).toBeUndefined();
    expect(await encodingOf(`/v1/runs/${run}/events?limit=100`, 'br')).toBeUndefined();
    expect(await encodingOf(`/v1/runs/${run}/events?limit=100`, 'gzip;q=0')).toBeUndefined();
    expect(await encodingOf(`/v1/runs/${run}/events?limit=100`, 'br, gzip;q=0.5')).toBe('gzip');
  });

  // invariant: compressed-stream-not-held-back
  test('holds no event back while the run works', async () => {
    const { agent, gate } = gatedAgent();
    const { url, token, ask, cloister } = await serveAgents({ agents: [agent] });
    const { run } = (await (await ask('/v1/gated', { json: { input: 'Go.', wait: false } })).json()) as { run: string };
    await gate.arrived(1);
    const { events } = await cloister.show(run);
    const reply = await rawGet(`${url}/v1/runs/${run}/events`, token, { 'accept-encoding': 'gzip' });
    const text = reply.pipe(createGunzip({ finishFlush: constants.Z_SYNC_FLUSH })).setEncoding('utf8');
    let read = '';
    const seen = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    text.on('data', (part: string) => {
      read += part;
      if (read.includes(`id: ${events.at(-1)!.id}\n`)) seen.resolve();
    });
    text.on('end', () => over.resolve());
    // The model has not answered yet, and the stream is open.
    await seen.promise;
    expect(read).not.toContain('event: outcome');
    gate.open();
    await over.promise;
    expect(read).toContain('event: outcome');
  });

  test('gives back any bytes, part by part', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(fc.uint8Array({ minLength: 1, maxLength: 100 }), fc.constant(new Uint8Array(300_000))), {
          maxLength: 12,
        }),
        async (parts) => {
          const encoder = openStreamEncoder();
          const sent: Uint8Array[] = [];
          for (const [place, part] of parts.entries()) {
            sent.push(await encoder.encode(part));
            const known = gunzipSync(Buffer.concat(sent), { finishFlush: constants.Z_SYNC_FLUSH });
            expect(known.equals(Buffer.concat(parts.slice(0, place + 1)))).toBe(true);
          }
          sent.push(await encoder.end());
          encoder.close();
          expect(gunzipSync(Buffer.concat(sent)).equals(Buffer.concat(parts))).toBe(true);
        },
      ),
      { numRuns: testRuns(60) },
    ));

  test.each([
    [null, false],
    ['', false],
    ['gzip', true],
    ['GZIP', true],
    ['deflate, gzip;q=1.0, *;q=0.5', true],
    ['gzip;q=0', false],
    ['gzip; q=0.000', false],
    ['identity', false],
    ['*', false],
  ])('for accept-encoding %s: %s', (header, isAccepted) => expect(acceptsGzip(header)).toBe(isAccepted));
});
