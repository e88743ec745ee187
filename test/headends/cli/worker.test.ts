// `cloister worker` and `cloister engine reconcile`: what they are given, what they print, and how they stop.
import { expect, test } from 'vitest';
import type { RunId } from '#base';
import type { RunningWorker, WorkerLine, WorkerOptions } from '#headends/cli';
import { cli, scene, settle, startCli } from './driver.ts';

const working = async (args: readonly string[]) => {
  const asked: WorkerOptions[] = [];
  const happened: string[] = [];
  let log: (line: WorkerLine) => void = () => undefined;
  const worker = async (options: WorkerOptions, to: (line: WorkerLine) => void): Promise<RunningWorker> => {
    asked.push(options);
    log = to;
    return {
      engine: options.engine,
      agents: ['lead', 'scout'],
      running: () => 3,
      stop: async () => void happened.push('stop'),
    };
  };
  const started = startCli(['worker', ...args], scene(), { behaviour: { worker } });
  await settle();
  return { ...started, asked, happened, log: (line: WorkerLine) => log(line) };
};

const call = { type: 'run', run: 'r1' as RunId, agent: 'lead' } as const;

// invariant: worker-drains
test('a worker says what it drives and how each drive ended, and gives back on a signal', async () => {
  const { asked, stdout, stderr, log, interrupt, code, happened } = await working(['--agent', 'lead.ai', 'scout.ai']);
  expect(asked[0]).toMatchObject({ agents: ['lead.ai', 'scout.ai'], engine: 'none', slots: 16, processPerRun: null });
  expect(asked[0]).toMatchObject({ restAfterMs: 5_000, graceMs: 5_000, workspace: './.cloister' });
  expect(stdout()).toBe('Driving runs of 2 agents (lead, scout), 16 slots, engine: none\n');
  log({ ...call, end: 'ended' });
  log({ ...call, end: 'rests', until: 0 });
  log({ ...call, end: 'lost' });
  log({ ...call, end: 'refused', code: 'agent_unknown', detail: 'No "lead".' });
  expect(stderr()).toBe(
    [
      'lead r1 ended',
      'lead r1 rests until 1970-01-01T00:00:00.000Z',
      'lead r1 given back, or driven elsewhere',
      'lead r1 refused: agent_unknown No "lead".',
      '',
    ].join('\n'),
  );
  interrupt();
  expect(await code).toBe(0);
  expect(happened).toEqual(['stop']);
  expect(stderr()).toContain('Giving back 3 runs …');
});

test('with --process-per-run, each run gets the same agents, workspace and times', async () => {
  const given = '--agent lead.ai --process-per-run --run-memory 256 --rest-after 1 --grace 2 --workspace w --slots 3';
  const { asked, interrupt, code } = await working(given.split(' '));
  const args = 'worker --agent lead.ai --workspace w --rest-after 1 --grace 2'.split(' ');
  expect(asked[0]).toMatchObject({ slots: 3, processPerRun: { args, memoryMb: 256 } });
  interrupt();
  expect(await code).toBe(0);
  const behaviour = { driveOne: () => ({ end: 'rests', until: 7 }) as const };
  const one = startCli(['worker', 'lead.ai', '--run', 'r1', '--run-agent', 'lead'], scene(), { behaviour });
  expect(await one.code).toBe(0);
  expect(JSON.parse(one.stdout())).toEqual({ end: 'rests', until: 7 });
});

test('an engine is told again of the open runs', async () => {
  const told = await cli(['engine', 'reconcile', '--agent', 'lead.ai', '--engine', 'pg-boss']);
  expect([told.code, told.stdout]).toEqual([0, 'Told pg-boss of 1 run.\n']);
  expect((await cli(['engine', 'forget', '--agent', 'lead.ai'])).code).toBe(4);
  expect((await cli(['worker'])).code).toBe(4);
});
