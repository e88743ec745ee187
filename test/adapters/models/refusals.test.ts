// What a failed request costs, and how it is named, over real HTTP and in each vendor's own format of errors.
import { createServer } from 'node:http';
import { defineAgent, openCloister } from 'cloister';
import { afterEach, expect, test } from 'vitest';
import { connectModel } from '#adapters/models';
import { listen, providers, resolved } from './peer.ts';
import type { Provider } from './peer.ts';
import { cutEvents, errorEvent, eventsFor } from './wire.ts';

const all = Object.entries(providers as Record<string, Provider>);
const servers: ReturnType<typeof createServer>[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

type Respond = { readonly status: number } | { readonly events: readonly string[] };

/** The uncertain tokens of one request without retries, and the code of its failure. */
const uncertainAfter = async (provider: Provider, respond: Respond) => {
  const server = createServer((request, response) => {
    request.resume();
    if ('status' in respond)
      return void response
        .writeHead(respond.status, { 'content-type': 'application/json' })
        .end('{"error":{"message":"No.","type":"told_so"}}');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of respond.events) response.write(event);
    response.end();
  });
  servers.push(server);
  const language = connectModel(resolved(provider, await listen(server)), provider.modelId);
  const agent = defineAgent({
    name: 'comparer',
    description: 'Compares databases.',
    prompt: 'You compare databases.',
    models: [language],
    limits: { maxRetries: 0 },
  });
  await using cloister = await openCloister({ store: 'memory', agents: [agent] });
  const { run, outcome } = cloister.run('comparer', 'Compare SQLite and DuckDB');
  const { status, failure, spent } = await outcome;
  expect(status).toBe('failed');
  expect(await cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
  return { code: failure!.code, uncertain: spent.uncertain > 0 };
};

test.each(all)('%s: 500, 503 and 529 cost nothing; 502 and 504 are uncertain', async (_, provider) => {
  for (const status of [500, 503, 529])
    expect(await uncertainAfter(provider, { status }), `${status}`).toEqual({ code: 'model_server', uncertain: false });
  for (const status of [502, 504])
    expect(await uncertainAfter(provider, { status }), `${status}`).toEqual({ code: 'model_server', uncertain: true });
});

test.each(all)(
  '%s: an error event instead of a reply costs nothing; after its first words it is uncertain',
  async (_, provider) => {
    const { format } = provider;
    const overloaded = errorEvent(format);
    const opened = eventsFor(format, { text: 'Rows here, and columns', end: 'early' });
    const refused = await uncertainAfter(provider, { events: [overloaded] });
    expect(refused).toEqual({ code: 'model_server', uncertain: false });
    const torn = await uncertainAfter(provider, { events: [...opened, overloaded] });
    expect(torn).toEqual({ code: 'model_server', uncertain: true });
  },
);

test.each(all)('%s: a reply that ended for length without text is an error that says so', async (_, provider) => {
  const { code, uncertain } = await uncertainAfter(provider, { events: cutEvents(provider.format) });
  expect({ code, uncertain }).toEqual({ code: 'model_length', uncertain: false });
});

test('Anthropic: an error after the opening event is uncertain, because that event reports usage', async () => {
  const [opening] = eventsFor('messages', { text: 'Rows', end: 'early' });
  const { uncertain } = await uncertainAfter(providers.Anthropic, { events: [opening!, errorEvent('messages')] });
  expect(uncertain).toBe(true);
});
