// Two servers of one workspace: whichever a caller asks, it is told the same of its run.
import { rmSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { sha256 } from '#base';
import { openCloister, openServer } from 'cloister';
import type { Agent } from 'cloister';
import { newTemporaryFolder } from '../../isolation/temporary-folder.ts';
import { askingAgent } from './asking-agent.ts';
import { workspaceToCrash } from './crashed-workspace.ts';
import { gatedAgent } from './gated-agent.ts';

const tokenOf = (name: string): string => name.padEnd(40, 'x');

const tokens = [
  { name: 'ann', sha256: sha256(tokenOf('ann')) },
  { name: 'bob', sha256: sha256(tokenOf('bob')) },
  { name: 'op', sha256: sha256(tokenOf('op')), operator: true },
];

type Sending = { readonly as?: string; readonly json?: object; readonly headers?: Record<string, string> };

const serve = async (workspace: string, agent: Agent) => {
  const cloister = await openCloister({ workspace, agents: [agent] });
  const server = await openServer(cloister, { tokens, port: 0, resumeInterrupted: true });
  const { url } = await server.listen();
  const stop = async (): Promise<void> => {
    await server.stop(0);
    await cloister.close();
  };
  onTestFinished(stop);
  const send = (path: string, { as = 'ann', json, headers = {} }: Sending = {}) =>
    fetch(url + path, {
      method: json === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${tokenOf(as)}`,
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
  const ask = async (...asked: Parameters<typeof send>) => {
    const response = await send(...asked);
    return { status: response.status, body: (await response.json()) as any };
  };
  return { cloister, stop, send, ask };
};

type Served = Awaited<ReturnType<typeof serve>>;

const openPair = async (agentFor: () => Agent) => {
  const workspace = newTemporaryFolder();
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
  return [await serve(workspace, agentFor()), await serve(workspace, agentFor())] as const;
};

/** The events of a stream with ids, and the last one. */
const readEvents = async (response: Response) => {
  const events = (await response.text())
    .split('\n\n')
    .map((one) => ({
      type: /^event: (.*)$/mu.exec(one)?.[1] ?? '',
      id: /^id: (.*)$/mu.exec(one)?.[1],
      data: /^data: (.*)$/mu.exec(one)?.[1] ?? '',
    }))
    .filter(({ type }) => type !== '');
  return { events, recorded: events.filter(({ id }) => id !== undefined), last: events.at(-1)! };
};

const streamOf = async ({ send }: Served, run: string, more: Sending = {}) =>
  readEvents(
    await send(`/v1/runs/${run}/events`, { ...more, headers: { accept: 'text/event-stream', ...more.headers } }),
  );

// invariant: elsewhere-like-here
test('a run is watched, shown and listed through either, by whoever may', async () => {
  const { agent, gate } = gatedAgent('lead');
  const [here, there] = await openPair(() => agent);
  const { run } = (await here.ask('/v1/lead', { json: { input: 'Go.', wait: false } })).body;
  await gate.arrived(1);
  const all = [streamOf(here, run), streamOf(there, run), streamOf(there, run, { as: 'op' })];
  expect((await there.ask(`/v1/runs/${run}/events`, { as: 'bob' })).status).toBe(404);
  expect((await there.ask('/v1/runs')).body.runs).toMatchObject([{ run, state: 'running' }]);
  gate.open();
  const [own, other, operators] = await Promise.all(all);
  expect(other!.recorded).toEqual(own!.recorded);
  expect(other!.last).toEqual(own!.last);
  expect(operators!.recorded.map(({ id }) => id)).toEqual(own!.recorded.map(({ id }) => id));
  const middle = own!.recorded[2]!.id!;
  const rest = await streamOf(there, run, { headers: { 'last-event-id': middle } });
  expect(rest.recorded).toEqual(own!.recorded.slice(3));
  const shown = await Promise.all([here, there].map(async ({ ask }) => (await ask(`/v1/runs/${run}`)).body));
  expect(shown[1]).toEqual(shown[0]);
});

test('a stream that is continued in the middle of a run has what comes', async () => {
  const { agent, gate } = gatedAgent('lead');
  const [here, there] = await openPair(() => agent);
  const { run } = (await here.ask('/v1/lead', { json: { input: 'Go.', wait: false } })).body;
  await gate.arrived(1);
  const { events } = (await there.ask(`/v1/runs/${run}/events?limit=100`)).body;
  const rest = streamOf(there, run, { headers: { 'last-event-id': events.at(-1).id } });
  gate.open();
  const all = (await streamOf(here, run)).recorded;
  expect((await rest).recorded).toEqual(all.slice(events.length));
  expect((await rest).last.type).toBe('outcome');
});

test('questions are seen and answered through either, and a reader of the run is told what comes of it', async () => {
  const { agent, sent } = askingAgent();
  const [here, there] = await openPair(() => agent);
  const { run } = (await here.ask('/v1/lead', { json: { input: 'carl', wait: false } })).body;
  const asked = async (): Promise<readonly any[]> => (await there.ask('/v1/questions')).body.questions;
  await expect.poll(async () => (await asked()).length, { timeout: 5_000 }).toBe(1);
  const watching = streamOf(there, run);
  const [{ id, sha256: hash }] = await asked();
  expect((await there.ask(`/v1/questions/${id}`, { json: { allow: true, sha256: hash }, as: 'bob' })).status).toBe(404);
  const { body } = await there.ask(`/v1/questions/${id}`, { json: { allow: true, sha256: hash } });
  expect(['allowed', 'stored']).toContain(body.state);
  const { recorded, last } = await watching;
  expect(JSON.parse(last.data)).toMatchObject({ status: 'completed', output: 'Results: sent to carl' });
  expect(recorded).toEqual((await streamOf(here, run)).recorded);
  expect(sent).toEqual(['carl']);
});

test('messages are sent, answered, listed and taken through either', async () => {
  const { agent, gate } = gatedAgent('lead');
  gate.open();
  const [here, there] = await openPair(() => agent);
  const { run } = (await here.ask('/v1/lead', { json: { input: 'First.', resident: true, wait: false } })).body;
  const path = `/v1/runs/${run}/messages`;
  const answer = await there.ask(path, { json: { text: 'Hello.', answer: true } });
  expect(answer).toMatchObject({ status: 200, body: { output: 'Done: First.', status: 'completed' } });
  const listed = async ({ ask }: Served): Promise<readonly any[]> => (await ask(path)).body.messages;
  // That the answer was taken is recorded a little later.
  const areEqual = async (): Promise<boolean> => isDeepStrictEqual(await listed(there), await listed(here));
  await expect.poll(areEqual, { timeout: 5_000 }).toBe(true);
  const first = (await listed(there)).find(({ text }) => text === 'Done: First.');
  expect(first.delivered).toBe(false);
  await there.ask(`${path}?after=${first.message}`);
  const isTaken = async (): Promise<boolean> =>
    (await listed(here)).find(({ message }) => message === first.message).delivered;
  await expect.poll(isTaken, { timeout: 5_000 }).toBe(true);
  // Whoever runs the server takes no message away.
  await there.ask(path, { json: { text: 'Again.' } });
  await expect.poll(async () => (await listed(there)).length, { timeout: 5_000 }).toBe(6);
  const again = (await listed(there)).at(-1);
  await there.ask(`${path}?after=${again.message}`, { as: 'op' });
  await there.ask(`/v1/runs/${run}/finish`, { json: {} });
  await expect.poll(async () => (await here.cloister.runs({ run }))[0]!.state, { timeout: 5_000 }).toBe('ended');
  expect((await listed(here)).find(({ message }) => message === again.message).delivered).toBe(false);
});

test('a client that waits at a server which stops is told so, and the run continues', async () => {
  const { agent, gate } = gatedAgent('lead');
  const [here, there] = await openPair(() => agent);
  const key = { 'idempotency-key': 'k1' };
  const { run } = (await here.ask('/v1/lead', { json: { input: 'Go.', wait: false }, headers: key })).body;
  await gate.arrived(1);
  const waiting = there.ask('/v1/lead', { json: { input: 'Go.' }, headers: key }).catch(() => null);
  await expect.poll(async () => (await here.cloister.runs({ run }))[0]!.state).toBe('running');
  await there.stop();
  const told = await waiting;
  if (told !== null) expect(told.status).toBe(503);
  gate.open();
  expect((await streamOf(here, run)).last.type).toBe('outcome');
});

test('an interrupted run is resumed by one of the servers, however many look for it', async () => {
  const { workspace, agents, run, crash } = await workspaceToCrash('ann');
  crash();
  const all = await Promise.all(Array.from({ length: 3 }, () => serve(workspace, agents[0]!)));
  const streams = await Promise.all(all.map((one) => streamOf(one, run)));
  await expect.poll(async () => (await all[0]!.cloister.runs({ run }))[0]!.state, { timeout: 5_000 }).toBe('ended');
  expect(await all[0]!.cloister.resumeTimes(run)).toHaveLength(1);
  expect(await all[0]!.cloister.audit(run)).toMatchObject({ ok: true, problems: [] });
  expect(streams.map(({ last }) => last.type)).toEqual(['outcome', 'outcome', 'outcome']);
});

// invariant: elsewhere-read-while-needed
test('a client that leaves ends no run that it only reads', async () => {
  const { agent, gate } = gatedAgent('lead');
  const [here, there] = await openPair(() => agent);
  const key = { 'idempotency-key': 'k1' };
  const { run } = (await here.ask('/v1/lead', { json: { input: 'Go.', wait: false }, headers: key })).body;
  await gate.arrived(1);
  const response = await there.send(`/v1/runs/${run}/events`, { headers: { accept: 'text/event-stream' } });
  await response.body!.cancel();
  gate.open();
  expect(JSON.parse((await streamOf(here, run)).last.data)).toMatchObject({ status: 'completed' });
});
