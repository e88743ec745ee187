// Results of clients' tools, for whichever process works on their run.
import { CloisterError } from '#base';
import type { ErrorCode, RunId } from '#base';
import type { Caller, CallerRun, ClientRules, ClientToolResults, Cloister, RunSummary, ServedRun } from '#contracts';
import { runOfResults } from './client-tools.ts';
import type { ClientTools } from './client-tools.ts';
import { clientRunHere, continueClientRun } from './continue-client-run.ts';
import { clientRunElsewhere } from './continue-elsewhere.ts';
import type { ElsewhereRuns } from './elsewhere-runs.ts';
import type { LiveRuns } from './live-runs.ts';
import type { ActiveRun } from './served-run.ts';

type ContinuationPorts = {
  readonly cloister: Cloister;
  readonly clients: ClientRules;
  readonly tools: ClientTools;
  readonly live: LiveRuns;
  readonly elsewhere: ElsewhereRuns;
  /** Rejects with `run_unknown`. */
  readonly find: (caller: Caller, run: string) => Promise<CallerRun>;
  readonly resume: (caller: Caller, run: RunId) => Promise<unknown>;
};

export class ClientContinuations {
  readonly #ports: ContinuationPorts;

  constructor(ports: ContinuationPorts) {
    this.#ports = ports;
  }

  /** Null: no run waits for these results. */
  async continue(caller: Caller, given: ClientToolResults, signal?: AbortSignal): Promise<ServedRun | null> {
    const { clients, live, tools } = this.#ports;
    const checkOpen = (): void => live.checkOpen();
    checkOpen();
    const run = runOfResults(given.results);
    const found = run === null ? null : await this.#findWaiting(caller, run);
    if (found === null) return null;
    const target =
      'state' in found ? clientRunElsewhere(this.#ports, found, caller) : clientRunHere(found, caller, checkOpen);
    const { activity } = clients;
    return continueClientRun(tools, target, { caller, given, checkOpen }, { activity, signal });
  }

  /** The run of this caller, resumed if nobody owns it; of another process, what is known of it. Null: unknown, ended, or cannot be resumed. */
  #findWaiting(caller: Caller, run: RunId): Promise<ActiveRun | RunSummary | null> {
    const { find, live, resume } = this.#ports;
    return nullIfLost(async (): Promise<ActiveRun | RunSummary | null> => {
      for (let tries = 0; ; tries++) {
        // probe: client-call-of-caller
        const { summary } = await find({ name: caller.name }, run);
        await live.resuming(run);
        const active = live.get(run);
        if (active !== undefined) return active;
        if (summary.state !== 'interrupted') return summary.state === 'running' ? summary : null;
        try {
          await resume(caller, run);
        } catch (error) {
          // Another server was faster.
          if (tries > 0 || !(error instanceof CloisterError) || error.code !== 'run_owned') throw error;
        }
      }
    });
  }
}

/** What `find` resolves to; null if it fails because nobody can continue the run. */
const nullIfLost = async <T>(find: () => Promise<T>): Promise<T | null> => {
  try {
    return await find();
  } catch (error) {
    if (error instanceof CloisterError && lostRunCodes.includes(error.code)) return null;
    throw error;
  }
};

/** What the results of such a run say is then known to the client alone. */
const lostRunCodes: readonly ErrorCode[] = [
  'run_unknown',
  'run_ended',
  'run_format',
  'replay_differs',
  'tools_gone',
  'agent_unknown',
];
