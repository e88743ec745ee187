// Hands the results of a client's tools to a run that another process owns.
//
//   client-results-durable-elsewhere. The results are signals: on disk before the client is answered, and taken once. What the run does
//       with them is read like that of a run of this process.
import { CloisterError } from '#base';
import type { Caller, Cloister, RunSummary } from '#contracts';
import { signalOf, signalOfTools } from './client-tools.ts';
import type { ClientRunTarget } from './continue-client-run.ts';
import type { ElsewhereRuns } from './elsewhere-runs.ts';

type ElsewherePorts = {
  readonly cloister: Pick<Cloister, 'answer' | 'signal'>;
  readonly elsewhere: Pick<ElsewhereRuns, 'forClient'>;
};

/** Delivering rejects with `run_owned` if messages come with the results. */
export const clientRunElsewhere = (
  { cloister, elsewhere }: ElsewherePorts,
  summary: RunSummary,
  caller: Caller,
): ClientRunTarget => {
  const { run } = summary;
  const by = caller.name;
  return {
    read: elsewhere.forClient(caller, summary),
    async deliver({ results, tools, messages }) {
      if (messages.length > 0) throw messagesRefused(run);
      // Signals are carried out in their order, so the model has the tools when it sees the results.
      if (tools !== null) await cloister.signal(run, tools, { by, id: signalOfTools(tools) });
      await Promise.all(
        results.map((result) => {
          const { waiting, text: reason, failed } = result;
          const answer = { allow: !failed, sha256: waiting.sha256, reason };
          const resume = async () => undefined;
          return cloister.answer(waiting.id, answer, { by, id: signalOf(result), right: () => 'caller', resume });
        }),
      );
    },
  };
};

const messagesRefused = (run: string): CloisterError =>
  new CloisterError(
    'run_owned',
    `Run ${run} is running in another process. It takes results from here, but no messages: send the results alone, or to that server.`,
    { retryAfterMs: 1_000 },
  );
