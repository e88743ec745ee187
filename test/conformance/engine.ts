// What every engine must do. `open`: what one process uses to reach the engine; all of a test reach the same one.
import { describe, expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import type { Agent, Cloister } from 'cloister';
import type { DriveEnd, RunCall, RunEngine, StopWork } from '#contracts';
import { rehearse } from '#testkit';
import { temporaryFolder } from '../isolation/temporary-folder.ts';

type OpenEngine = (cloister: Cloister) => Promise<RunEngine>;

/** A worker, the calls that it got, and what it answers instead of driving. */
type Worker = {
  readonly calls: RunCall[];
  answer?: (call: RunCall) => DriveEnd | undefined | Promise<DriveEnd | undefined>;
};

const agents = (): readonly Agent[] => {
  const models = [rehearse([{ reply: 'Done.' }]).model];
  return ['clerk', 'asker'].map((name) => defineAgent({ name, description: 'Works.', prompt: 'Work.', models }));
};

/** How long an engine may take to call again. */
const soon = { timeout: 15_000, interval: 20 };

export const conformEngine = (name: string, newEngine: () => Promise<OpenEngine>): void => {
  const scene = async (folder: string) => {
    const open = await newEngine();
    const opened: { readonly cloister: Cloister; readonly engine: RunEngine; readonly stops: StopWork[] }[] = [];
    const process = async () => {
      const cloister = await openCloister({ agents: agents(), workspace: folder });
      const one = { cloister, engine: await open(cloister), stops: [] as StopWork[] };
      opened.push(one);
      const work = async (worker: Worker, slots = 4, names = ['clerk', 'asker']): Promise<StopWork> => {
        const drive = async (call: RunCall): Promise<DriveEnd> => {
          worker.calls.push(call);
          return (await worker.answer?.(call)) ?? cloister.driver.drive(call, { restAfterMs: 20 });
        };
        const stop = await one.engine.work({ agents: names, slots, drive });
        one.stops.push(stop);
        return stop;
      };
      const request = async (agent: string): Promise<RunCall> => {
        const call = await cloister.driver.request(agent, 'Go');
        await one.engine.start(call);
        return call;
      };
      return { ...one, work, request };
    };
    const close = async (): Promise<void> => {
      for (const { stops } of opened) for (const stop of stops) await stop();
      for (const { cloister, engine } of opened) {
        await engine.close();
        await cloister.close();
      }
    };
    return { process, close };
  };

  const statusOf = async (cloister: Cloister, { run }: RunCall) => (await cloister.runs({ run }))[0]?.status;

  describe(`the engine ${name}`, () => {
    // invariant: call-completes, object-per-run
    test('has each requested run begun once, however often it is started, and whichever worker is called', async () => {
      await using folder = await temporaryFolder();
      const { process, close } = await scene(folder.path);
      const [front, one, other] = [await process(), await process(), await process()];
      await one.work({ calls: [] });
      await other.work({ calls: [] });
      const calls: RunCall[] = [];
      for (let times = 0; times < 6; times++) calls.push(await front.request('clerk'));
      await Promise.all(calls.map((call) => front.engine.start(call)));
      for (const call of calls) await expect.poll(() => statusOf(front.cloister, call), soon).toBe('completed');
      expect(await front.cloister.runs()).toHaveLength(6);
      await close();
    }, 60_000);

    // invariant: nothing-in-the-journal
    test('calls again, elsewhere too, when a worker has lost a run', async () => {
      await using folder = await temporaryFolder();
      const { process, close } = await scene(folder.path);
      const [front, one] = [await process(), await process()];
      let lost = 0;
      await one.work({ calls: [], answer: () => (lost++ < 2 ? { end: 'lost' } : undefined) });
      const call = await front.request('clerk');
      await expect.poll(() => statusOf(front.cloister, call), soon).toBe('completed');
      expect(lost).toBeGreaterThanOrEqual(3);
      await close();
    }, 60_000);

    // invariant: refused-once, refused-elsewhere
    test('calls another worker if one refuses a run', async () => {
      await using folder = await temporaryFolder();
      const { process, close } = await scene(folder.path);
      const [front, one, other] = [await process(), await process(), await process()];
      const refusing: Worker = { calls: [], answer: () => ({ end: 'refused', code: 'replay_differs', detail: 'No.' }) };
      await one.work(refusing);
      const call = await front.request('clerk');
      await expect.poll(() => refusing.calls.length, soon).toBeGreaterThan(0);
      await other.work({ calls: [] });
      await expect.poll(() => statusOf(front.cloister, call), soon).toBe('completed');
      await close();
    }, 60_000);

    // invariant: queue-per-agent
    test('calls a worker for its own agents only', async () => {
      await using folder = await temporaryFolder();
      const { process, close } = await scene(folder.path);
      const [front, one, other] = [await process(), await process(), await process()];
      const [clerks, askers]: Worker[] = [{ calls: [] }, { calls: [] }];
      await one.work(clerks!, 4, ['clerk']);
      await other.work(askers!, 4, ['asker']);
      const calls = [await front.request('clerk'), await front.request('asker'), await front.request('clerk')];
      for (const call of calls) await expect.poll(() => statusOf(front.cloister, call), soon).toBe('completed');
      expect(new Set(clerks!.calls.map(({ agent }) => agent))).toEqual(new Set(['clerk']));
      expect(new Set(askers!.calls.map(({ agent }) => agent))).toEqual(new Set(['asker']));
      await close();
    }, 60_000);

    // invariant: found-without-being-told, looking-costs-little
    test('calls again when a run that rests is due, and when something is asked of it', async () => {
      await using folder = await temporaryFolder();
      const { process, close } = await scene(folder.path);
      const [front, one] = [await process(), await process()];
      const resident = await front.cloister.driver.request('clerk', 'Go', { resident: true });
      const worker: Worker = { calls: [] };
      await one.work(worker);
      await front.engine.start(resident);
      const isAtRest = async () => (await front.cloister.runs({ run: resident.run }))[0]?.state === 'interrupted';
      await expect.poll(isAtRest, soon).toBe(true);
      await front.cloister.signal(resident.run, { do: 'finish' });
      await front.engine.wake(resident);
      await expect.poll(() => statusOf(front.cloister, resident), soon).toBe('completed');
      const [due, isDue] = [await front.request('asker'), Date.now() + 700];
      await front.engine.wake(due, isDue);
      await expect.poll(() => statusOf(front.cloister, due), soon).toBe('completed');
      await close();
    }, 60_000);

    test('never drives more runs at once than a worker has slots', async () => {
      await using folder = await temporaryFolder();
      const { process, close } = await scene(folder.path);
      const [front, one] = [await process(), await process()];
      let [now, most] = [0, 0];
      const answer = async (): Promise<undefined> => {
        most = Math.max(most, ++now);
        await new Promise((resolve) => void setTimeout(resolve, 30));
        now--;
      };
      await one.work({ calls: [], answer }, 2);
      const calls: RunCall[] = [];
      for (let times = 0; times < 6; times++) calls.push(await front.request('clerk'));
      for (const call of calls) await expect.poll(() => statusOf(front.cloister, call), soon).toBe('completed');
      expect(most).toBeLessThanOrEqual(2);
      await close();
    }, 60_000);
  });
};
