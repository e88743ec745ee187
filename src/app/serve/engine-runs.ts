// Hands requests to an engine, and serves their runs from the store, wherever they work.
//
//   engine-admits-here. A request waits here for its slot and its allowance, as if its run worked here. While the run waits for people, it
//       holds no slot; a long-lived one holds none, since most of the time it rests.
//   engine-start-told. A request is answered once its run is in the store, or with the reason why no worker begins it.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type {
  AgentRequest,
  Caller,
  Clock,
  Cloister,
  FollowedRun,
  RunCall,
  RunEngine,
  RunSummary,
  ServedRun,
} from '#contracts';
import type { SettleAllowance } from './allowances.ts';
import type { RunHolds } from './served-run.ts';
import { plannedRun } from './start-run.ts';
import type { StartOptions } from './start-run.ts';

type EngineRunPorts = {
  readonly cloister: Pick<Cloister, 'driver' | 'runs'>;
  readonly clock: Clock;
  readonly elsewhere: {
    follow(run: RunId): FollowedRun;
    serve(
      caller: Caller,
      summary: RunSummary,
      request: AgentRequest,
      reading: { readonly signal: AbortSignal | undefined; readonly cancels: boolean },
    ): ServedRun;
  };
};

/** What a run holds here until it ends; the signal is that of its client. */
type Held = {
  readonly slot: RunHolds['slot'];
  readonly settle: SettleAllowance | undefined;
  readonly signal: AbortSignal | undefined;
};

export type EngineRuns = {
  /** Rejects with `engine_failed`, or with the reason why no worker could begin the run. */
  start(caller: Caller, request: AgentRequest, options: StartOptions, held: Held): Promise<ServedRun>;
  /** Something was asked of the run. */
  wake(run: RunId): Promise<void>;
};

/** Undefined without an engine. */
export const openEngineRuns = ({
  engine,
  ...ports
}: EngineRunPorts & { readonly engine?: RunEngine | undefined }): EngineRuns | undefined =>
  engine && {
    start: async (caller, request, options, held) => {
      const { cloister, elsewhere } = ports;
      const { kind, agent, input, options: given } = plannedRun(caller, request, options);
      const call = await cloister.driver.request(agent, input, { ...given, resident: kind === 'resident' });
      await engine.start(call);
      const summary = await whenBegun(ports, call, held.signal);
      holdUntilEnd(elsewhere.follow(summary.run), kind === 'resident', held);
      return elsewhere.serve(caller, summary, request, { signal: held.signal, cancels: held.signal !== undefined });
    },
    wake: async (run) => {
      const [found] = await ports.cloister.runs({ run });
      if (found !== undefined) await engine.wake({ run, agent: found.agent });
    },
  };

const holdUntilEnd = (session: FollowedRun, isResident: boolean, { slot, settle }: Held): void => {
  if (isResident) slot.release();
  else session.onWaiting((waits) => (waits ? slot.release() : slot.reacquire()));
  const over = (spent: Parameters<SettleAllowance>[0]): void => {
    settle?.(spent);
    slot.close();
    session.close();
  };
  session.outcome.then(
    (end) => over(end.spent),
    () => over(null),
  );
};

const whenBegun = async (
  { cloister, clock }: EngineRunPorts,
  { run }: RunCall,
  signal: AbortSignal | undefined,
): Promise<RunSummary> => {
  for (let ms = 5; ; ms = Math.min(ms * 2, lookMsMax)) {
    const [summary] = await cloister.runs({ run });
    if (summary !== undefined) return summary;
    const refused = await cloister.driver.refusal(run);
    if (refused !== null) throw refused;
    if (signal?.aborted === true) throw new CloisterError('cancelled');
    await new Promise<void>((resolve) => void clock.timer(ms, resolve));
  }
};

const lookMsMax = 100;
