// Workers as processes on one workspace: one is killed, one stops, and one drives each run in a process of its own.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openCloister } from 'cloister';
import type { Cloister } from 'cloister';
import { expect, test } from 'vitest';
import type { RunCall } from '#contracts';
import workers from './modules/workers.ts';
import { cloister, command, newFolder, startCloister } from './driver.ts';

const agents = join(command, '../../test/e2e/modules/workers.ts');

const startWorker = async (cwd: string, ...more: readonly string[]) => {
  const worker = startCloister(['worker', agents, '--rest-after', '0', '--json', ...more], { cwd });
  await worker.printed(/"type":"working"/u);
  return worker;
};

const open = (cwd: string): Promise<Cloister> => openCloister({ agents: workers, workspace: join(cwd, '.cloister') });

const soon = { timeout: 30_000, interval: 50 };

const untilEnded = async (front: Cloister, { run }: RunCall): Promise<void> => {
  await expect.poll(async () => (await front.runs({ run }))[0]?.status, soon).toBe('completed');
  expect((await front.audit(run)).problems).toEqual([]);
  expect((await front.replay(run)).differences).toEqual([]);
};

const effects = (cwd: string): readonly string[] => readFileSync(join(cwd, 'effects'), 'utf8').trim().split('\n');

// invariant: watcher-wakes
test('a run goes from a worker that is killed to another, then to a third when that one stops; no effect is repeated', async () => {
  const cwd = newFolder();
  await using front = await open(cwd);
  const first = await startWorker(cwd);
  const call = await front.driver.request('clerk', 'Go');
  const written = (): number => {
    try {
      return effects(cwd).length;
    } catch {
      return 0;
    }
  };
  await expect.poll(written, soon).toBeGreaterThanOrEqual(1);
  first.kill('SIGKILL');
  const second = await startWorker(cwd);
  const before = written();
  await expect.poll(written, soon).toBeGreaterThan(before);
  second.kill('SIGTERM');
  expect((await second.ended).code).toBe(0);
  expect(second.output().stdout).toContain('"end":"lost"');
  const third = await startWorker(cwd);
  await untilEnded(front, call);
  const keys = effects(cwd);
  // The step that was in flight when the first worker was killed may have been done.
  expect(new Set(keys).size).toBe(5);
  expect(keys.length).toBeLessThanOrEqual(6);
  const asked = await front.driver.request('asker', 'Go');
  await expect.poll(async () => (await front.runs({ run: asked.run }))[0]?.state, soon).toBe('interrupted');
  const [question] = await front.questions();
  const given = ['allow', '--sha256', question!.sha256, '--agents', agents];
  const answered = await cloister(['answer', question!.id, ...given], { cwd });
  expect(answered.code).toBe(0);
  await untilEnded(front, asked);
  third.kill('SIGTERM');
  expect((await third.ended).code).toBe(0);
}, 90_000);

// invariant: process-dies-alone
test('with a process for each run, one that dies takes no other with it, and is driven again', async () => {
  const cwd = newFolder();
  await using front = await open(cwd);
  const worker = await startWorker(cwd, '--process-per-run', '--run-memory', '200');
  const calls = [await front.driver.request('clerk', 'Go'), await front.driver.request('crasher', 'Go')];
  for (const call of calls) await untilEnded(front, call);
  expect(effects(cwd)).toHaveLength(5);
  expect((await front.resumeTimes(calls[0]!.run)).length).toBe(0);
  expect((await front.resumeTimes(calls[1]!.run)).length).toBe(1);
  worker.kill('SIGTERM');
  expect((await worker.ended).code).toBe(0);
}, 90_000);
