// Runs of callers that another process of the workspace works on, read through this server.
//
//   elsewhere-like-here. A caller is served such a run by the same functions as one of this process, over a reader of its log.
//   elsewhere-read-while-needed. A log is followed only while somebody here reads the run.
import { CloisterError, PromptlyReleasingMap } from '#base';
import type { RunId } from '#base';
import { outcomeAsSeen } from '#contracts';
import type {
  AgentRequest,
  Caller,
  CallerQuestions,
  Cloister,
  FollowedRun,
  RunSession,
  RunSummary,
  ServedRun,
} from '#contracts';
import { serveWholeRun } from './served-run.ts';
import type { ReadRun } from './served-run.ts';

type ElsewherePorts = {
  readonly cloister: Pick<Cloister, 'follow' | 'signal' | 'agents'>;
  readonly activity: boolean;
  readonly questions: () => Pick<CallerQuestions, 'list'>;
  /** Called, again and again, while nobody works on a run that is read here. */
  readonly onInterrupted: () => void;
};

/** `cancels`: the run ends with its client. */
type ElsewhereReading = { readonly signal: AbortSignal | undefined; readonly cancels: boolean };

export class ElsewhereRuns {
  readonly #ports: ElsewherePorts;
  readonly #followed = new Set<FollowedRun>();
  /** Those whose clients bring results here. */
  readonly #clients = new PromptlyReleasingMap<RunId, ReadRun>();
  #stopping: CloisterError | undefined;

  constructor(ports: ElsewherePorts) {
    this.#ports = ports;
  }

  /** To be closed. */
  follow(run: RunId): FollowedRun {
    const session = this.#ports.cloister.follow(run, { onInterrupted: this.#ports.onInterrupted });
    this.#followed.add(session);
    if (this.#stopping !== undefined) session.close(this.#stopping);
    const over = (): void => void this.#followed.delete(session);
    session.outcome.then(over, over);
    return session;
  }

  /** Reads the log for one purpose at a time. */
  reader(run: RunId): Pick<RunSession, 'outcome' | 'answer' | 'agents' | 'confirm'> {
    const { cloister } = this.#ports;
    const within = async <T>(read: (session: FollowedRun) => Promise<T>): Promise<T> => {
      const session = this.follow(run);
      try {
        return await read(session);
      } finally {
        session.close();
      }
    };
    return {
      get outcome() {
        return within((session) => session.outcome);
      },
      answer: (message, options) => within((session) => session.answer(message, options)),
      confirm: (message) => void cloister.signal(run, { do: 'confirm', message }).catch(() => undefined),
      agents: () => {
        throw new CloisterError('cell_ended', `Run ${run} is running in another process, which knows its live agents.`);
      },
    };
  }

  /** As one of this process; nothing is read before it is asked for. Throws `run_owned` if the run's client has tools. */
  serve(caller: Caller, summary: RunSummary, request: AgentRequest, reading: ElsewhereReading): ServedRun {
    const { run, agent, startedAt } = summary;
    if ((request.tools ?? []).length > 0)
      throw new CloisterError('run_owned', `Run ${run} waits for its client, or works for it.`);
    let opened: ServedRun | undefined;
    const open = (): ServedRun => (opened ??= this.#open(caller, summary, request, reading));
    return {
      run,
      agent,
      startedAt,
      get outcome() {
        return open().outcome;
      },
      events: () => open().events(),
      pieces: () => open().pieces(),
      causes: () => open().causes(),
      asked: () => open().asked!(),
      cancel: () => open().cancel(),
    };
  }

  /** A run whose client brings results here: followed until it has ended, like one of this process. */
  forClient(caller: Caller, summary: RunSummary): ReadRun {
    const { run, agent, goal } = summary;
    const known = this.#clients.get(run);
    if (known !== undefined) return known;
    const session = this.follow(run);
    const read: ReadRun = {
      ...this.#read(caller, summary, { agent, input: goal }, session),
      // The client has not heard of the calls that the run waits for.
      onDisconnect: () => {
        session.cancel();
        session.close();
      },
    };
    this.#clients.set(run, read);
    const over = (): void => this.#clients.delete(run);
    session.outcome.then(over, over);
    return read;
  }

  #open(caller: Caller, summary: RunSummary, request: AgentRequest, { signal, cancels }: ElsewhereReading): ServedRun {
    const session = this.follow(summary.run);
    const read = this.#read(caller, summary, request, session);
    if (cancels) return serveWholeRun(read, this.#ports.activity, signal);
    const leave = (): void => session.close();
    if (signal?.aborted === true) leave();
    signal?.addEventListener('abort', leave, { once: true });
    return serveWholeRun(read, this.#ports.activity, undefined);
  }

  /** As `served-run.ts` takes it. */
  #read(
    caller: Caller,
    { run, agent: name, startedAt }: RunSummary,
    request: AgentRequest,
    session: FollowedRun,
  ): ReadRun {
    const outcome = session.outcome.then((end) => outcomeAsSeen(end, caller.sees));
    outcome.catch(() => undefined);
    return {
      session,
      caller,
      agent: this.#ports.cloister.agents.find((one) => one.name === name) ?? unknownAgent(name),
      request,
      startedAt,
      outcome,
      onDisconnect: () => {
        if (!session.waitsForPeople) session.cancel();
        session.close();
      },
      questions: () => this.#ports.questions().list(caller, run),
    };
  }

  /** Whoever reads is told that the server stops, and can go on reading at another one. */
  close(): void {
    this.#stopping = new CloisterError('server_stopping');
    for (const session of this.#followed) session.close(this.#stopping);
  }
}

/** One that is not served here. */
const unknownAgent = (name: string): ReadRun['agent'] => ({ name, signature: { output: { format: 'markdown' } } });
