// invariant: contents-by-token
import { expect, test } from 'vitest';
import { defineAgent, hashToken, openCloister, openServer } from 'cloister';
import type { DurableEvent, Transcript } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { RequestView, ScriptedReply } from 'cloister/testkit';
import type { JsonObject } from '#base';
import { transcriptFrom } from '#core/events';

const url = 'http://127.0.0.1:1';
const long = 'All of it. '.repeat(3_000);

const search = {
  name: 'search',
  description: 'Searches.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } } as JsonObject,
  execute: ({ text }: JsonObject) => {
    if (text === 'nothing') throw new Error('ENOENT: no such file');
    return long;
  },
};

/** An agent that searches twice, once in vain, with callers that see more and less. */
const serve = async () => {
  const calls = ['all', 'nothing'].map((text) => ({ tool: 'search', args: { text } }));
  const reply = ({ turn }: RequestView): ScriptedReply =>
    turn === 1 ? { text: 'I search.', calls } : { text: 'Found.' };
  const lead = defineAgent({
    name: 'lead',
    description: 'Leads.',
    prompt: 'Lead.',
    models: [rehearse([{ reply }])],
    tools: [search],
  });
  const cloister = await openCloister({ agents: [lead], store: 'memory' });
  const tokens = [
    { name: 'ana', sha256: hashToken('ana'), sees: 'contents' },
    { name: 'bob', sha256: hashToken('bob'), sees: 'contents' },
    { name: 'cyn', sha256: hashToken('cyn'), sees: 'causes' },
    { name: 'dan', sha256: hashToken('dan') },
    { name: 'owner', sha256: hashToken('owner'), operator: true },
  ] as const;
  const server = await openServer(cloister, { tokens });
  const send = async (token: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, host: '127.0.0.1:1', 'content-type': 'application/json' };
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await server.fetch(new Request(`${url}${path}`, { ...init, headers }));
    return { status: response.status, text: await response.text() };
  };
  const ask = async (token: string): Promise<string> =>
    (JSON.parse((await send(token, '/v1/lead', { input: 'Go.' })).text) as { run: string }).run;
  return { cloister, server, send, ask };
};

const eventsIn = (text: string): readonly DurableEvent[] =>
  [...text.matchAll(/^data: (?<json>.*)$/gmu)]
    .map(({ groups }) => JSON.parse(groups!['json']!) as DurableEvent)
    .filter(({ id }) => id !== undefined);

test('a caller that sees contents reads the transcripts of its own runs, and of no other', async () => {
  const { cloister, server, send, ask } = await serve();
  for (const token of ['ana', 'owner']) {
    const run = await ask(token);
    const { status, text } = await send(token, `/v1/runs/${run}/transcript`);
    const transcript = JSON.parse(text) as Transcript;
    expect([status, transcript]).toEqual([200, await cloister.transcript(run)]);
    const [cell] = transcript.cells;
    expect(cell!.entries[0]!.shown.at(-1)).toMatchObject({ origin: 'from your request', text: 'Your task: Go.' });
    const [found, missed] = cell!.entries[0]!.results;
    expect(found).toMatchObject({
      tool: 'search',
      args: '{"text":"all"}',
      output: { bytes: long.length, whole: false },
    });
    expect(missed).toMatchObject({ result: null, error: { code: 'tool_failed', detail: 'ENOENT: no such file' } });
    const full = JSON.parse((await send(token, `/v1/runs/${run}/transcript?full=true&cell=${cell!.cell}`)).text);
    expect(full.cells[0].entries[0].results[0].output).toMatchObject({ text: long, whole: true });
    for (const path of ['transcript', `transcript?cell=${cell!.cell}`, 'events?details=true'])
      expect(await send('bob', `/v1/runs/${run}/${path}`)).toMatchObject({ status: 404 });
    const own = await ask('bob');
    expect(await send('bob', `/v1/runs/${own}/transcript?cell=${cell!.cell}`)).toMatchObject({
      status: 404,
      text: expect.stringContaining('cell_unknown'),
    });
  }
  await server.stop(0);
  await cloister.close();
});

test.each(['cyn', 'dan'])('%s, who may not see contents, is told so, and gets events without them', async (token) => {
  const { cloister, server, send, ask } = await serve();
  const run = await ask(token);
  for (const path of ['transcript', 'events?details=true']) {
    const { status, text } = await send(token, `/v1/runs/${run}/${path}`);
    expect([status, text]).toEqual([400, expect.stringContaining('your token does not show the contents of runs')]);
    expect(text).not.toContain('Your task');
  }
  const { text } = await send(token, `/v1/runs/${run}/events`);
  expect(eventsIn(text).length).toBeGreaterThan(8);
  expect(text).not.toMatch(/"details"|All of it/u);
  await server.stop(0);
  await cloister.close();
});

test('the transcript follows from the events with details: live, afterwards, and over HTTP', async () => {
  const { cloister, server, send } = await serve();
  const session = cloister.run('lead', 'Go.', { caller: 'ana' });
  const live: DurableEvent[] = [];
  for await (const event of session.events({ details: true })) if ('id' in event) live.push(event);
  const { run } = await session.outcome;
  const transcript = await session.transcript();
  expect(transcript).toEqual(await cloister.transcript(run));
  const { events } = await cloister.show(run, { details: true });
  const sent = eventsIn((await send('ana', `/v1/runs/${run}/events?details=true`)).text);
  const [third] = sent.slice(2);
  const later = eventsIn((await send('ana', `/v1/runs/${run}/events?details=true&after=${third!.id}`)).text);
  for (const all of [live, events, sent, [...sent.slice(0, 3), ...later]])
    expect(transcriptFrom(run, all)).toEqual(transcript);
  expect((await cloister.show(run)).events.some((event) => 'details' in event)).toBe(false);
  await expect(cloister.transcript(run, { cell: 'nobody' })).rejects.toMatchObject({ code: 'cell_unknown' });
  await server.stop(0);
  await cloister.close();
});
