// A watcher that leaves is released immediately, even if nothing happens in the run.
import { getEventListeners } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import type { AdmittedRequest, Cloister, RunSession, ServerEvent } from '#contracts';
import { restRoutes } from '#headends/rest';
import { LocalRunSession } from '../../../src/app/run-session.ts';
import { turn } from './client-driver.ts';
import { collectAll } from './collect-all.ts';
import { gatedAgent } from './gated-agent.ts';
import { ann, inMemory, serve } from './serving-driver.ts';

const hasEventReaders = (session: RunSession): boolean => {
  if (!(session instanceof LocalRunSession)) throw new Error('It is another kind of session.');
  return session.hasEventReaders;
};

/** Finds the session of a run that is started from now on. */
const watchSessions = (cloister: Cloister): ((run: string) => RunSession) => {
  const { mock } = vi.spyOn(cloister, 'run');
  return (run) => mock.results.map(({ value }) => value as RunSession).find((session) => session.run === run)!;
};

/** Everything available by now, and the pending next event. */
const readAvailable = async <T>(
  iterator: AsyncIterator<T>,
): Promise<{ read: T[]; next: Promise<IteratorResult<T>> }> => {
  const read: T[] = [];
  for (;;) {
    const next = iterator.next();
    const got = await Promise.race([next, turns()]);
    if (got === undefined) return { read, next };
    if (got.done === true) throw new Error('It has ended.');
    read.push(got.value);
  }
};

const turns = async (): Promise<undefined> => {
  for (let count = 0; count < 5; count++) await turn();
};

describe('a reader waiting for the next event', () => {
  // invariant: reader-released-on-leave
  test('leaves immediately', async () => {
    const { agent, gate } = gatedAgent();
    await using cloister = await inMemory(agent);
    const session = cloister.run('gated', 'Go.');
    await gate.arrived(1);
    const iterator = session[Symbol.asyncIterator]();
    const { read, next } = await readAvailable(iterator);
    expect(read.length).toBeGreaterThan(2);
    expect(hasEventReaders(session)).toBe(true);
    expect(await iterator.return!()).toEqual({ done: true, value: undefined });
    expect(hasEventReaders(session)).toBe(false);
    expect(await next).toMatchObject({ done: true });
    expect(await iterator.next()).toMatchObject({ done: true });
    gate.open();
    expect((await session.outcome).status).toBe('completed');
  });

  test('leaves with its signal: from a run that was looked up, and from one that was started for streaming', async () => {
    const { agent, gate } = gatedAgent();
    await using cloister = await inMemory(agent);
    const sessionOf = watchSessions(cloister);
    const service = serve(cloister);
    const { run } = await service.startRun(ann, { agent: 'gated', input: 'Go.' });
    await gate.arrived(1);
    const found = await service.find(ann, run);
    const { events: before } = await found.report();
    for (const after of [undefined, before[1]!.id]) {
      const controller = new AbortController();
      const { read, next } = await readAvailable(found.events({ after }, controller.signal)[Symbol.asyncIterator]());
      // Besides what is being written, from its beginning.
      expect(read.filter((event) => 'id' in event)).toHaveLength(
        after === undefined ? before.length : before.length - 2,
      );
      controller.abort();
      expect(await next).toMatchObject({ done: true });
      expect(hasEventReaders(sessionOf(run))).toBe(false);
      expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
      expect(await collectAll(found.events({ after }, controller.signal))).toEqual([]);
    }
    const controller = new AbortController();
    const streamed = await service.startRun(ann, { agent: 'gated', input: 'Go.', stream: true }, controller.signal);
    const session = sessionOf(streamed.run);
    expect(hasEventReaders(session)).toBe(true);
    const { next } = await readAvailable(streamed.events()[Symbol.asyncIterator]());
    controller.abort();
    // Before the run itself has ended.
    expect(hasEventReaders(session)).toBe(false);
    expect(await next).toMatchObject({ done: true });
    gate.open();
    await found.session!.outcome;
  });

  test('leaves with the request for events of a run', async () => {
    const { agent, gate } = gatedAgent();
    await using cloister = await inMemory(agent);
    const sessionOf = watchSessions(cloister);
    const service = serve(cloister);
    const { run } = await service.startRun(ann, { agent: 'gated', input: 'Go.' });
    await gate.arrived(1);
    const session = sessionOf(run);
    const watch = restRoutes(service, { version: '1' }).find(({ path }) => path === '/v1/runs/:run/events')!;
    const controller = new AbortController();
    const call: AdmittedRequest = {
      caller: ann,
      id: 'req',
      params: { run },
      query: new URLSearchParams(),
      headers: new Headers(),
      body: undefined,
      signal: controller.signal,
    };
    const reply = (await watch.answer(call)) as { readonly events: AsyncIterable<ServerEvent> };
    const { read, next } = await readAvailable(reply.events[Symbol.asyncIterator]());
    expect(read.map(({ event }) => event)).toContain('model-start');
    controller.abort();
    expect(await next).toMatchObject({ done: true });
    expect(hasEventReaders(session)).toBe(false);
    gate.open();
    await session.outcome;
  });
});
