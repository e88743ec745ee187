// Workers as processes on one store, the runs that they were given, and the judgement at the end: by the logs, and by a witness outside.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { openCloister } from 'cloister';
import type { Agent, Cloister } from 'cloister';
import { expect } from 'vitest';
import type { RunCall } from '#contracts';
import { command, newFolder, startCloister } from '../e2e/driver.ts';
import type { StartedProcess } from '../e2e/driver.ts';
import workers from '../e2e/modules/workers.ts';
import type { LaneEngine } from './engines.ts';

export const soon = { timeout: 60_000, interval: 50 };

const modules = join(command, '../../test/e2e/modules');

export type Crew = Awaited<ReturnType<typeof openCrew>>;

export const openCrew = async (engine: LaneEngine, agents: readonly Agent[] = workers) => {
  const cwd = newFolder();
  const store = await engine.newStore?.();
  const place = store === undefined ? {} : { store };
  const front: Cloister = await openCloister({ agents, workspace: join(cwd, '.cloister'), ...place });
  const caller = await engine.open(front);
  const calls: RunCall[] = [];
  const living: StartedProcess[] = [];

  const startWorker = async (...more: readonly string[]): Promise<StartedProcess> => {
    const argument = engine.argument(await freePort());
    const agentFile = more[0]?.endsWith('.ts') === true ? more[0] : 'workers.ts';
    const rest = agentFile === 'workers.ts' ? more : more.slice(1);
    const given = [
      '--engine',
      argument,
      '--slots',
      '50',
      '--rest-after',
      '1',
      '--json',
      ...rest,
      ...(store === undefined ? [] : ['--store', store]),
    ];
    const worker = startCloister(['worker', join(modules, agentFile), ...given], { cwd });
    living.push(worker);
    await worker.printed(/"type":"working"/u);
    return worker;
  };
  const request = async (agent: string, count = 1): Promise<readonly RunCall[]> => {
    const asked: RunCall[] = [];
    for (let times = 0; times < count; times++) asked.push(await front.driver.request(agent, 'Go'));
    await Promise.all(asked.map((call) => caller.start(call)));
    calls.push(...asked);
    return asked;
  };
  const statusOf = async ({ run }: RunCall) => (await front.runs({ run }))[0]?.status ?? null;
  const untilEnded = async (some: readonly RunCall[] = calls): Promise<void> => {
    for (const call of some) await expect.poll(() => statusOf(call), soon).not.toBe(null);
  };
  const effects = (): readonly string[] => {
    try {
      return readFileSync(join(cwd, 'effects'), 'utf8').trim().split('\n');
    } catch {
      return [];
    }
  };
  /** How many of the runs were continued by another process at least once. */
  const judge = async ({ steps, again }: { readonly steps: number; readonly again: number }): Promise<number> => {
    const done = Map.groupBy(effects(), (key) => key);
    // A step that may not be repeated, and was in flight in a crash, may never have been done: its agent is told so.
    expect(done.size).toBeLessThanOrEqual(steps);
    expect(done.size).toBeGreaterThanOrEqual(steps - again);
    const twice = [...done.values()].filter(({ length }) => length > 1);
    expect(twice.every(({ length }) => length === 2)).toBe(true);
    expect(twice.length).toBeLessThanOrEqual(again);
    let moved = 0;
    for (const { run } of calls) {
      expect([run, (await front.audit(run)).problems]).toEqual([run, []]);
      expect([run, (await front.replay(run)).differences]).toEqual([run, []]);
      if ((await front.resumeTimes(run)).length > 0) moved++;
    }
    return moved;
  };
  const close = async (): Promise<void> => {
    for (const worker of living) worker.kill('SIGTERM');
    for (const worker of living) worker.kill('SIGCONT');
    await Promise.all(living.map(({ ended }) => ended));
    await caller.close();
    await front.close();
  };
  return { cwd, front, caller, startWorker, request, untilEnded, statusOf, effects, judge, close };
};

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
