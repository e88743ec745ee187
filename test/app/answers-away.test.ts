// An answer to a run that another process owns: while that process records it, and while the store cannot be read.
// invariants: answer-durable-before-told
import { expect, test } from 'vitest';
import { defineAgent, openCloister } from 'cloister';
import { openSqliteStore } from '#adapters/stores';
import { CloisterError } from '#base';
import type { ErrorCode } from '#base';
import { countingIds, rehearse, virtualClock } from '#testkit';
import { RunQuestions } from '../../src/app/run-questions.ts';
import { temporaryFolder } from '../isolation/temporary-folder.ts';

const signal = 'a-1';

/** A question, and the log of its run before and after its owner has taken the answer. */
const recordAnswer = async () => {
  await using folder = await temporaryFolder();
  const agent = defineAgent({
    name: 'lead',
    description: 'Sends.',
    prompt: 'Send.',
    models: [rehearse([{ when: { turn: 1 }, reply: { calls: [{ tool: 'send' }] } }, { reply: 'Done.' }])],
    tools: [
      { name: 'send', description: 'Sends.', inputSchema: { type: 'object' }, approve: true, execute: () => 'Sent.' },
    ],
  });
  await using owner = await openCloister({ agents: [agent], workspace: folder.path });
  const session = owner.run('lead', 'Go');
  await new Promise<void>((resolve) => session.onWaiting((waits) => waits && resolve()));
  await session.durable();
  const store = await openSqliteStore(folder.path);
  const before = await store.read(session.run);
  const [question] = await owner.questions();
  await owner.answer(question!.id, { allow: true, sha256: question!.sha256 }, { id: signal });
  await session.outcome;
  const after = await store.read(session.run);
  await store.close();
  return { question: question!, before, after };
};

const recorded = recordAnswer();

/** What happens, in this order, each time that the process which does not own the run looks for the answer. */
type Look = {
  /** The store cannot be read. */
  readonly fails?: ErrorCode;
  /** The signal is gone. */
  readonly gone?: true;
  /** The ruling is in the log. */
  readonly ruled?: true;
};

const answerFromAway = async (looks: readonly Look[], msBeforeExpiry = 60_000): Promise<unknown> => {
  const { question, before, after } = await recorded;
  const clock = virtualClock(question.until - msBeforeExpiry);
  let nth = -1;
  let sent: string | undefined;
  const now = (): Look => looks[Math.min(nth, looks.length - 1)] ?? {};
  const frames = (): typeof before => (now().ruled === true ? after : before);
  const questions = new RunQuestions({
    store: {
      read: async () => frames(),
      list: async () => [],
      hashPrefix: async () => ({ frames: frames().length }) as never,
      signals: async (run) => {
        nth++;
        const { fails, gone } = now();
        if (fails !== undefined) throw new CloisterError(fails);
        return sent !== undefined && gone !== true ? [{ run: run!, id: sent, by: 'operator', at: 0, body: {} }] : [];
      },
      removeSignal: async () => undefined,
    },
    clock,
    ids: countingIds(),
    runs: {
      live: () => undefined,
      durable: async () => undefined,
      signal: async (_run, _command, { id }) => void (sent = id),
    },
    agents: { all: [] },
    continuer: { checkDefinitions: () => undefined },
    resume: () => Promise.reject(new CloisterError('run_owned')),
  });
  const answered = questions.answer(question.id, { allow: true, sha256: question.sha256 }, { id: signal }).then(
    ({ state }) => state,
    (error: unknown) => (error as CloisterError).code,
  );
  await clock.advance(10_000);
  return answered;
};

test.for<[title: string, looks: readonly Look[], told: string, msBeforeExpiry?: number]>([
  ['is taken when its owner has recorded it', [{}, { gone: true, ruled: true }], 'allowed'],
  ['is stored as long as nobody takes it', [{}], 'stored'],
  ['was refused if its signal is gone and nothing was recorded', [{}, { gone: true }], 'answer_invalid'],
  ['waits while the store cannot be read', [{ fails: 'store_busy' }, { gone: true, ruled: true }], 'allowed'],
  ['is stored if the store cannot be read for long', [{ fails: 'store_failed' }], 'stored'],
  ['is told of any other failure', [{ fails: 'run_format' }], 'run_format'],
  [
    'is taken although the time ran out while its owner recorded it',
    [{}, {}, {}, { gone: true, ruled: true }],
    'allowed',
    75,
  ],
  ['came too late if its owner did not take it', [{}, {}, { gone: true }], 'question_answered', 75],
])('an answer %s', async ([, looks, told, msBeforeExpiry]) => {
  expect(await answerFromAway(looks, msBeforeExpiry)).toBe(told);
});

test.for<[fails: ErrorCode, told: ErrorCode]>([
  ['store_failed', 'store_failed'],
  ['store_busy', 'store_busy'],
  ['run_unknown', 'question_unknown'],
  ['store_damaged', 'question_unknown'],
])('a question whose log cannot be read because of %s is refused as %s', async ([fails, told]) => {
  const { question } = await recorded;
  const fail = () => Promise.reject(new CloisterError(fails));
  const questions = new RunQuestions({
    store: { read: fail, list: async () => [], hashPrefix: fail, signals: fail, removeSignal: fail },
    clock: virtualClock(),
    ids: countingIds(),
    runs: { live: () => undefined, durable: async () => undefined, signal: fail },
    agents: { all: [] },
    continuer: { checkDefinitions: () => undefined },
    resume: fail,
  });
  await expect(questions.find(question.id)).rejects.toMatchObject({ code: told });
});
