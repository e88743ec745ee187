// `cloister worker`: drives runs that others request, wherever an engine or the store says that there are some.
//
//   worker-drains. A worker that stops takes no more calls, gives back what it drives, and ends when that is on disk.
//   watcher-wakes. What is asked of a run that rests is in the store, whoever asked it: every worker has the engine call for it.
import { Configs } from '#app/agents';
import type { Cloister, DriveEnd, DriveOptions, RunCall, RunEngine, StopWork } from '#contracts';
import type { CliServer, RunningWorker, WorkerLine, WorkerOptions } from '#headends/cli';
import { driveInProcess } from './drive-in-process.ts';
import { openEngine } from './open-engine.ts';
import { openAgents } from './serve-world.ts';
import { systemLaunchEnvironment } from './system-world.ts';

export const workerWorld: Pick<CliServer, 'worker' | 'driveOne' | 'reconcile'> = {
  worker: async (options, log) => {
    const cloister = await openWorkerAgents(options);
    try {
      const report = (error: unknown): void => log({ type: 'engine', text: cloister.redact(String(error)) });
      const engine = await openEngine(options.engine, cloister, report);
      return await startWorker(cloister, engine, { options, log });
    } catch (error) {
      await cloister.close();
      throw error;
    }
  },
  driveOne: async (options, call, signal) => {
    await using cloister = await openWorkerAgents(options);
    return await cloister.driver.drive(call, { ...driveOptions(options), signal });
  },
  reconcile: async (options) => {
    await using cloister = await openWorkerAgents(options);
    const engine = await openEngine(options.engine, cloister);
    try {
      return await reconcile(cloister, engine);
    } finally {
      await engine.close();
    }
  },
};

const openWorkerAgents = ({ agents, workspace, store, config }: WorkerOptions): Promise<Cloister> => {
  const configs = new Configs(systemLaunchEnvironment(config));
  return openAgents({ agents, workspace, store: store ?? null, config, memory: false }, configs);
};

/** Calls for everything that is open and that nobody drives. */
const reconcile = async ({ driver }: Pick<Cloister, 'driver'>, engine: RunEngine): Promise<readonly RunCall[]> => {
  const called: RunCall[] = [];
  for (const { run, agent, at, isBegun } of await driver.undriven()) {
    const call = { run, agent };
    // One that waits for people or mail is woken by whoever asks something of it.
    if (at === null) continue;
    if (isBegun) await engine.wake(call, at);
    else await engine.start(call);
    called.push(call);
  }
  return called;
};

const driveOptions = ({ restAfterMs, graceMs }: WorkerOptions): DriveOptions => ({ restAfterMs, graceMs });

type WorkerPorts = { readonly options: WorkerOptions; readonly log: (line: WorkerLine) => void };

const startWorker = async (
  cloister: Cloister,
  engine: RunEngine,
  { options, log }: WorkerPorts,
): Promise<RunningWorker> => {
  const stopping = new AbortController();
  const driving = new Set<string>();
  const driveHere = options.processPerRun === null ? null : driveInProcess(options.processPerRun, stopping.signal);
  const drive = async (call: RunCall): Promise<DriveEnd> => {
    driving.add(call.run);
    try {
      const given = { ...driveOptions(options), signal: stopping.signal };
      const end = await (driveHere?.(call) ?? cloister.driver.drive(call, given));
      log({ type: 'run', ...call, ...end });
      return end;
    } finally {
      driving.delete(call.run);
    }
  };
  const agents = cloister.agents.map(({ name }) => name);
  const stopWork = await engine.work({ agents, slots: options.slots, drive });
  const stopWaking = engine.name === 'none' ? async () => undefined : wakeAsked(cloister, engine, agents);
  return {
    engine: engine.name,
    agents,
    running: () => driving.size,
    stop: async () => {
      stopping.abort();
      await Promise.all([stopWork(), stopWaking()]);
      await engine.close();
      await cloister.close();
    },
  };
};

/** Has the engine call for runs at rest of which something was asked. */
const wakeAsked = ({ driver }: Pick<Cloister, 'driver'>, engine: RunEngine, agents: readonly string[]): StopWork => {
  let waking = Promise.resolve();
  const wake = async (): Promise<void> => {
    for (const { run, agent, isBegun } of await driver.undriven({ asked: true }))
      if (isBegun && agents.includes(agent)) await engine.wake({ run, agent });
  };
  const stop = driver.watch(() => {
    // If the store or the engine cannot be reached now, what comes next tells again.
    waking = waking.then(wake).catch(() => undefined);
  });
  return async () => {
    stop();
    await waking;
  };
};
