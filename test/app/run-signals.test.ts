// What becomes of a signal that the run of this process refuses: while it is left, while its store fails, and otherwise. And what its sender
// is told if the run ends meanwhile.
// invariants: signal-kept-until-durable
import { expect, test } from 'vitest';
import { memoryStore } from '#adapters/stores';
import { CloisterError } from '#base';
import type { ErrorCode, RunId } from '#base';
import type { RunCommand, RunSummary, Store } from '#contracts';
import { countingIds, virtualClock } from '#testkit';
import type { AgentList } from '../../src/app/agent-list.ts';
import type { LocalRunSession } from '../../src/app/run-session.ts';
import { RunSignals } from '../../src/app/run-signals.ts';

const run = 'aaaaaaaaaaaa' as RunId;
const answer: RunCommand<'answer'> = {
  do: 'answer',
  frame: 3,
  by: 'ann',
  right: 'named',
  allow: true,
  sha256: 'x',
} as never;

type FakeRun = {
  /** What the run says to the command; null: it takes it. */
  readonly refuses: ErrorCode | null;
  /** Nothing more is recorded, because its process closes. */
  readonly left?: boolean;
  /** Whether its frames reach the disk, each time that somebody waits for it. */
  readonly durable?: readonly boolean[];
};

/** How often the command was tried, and the signals that are left. */
const carryOut = async ({ refuses, left = false, durable = [] }: FakeRun) => {
  const [store, clock] = [memoryStore(), virtualClock()];
  const tried: RunCommand[] = [];
  const [isDurable, done] = [[...durable], Promise.withResolvers<void>()];
  const session = {
    run,
    isBroken: left,
    cancel: () => undefined,
    durable: async () => {
      if (isDurable.shift() === false) throw new CloisterError('store_failed', 'The disk is full.');
    },
    do: async (command: RunCommand) => {
      tried.push(command);
      done.resolve();
      if (refuses !== null) throw new CloisterError(refuses);
    },
  } as unknown as LocalRunSession;
  const signals = new RunSignals({ store, clock, ids: countingIds(), resources: { redactFor: () => null } }, {
    findInTree: () => undefined,
  } as unknown as AgentList);
  const signal = { run, id: 'a-1', by: 'ann', at: 0, body: { command: answer as never } };
  await store.putSignal(signal);
  signals.open(session, [signal]);
  await done.promise;
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  const kept = (await store.signals(run)).map(({ id }) => id);
  signals.close(run);
  return { tried: tried.length, kept };
};

test.for<[title: string, fake: FakeRun, kept: readonly string[]]>([
  ['is removed once it was carried out', { refuses: null }, []],
  ['is removed if the run refuses it for good', { refuses: 'question_answered' }, []],
  ['stays if the run refuses it because it is being left', { refuses: 'cell_ended', left: true }, ['a-1']],
  ['stays if the run was left while it was carried out', { refuses: null, left: true }, ['a-1']],
  ['stays if it could not be recorded', { refuses: 'store_failed' }, ['a-1']],
  ['stays if it was done and is not on disk', { refuses: null, durable: [true, false] }, ['a-1']],
  [
    'stays if what it was refused for is not on disk',
    { refuses: 'question_answered', durable: [true, false] },
    ['a-1'],
  ],
])('a signal %s', async ([, fake, kept]) => {
  expect(await carryOut(fake)).toEqual({ tried: 1, kept });
});

/** Puts a signal into a store whose run ends with this status while the signal is stored, before its owner has removed it. */
const putWhileEnding = async (command: RunCommand, status: RunSummary['status']) => {
  const store = memoryStore();
  let state: RunSummary['state'] = 'running';
  const ending: Store = {
    ...store,
    putSignal: async (signal) => {
      const isNew = await store.putSignal(signal);
      state = 'ended';
      return isNew;
    },
    list: async () => [{ run, agent: 'lead', state, status } as RunSummary],
    read: async () => [],
    signals: (which) => store.signals(which),
    removeSignal: (of, id) => store.removeSignal(of, id),
  };
  const ports = { store: ending, clock: virtualClock(), ids: countingIds(), resources: { redactFor: () => null } };
  const signals = new RunSignals(ports, { findInTree: () => undefined } as unknown as AgentList);
  const told = await signals.put(run, command, { by: 'ann' }).then(
    () => 'done',
    (error: unknown) => (error as CloisterError).code,
  );
  return { told, left: await store.signals(run) };
};

test.for<[title: string, command: RunCommand, status: RunSummary['status'], told: string]>([
  ['cancelled, its canceller is told that it is', { do: 'cancel' }, 'cancelled', 'done'],
  ['completed, its canceller is told that it had ended', { do: 'cancel' }, 'completed', 'run_ended'],
  ['completed, whoever asked it to finish is told so', { do: 'finish' }, 'completed', 'done'],
  [
    'completed without the message, its sender is told that it had ended',
    { do: 'send', text: 'Hi.' },
    'completed',
    'run_ended',
  ],
])('if a run ends as %s', async ([, command, status, told]) => {
  expect(await putWhileEnding(command, status)).toEqual({ told, left: [] });
});
