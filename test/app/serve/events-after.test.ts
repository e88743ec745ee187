import { expect, test } from 'vitest';
import { openCloister } from 'cloister';
import { eventsAfter } from '#testing/app/serve';
import { serveAgents } from '../../headends/http/driver.ts';
import { gatedAgent } from './gated-agent.ts';
import { collectAll } from './collect-all.ts';

const ids = (events: readonly object[]): readonly string[] =>
  events.flatMap((event) => ('id' in event ? [event.id as string] : []));

test('a client that reconnects gets what came after the last event it saw, of a running run and of one that has ended', async () => {
  const { agent, gate } = gatedAgent();
  await using cloister = await openCloister({ agents: [agent], store: 'memory' });
  const session = cloister.run('gated', 'Go.');
  await gate.arrived(1);
  const report = () => cloister.show(session.run);
  const before = ids((await report()).events);
  expect(before.length).toBeGreaterThan(2);
  const live = [undefined, ...before].map((after) =>
    collectAll(eventsAfter(session, report, { after, sees: 'contents', details: false, confirm: () => undefined })),
  );
  await new Promise((resolve) => setImmediate(resolve));
  gate.open();
  const all = ids(await collectAll(session));
  const read = await Promise.all(live);
  for (const [place, events] of read.entries()) expect(ids(events)).toEqual(all.slice(place));
  for (const [place, after] of [undefined, ...all].entries())
    expect(
      ids(
        await collectAll(
          eventsAfter(null, report, { after, sees: 'contents', details: false, confirm: () => undefined }),
        ),
      ),
    ).toEqual(all.slice(place));
});

test('an event that the run never had is refused, not waited for', async () => {
  const { agent, gate } = gatedAgent();
  await using cloister = await openCloister({ agents: [agent], store: 'memory' });
  const session = cloister.run('gated', 'Go.');
  await gate.arrived(1);
  const report = () => cloister.show(session.run);
  for (const one of [session, null])
    await expect(
      collectAll(
        eventsAfter(one, report, { after: 'gated-1/99', sees: 'contents', details: false, confirm: () => undefined }),
      ),
    ).rejects.toMatchObject({
      code: 'request_invalid',
    });
  gate.open();
});

test('a client that lost its connection resumes over HTTP where it was', async () => {
  const { agent, gate } = gatedAgent();
  const { ask } = await serveAgents({ agents: [agent] });
  const started = (await (await ask('/v1/gated', { json: { input: 'Go.', wait: false } })).json()) as { run: string };
  await gate.arrived(1);
  const watch = async (last?: string): Promise<readonly string[]> => {
    const headers = last === undefined ? {} : { 'last-event-id': last };
    const text = await (await ask(`/v1/runs/${started.run}/events`, { headers })).text();
    return [...text.matchAll(/^id: (.*)$/gmu)].map(([, id]) => id!);
  };
  const first = watch();
  gate.open();
  const all = await first;
  expect(new Set(all).size).toBe(all.length);
  for (const [place, id] of all.entries()) expect(await watch(id)).toEqual(all.slice(place + 1));
});
