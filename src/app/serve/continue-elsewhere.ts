// Continues a run that another process owns with the results of its client's tools.
//
//   client-results-durable-elsewhere. The results are signals: on disk before the client is answered, and taken once. Its answer is
//       read from the log, when the run waits for the client again or has ended.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import { outcomeAsSeen, readQuestionId, seesCauses } from '#contracts';
import type {
  Caller,
  ClientToolPause,
  ClientToolResults,
  Clock,
  Cloister,
  QuestionReport,
  RunReport,
  RunSummary,
  ServedRun,
  SpentTokens,
} from '#contracts';
import { signalOf, signalOfTools } from './client-tools.ts';
import type { AcceptedResults, ClientTools } from './client-tools.ts';

type ElsewherePorts = { readonly cloister: Cloister; readonly clock: Clock; readonly tools: ClientTools };

/** What the client is told next. */
type NextAnswer = { readonly report: RunReport; readonly text: string; readonly calls: readonly QuestionReport[] };

/** Null: the run does not wait for these results, and nothing was accepted. Rejects with `run_owned` if they were taken before. */
export const continueElsewhere = async (
  ports: ElsewherePorts,
  { run, startedAt, agent }: RunSummary,
  { caller, given }: { readonly caller: Caller; readonly given: ClientToolResults },
  signal: AbortSignal | undefined,
): Promise<ServedRun | null> => {
  const { cloister, tools } = ports;
  const clientCalls = async () =>
    (await openCalls(cloister, run)).map(({ id, tool: name, args, sha256 }) => ({ id, name, args, sha256 }));
  const accepted = await tools.accept({ run, clientCalls }, given.results);
  if (accepted === null) return null;
  if (accepted.fresh.length === 0 || given.messages.length > 0)
    throw new CloisterError('run_owned', `Run ${run} is running in another process.${adviceFor(given)}`, {
      retryAfterMs: 1_000,
    });
  const { spent: before } = await cloister.show(run);
  const more = tools.laterTools(given.tools);
  // Signals are carried out in their order, so the model has the tools when it sees the results.
  if (more !== null) await cloister.signal(run, more, { by: caller.name, id: signalOfTools(more) });
  await sendAll(cloister, caller, accepted.fresh);
  const cancel = (): void => void cloister.signal(run, { do: 'cancel' }, { by: caller.name }).catch(() => undefined);
  const next = followUntilAnswer(ports, run, accepted.after, signal);
  next.catch(() => {
    if (signal?.aborted === true) cancel();
  });
  const spentSince = (spent: SpentTokens): SpentTokens => ({
    inputTokens: Math.max(0, spent.inputTokens - before.inputTokens),
    cacheReadTokens: Math.max(0, spent.cacheReadTokens - before.cacheReadTokens),
    cacheWriteTokens: Math.max(0, spent.cacheWriteTokens - before.cacheWriteTokens),
    outputTokens: Math.max(0, spent.outputTokens - before.outputTokens),
  });
  const outcome = next.then(({ report }) => {
    const [root] = report.cells;
    // Never settles while the run waits for its client.
    if (root?.outcome == null) return new Promise<never>(() => undefined);
    const end = outcomeAsSeen({ ...root.outcome, run, cell: root.cell }, caller.sees);
    return { ...end, spent: { ...end.spent, ...spentSince(end.spent) } };
  });
  outcome.catch(() => undefined);
  return {
    run,
    nth: 1 + (await answeredCalls(cloister, run)),
    agent,
    startedAt,
    outcome,
    events: async function* () {
      yield* (await next).report.events;
    },
    causes: async () => (seesCauses(caller.sees) ? (await next).report.causes : undefined),
    pieces: async function* () {
      const { text } = await next;
      if (text !== '') yield { type: 'text', text };
    },
    pause: async (): Promise<ClientToolPause | null> => {
      const { calls, report } = await next;
      if (calls.length === 0) return null;
      const shown = given.oneCall === true ? calls.slice(0, 1) : calls;
      return { calls: shown.map(({ id, tool: name, args }) => ({ id, name, args })), spent: spentSince(report.spent) };
    },
    cancel,
  };
};

const adviceFor = ({ messages }: ClientToolResults): string =>
  messages.length === 0
    ? ''
    : ' It takes results from here, but no messages: send the results alone, or to that server.';

const clientQuestions = async (cloister: Cloister, run: RunId): Promise<readonly QuestionReport[]> =>
  (await cloister.questions({ run, all: true })).filter(({ why }) => why === 'client');

const openCalls = async (cloister: Cloister, run: RunId): Promise<readonly QuestionReport[]> =>
  (await clientQuestions(cloister, run)).filter(({ state }) => state === 'open');

const answeredCalls = async (cloister: Cloister, run: RunId): Promise<number> =>
  (await clientQuestions(cloister, run)).filter(({ state }) => state !== 'open').length;

const sendAll = async (cloister: Cloister, { name: by }: Caller, results: AcceptedResults['fresh']): Promise<void> => {
  await Promise.all(
    results.map((result) => {
      const { waiting, text: reason, failed } = result;
      const answer = { allow: !failed, sha256: waiting.sha256, reason };
      const resume = async () => undefined;
      return cloister.answer(waiting.id, answer, { by, id: signalOf(result), right: () => 'caller', resume });
    }),
  );
};

const followUntilAnswer = async (
  { cloister, clock }: ElsewherePorts,
  run: RunId,
  after: number,
  signal: AbortSignal | undefined,
): Promise<NextAnswer> => {
  for (;;) {
    if (signal?.aborted === true) throw new CloisterError('cancelled');
    const [summary] = await cloister.runs({ run });
    const calls = (await openCalls(cloister, run)).filter(({ id }) => (readQuestionId(id)?.frame ?? 0) > after);
    if (summary?.state === 'ended' || calls.length > 0) return readAnswer(cloister, run, calls);
    if (summary?.state !== 'running')
      throw new CloisterError('run_owned', `The process that ran ${run} has left it. Send the results again.`, {
        retryAfterMs: 1_000,
      });
    const waited = Promise.withResolvers<void>();
    clock.timer(followMs, waited.resolve);
    await waited.promise;
  }
};

const followMs = 100;

const readAnswer = async (cloister: Cloister, run: RunId, calls: readonly QuestionReport[]): Promise<NextAnswer> => {
  const report = await cloister.show(run);
  if (calls.length === 0) return { report, text: report.output, calls };
  const [root] = report.cells;
  const said =
    (await cloister.transcript(run)).cells.find(({ cell }) => cell === root?.cell)?.entries.at(-1)?.said ?? [];
  const text = said.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return { report, text, calls };
};
