// A run is followed from another process of the workspace as it is in its own.
import { rmSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { memoryCellFolders } from '#adapters/cell-folders';
import { validate } from '#adapters/schemas';
import { recordFormats } from '#base';
import type { FollowedRun, RunEvent } from '#contracts';
import { defineAgent, openCloister } from 'cloister';
import type { Agent, Cloister } from 'cloister';
import { countingIds, rehearse } from 'cloister/testkit';
import { LocalCloister } from '../../src/app/local-cloister.ts';
import { systemClock } from '../../src/app/system-world.ts';
import { newMapDisk, openMapStore } from '../adapters/stores/map-disk.ts';
import type { MapDisk } from '../adapters/stores/map-disk.ts';
import { newTemporaryFolder } from '../isolation/temporary-folder.ts';
import { askingAgent } from './serve/asking-agent.ts';
import { gatedAgent } from './serve/gated-agent.ts';

const workspaceFor = (): string => {
  const workspace = newTemporaryFolder();
  onTestFinished(() => rmSync(workspace, { recursive: true, force: true }));
  return workspace;
};

const open = async (workspace: string, agents: readonly Agent[]): Promise<Cloister> => {
  const cloister = await openCloister({ workspace, agents });
  onTestFinished(() => cloister.close());
  return cloister;
};

const follow = (cloister: Cloister, run: string): FollowedRun => {
  const followed = cloister.follow(run);
  onTestFinished(() => followed.close());
  return followed;
};

const collect = async (events: AsyncIterable<RunEvent>): Promise<readonly RunEvent[]> => {
  const all: RunEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
};

const recorded = (events: readonly RunEvent[]): readonly RunEvent[] => events.filter((event) => 'id' in event);

const firstEvent = async (cloister: Cloister, run: string): Promise<void> => {
  await expect.poll(async () => (await cloister.runs({ run })).length, { timeout: 5_000 }).toBe(1);
};

// invariant: followed-like-local
test('events, text and outcome are those of its own process, for every reader, whenever it comes', async () => {
  const workspace = workspaceFor();
  const { agent, sent } = askingAgent();
  const [owner, other] = [await open(workspace, [agent]), await open(workspace, [agent])];
  const session = owner.run('lead', 'ann bob', { caller: 'carl' });
  const own = collect(session);
  await session.durable();
  const early = follow(other, session.run);
  const options = [{}, { sees: 'answers' }, { sees: 'contents', details: true }] as const;
  const readers = options.map((one) => collect(early.events(one)));
  const waiting = Promise.withResolvers<void>();
  early.onWaiting((waits) => waits && waiting.resolve());
  void early.outcome;
  await waiting.promise;
  expect(early.waitsForPeople).toBe(true);
  const questions = await early.questions();
  expect(questions).toEqual(await session.questions());
  const late = collect(follow(other, session.run));
  for (const { id, sha256 } of questions) await other.answer(id, { allow: true, sha256 });
  expect(await early.outcome).toEqual(await session.outcome);
  expect(sent).toEqual(['ann', 'bob']);
  const { events } = await owner.show(session.run);
  expect(recorded(await own)).toEqual(events);
  expect(recorded((await readers[0])!)).toEqual(events);
  expect(recorded(await late)).toEqual(events);
  expect(recorded((await readers[1])!)).toEqual((await owner.show(session.run, { sees: 'answers' })).events);
  expect(recorded((await readers[2])!)).toEqual((await owner.show(session.run, { details: true })).events);
  // Text comes in one piece, where it was recorded.
  const texts = (await readers[0])!.flatMap((event) => (event.type === 'text-delta' ? [event.text] : []));
  expect(texts).toContain((await session.outcome).output);
  // After the end, everything is there at once.
  expect(recorded(await collect(follow(other, session.run)))).toEqual(events);
});

test('it is followed on when its process leaves it and another one continues it: nothing twice, and no gap', async () => {
  const workspace = workspaceFor();
  const [first, second, third] = [askingAgent().agent, askingAgent().agent, askingAgent().agent];
  const owner = await openCloister({ workspace, agents: [first] });
  const [next, reader] = [await open(workspace, [second]), await open(workspace, [third])];
  const session = owner.run('lead', 'ann', { caller: 'carl' });
  await session.durable();
  const followed = follow(reader, session.run);
  const reading = collect(followed);
  await expect.poll(() => followed.waitsForPeople, { timeout: 5_000 }).toBe(true);
  await owner.close();
  const [question] = await reader.questions({ run: session.run });
  await next.answer(question!.id, { allow: true, sha256: question!.sha256 });
  expect(await followed.outcome).toMatchObject({ status: 'completed', output: 'Results: sent to ann' });
  const { events } = await next.show(session.run);
  expect(recorded(await reading)).toEqual(events);
});

test('what is asked of it goes to its owner', async () => {
  const workspace = workspaceFor();
  const { agent, gate } = gatedAgent('lead');
  const [owner, other] = [await open(workspace, [agent]), await open(workspace, [agent])];
  const session = await owner.spawn('lead');
  await session.durable();
  gate.open();
  const followed = follow(other, session.run);
  const { id: message } = await other.signal(session.run, { do: 'send', text: 'Hello.' });
  const answer = await followed.answer(message);
  expect(answer).toMatchObject({ status: 'completed', text: 'Done: Hello.' });
  // It is recorded as delivered, by its owner.
  const isDelivered = async (): Promise<boolean> =>
    (await owner.mail(session.run)).some(({ id, state }) => id === answer.id && state === 'delivered');
  await expect.poll(isDelivered, { timeout: 5_000 }).toBe(true);
  await expect(followed.answer('m-unknown')).rejects.toMatchObject({ code: 'mail_unknown' });
  followed.cancel();
  expect(await followed.outcome).toMatchObject({ status: 'cancelled' });
});

test('whoever follows a run that is unknown, or that is closed, is told so', async () => {
  const workspace = workspaceFor();
  const { agent } = gatedAgent('lead');
  const [owner, other] = [await open(workspace, [agent]), await open(workspace, [agent])];
  await expect(follow(other, 'unknown').outcome).rejects.toMatchObject({ code: 'run_unknown' });
  const { run } = owner.run('lead', 'Go.');
  await firstEvent(other, run);
  const followed = follow(other, run);
  const reading = collect(followed);
  reading.catch(() => undefined);
  followed.close();
  await expect(reading).rejects.toMatchObject({ code: 'cell_ended' });
  expect(await other.runs({ run })).toMatchObject([{ state: 'running' }]);
});

/** Cloisters on one disk in memory, whose processes hear each other live. */
const onDisk = (disk: MapDisk, agent: Agent, models: readonly unknown[]): Cloister => {
  const cloister = new LocalCloister([agent], {
    store: openMapStore(disk),
    workspaces: memoryCellFolders(),
    validate,
    schemaProblem: () => null,
    toolSchemaProblem: () => null,
    clock: systemClock,
    ids: countingIds(),
    lanes: new Map(),
    resources: {
      agents: [agent],
      redactFor: () => null,
      prepare: async () => undefined,
      resourcesFor: () => ({ models: models as never, sources: [] }),
      modelsOf: () => models as never,
    },
    startInfo: undefined,
    recordedBy: { format: recordFormats.newest, build: 'test' },
  });
  onTestFinished(() => cloister.close());
  return cloister;
};

// invariant: followed-pieces-in-place
test('where the store passes it on, text comes while it is written, from its beginning, and in its place', async () => {
  const disk = newMapDisk();
  const pieces = ['One ', 'two ', 'three ', 'four ', 'five.'];
  const { model } = rehearse([{ reply: { pieces, delayMs: 20, pieceDelayMs: 5 } }]);
  const agent = defineAgent({ name: 'lead', description: 'Leads.', prompt: 'Lead.', models: [model] });
  const [owner, other] = [onDisk(disk, agent, [model]), onDisk(disk, agent, [model])];
  const session = owner.run('lead', 'Go.', { caller: 'carl' });
  const own = collect(session);
  await session.durable();
  const followed = follow(other, session.run);
  const seen = await collect(followed);
  expect(recorded(seen)).toEqual(recorded(await own));
  const said = seen.flatMap((event) => (event.type === 'text-delta' ? [event.text] : []));
  expect(said).toEqual(pieces);
  const kinds = seen.map(({ type }) => type);
  expect(kinds.indexOf('text-reset')).toBeGreaterThan(kinds.indexOf('model-start'));
  expect(kinds.lastIndexOf('text-delta')).toBeLessThan(kinds.indexOf('model-end'));
});
