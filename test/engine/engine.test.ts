// Every engine with real servers and real workers. `npm run test:engine`.
import { describe, expect, test } from 'vitest';
import { conformEngine } from '../conformance/engine.ts';
import { openCrew, soon } from './crew.ts';
import { startEngines } from './engines.ts';

const { engines, missing } = await startEngines();
const notRun = [
  ...missing,
  'a network that is cut between workers, database and engine (`ip netns` needs rights that are not assumed)',
  'clocks an hour apart (`faketime`)',
  'with Restate, agents changed on half of the workers: that needs a balancer that spreads single calls',
];
for (const one of notRun) console.warn(`NOT RUN: ${one}`);

for (const engine of engines) if (!engine.name.startsWith('none')) conformEngine(engine.name, async () => engine.open);

let movedInAll = 0;
/** Of each crash: the effects of the steps in flight may have been done. */
const inFlight = 50;

describe.each(engines)('workers with the engine $name', (engine) => {
  test('runs of a worker that is killed go on elsewhere, and what was settled is not repeated', async () => {
    const crew = await openCrew(engine);
    const workers = [await crew.startWorker(), await crew.startWorker(), await crew.startWorker()];
    await crew.request('clerk', 60);
    for (const nth of [0, 1]) {
      const before = crew.effects().length;
      await expect.poll(() => crew.effects().length, soon).toBeGreaterThan(before + 60);
      workers[nth]!.kill('SIGKILL');
      await workers[nth]!.ended;
    }
    await crew.untilEnded();
    const moved = await crew.judge({ steps: 300, again: 2 * inFlight });
    expect(moved).toBeGreaterThan(0);
    movedInAll += moved;
    await crew.close();
  });

  test('workers that stop one after the other give back what they drive, and nothing is repeated', async () => {
    const crew = await openCrew(engine);
    let worker = await crew.startWorker();
    const stopMs: number[] = [];
    for (let times = 0; times < 3; times++) {
      const next = await crew.startWorker();
      const before = crew.effects().length;
      await crew.request('clerk', 40);
      await expect.poll(() => crew.effects().length, soon).toBeGreaterThan(before + 20);
      const since = performance.now();
      worker.kill('SIGTERM');
      expect((await worker.ended).code).toBe(0);
      stopMs.push(performance.now() - since);
      worker = next;
    }
    await crew.untilEnded();
    const moved = await crew.judge({ steps: 600, again: 0 });
    console.warn(`${engine.name}: SIGTERM to end, ms: ${stopMs.map(Math.round).join(', ')}; moved ${moved}`);
    movedInAll += moved;
    await crew.close();
  });

  // invariant: no-limit-on-calls
  test('a worker that is suspended and wakes again repeats nothing', async () => {
    const crew = await openCrew(engine);
    const [first] = [await crew.startWorker(), await crew.startWorker()];
    await crew.request('clerk', 30);
    await expect.poll(() => crew.effects().length, soon).toBeGreaterThan(30);
    for (const ms of [500, 5_000]) {
      first.kill('SIGSTOP');
      await new Promise((resolve) => void setTimeout(resolve, ms));
      first.kill('SIGCONT');
    }
    await crew.untilEnded();
    movedInAll += await crew.judge({ steps: 150, again: inFlight });
    await crew.close();
  });

  test('runs rest while they wait, and are answered, cancelled and continued by whoever is there', async () => {
    const crew = await openCrew(engine);
    const first = await crew.startWorker();
    const calls = await crew.request('asker', 40);
    const stateOf = async (run: string) => (await crew.front.runs({ run }))[0]?.state;
    for (const { run } of calls) await expect.poll(() => stateOf(run), soon).toBe('interrupted');
    // They rest: nobody has them, whatever becomes of the worker.
    first.kill('SIGKILL');
    await first.ended;
    const questions = await crew.front.questions();
    expect(questions).toHaveLength(40);
    const resume = async (): Promise<undefined> => undefined;
    const answers = questions
      .slice(0, 30)
      .map(({ id, sha256 }) => crew.front.answer(id, { allow: true, sha256 }, { resume }));
    for (const { run } of questions.slice(30)) await crew.front.signal(run, { do: 'cancel' });
    await crew.startWorker();
    for (const call of calls) await crew.caller.wake(call);
    await crew.untilEnded();
    await Promise.allSettled(answers);
    const statuses = await Promise.all(calls.map(crew.statusOf));
    expect(statuses.filter((status) => status === 'completed')).toHaveLength(30);
    expect(statuses.filter((status) => status === 'cancelled')).toHaveLength(10);
    const moved = await crew.judge({ steps: 30, again: 0 });
    expect(moved).toBe(40);
    movedInAll += moved;
    await crew.close();
  });

  test.runIf(engine.name !== 'restate')(
    'a run goes to a worker that has its agents, when others have changed ones',
    async () => {
      const crew = await openCrew(engine);
      await crew.startWorker('changed-workers.ts');
      await crew.startWorker();
      await crew.request('clerk', 10);
      await crew.untilEnded();
      expect(await crew.judge({ steps: 50, again: 0 })).toBe(0);
      await crew.close();
    },
  );

  test.runIf(engine.restart !== undefined)('an engine that dies, or forgets everything, loses no run', async () => {
    for (const wipe of [false, true]) {
      const crew = await openCrew(engine);
      const worker = await crew.startWorker();
      await crew.startWorker();
      await crew.request('clerk', 40);
      await expect.poll(() => crew.effects().length, soon).toBeGreaterThan(20);
      await engine.restart!({ wipe });
      if (wipe) worker.kill('SIGKILL');
      if (wipe) await worker.ended;
      await expect
        .poll(
          async () => {
            // As `cloister engine reconcile` does.
            for (const { run, agent, at, isBegun } of await crew.front.driver.undriven()) {
              if (at === null) continue;
              await (isBegun ? crew.caller.wake({ run, agent }, at) : crew.caller.start({ run, agent })).catch(
                () => undefined,
              );
            }
            return (await crew.front.runs({ open: true })).length + (await crew.front.driver.undriven()).length;
          },
          { timeout: 120_000, interval: 1_000 },
        )
        .toBe(0);
      await crew.untilEnded();
      movedInAll += await crew.judge({ steps: 200, again: wipe ? inFlight : 0 });
      await crew.close();
    }
  });
});

test('many runs were moved', () => {
  console.warn(`Runs that were continued by another process: ${movedInAll}`);
  expect(movedInAll).toBeGreaterThan(200);
});
