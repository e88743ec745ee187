// Client tools: an agent's model calls them, and a later request of the client delivers the results.
//
//   client-calls-own-only. A call is visible only to the caller of its run; for every other caller it does not exist.
//   client-results-once. A result is accepted once; the results of one request are accepted all or none.
//   client-runs-bounded. The number of runs waiting for one caller is limited: at the limit, no run with client tools is
//       started.
import { CloisterError, sha256, utf8Bytes } from '#base';
import type { RunId } from '#base';
import { readQuestionId } from '#contracts';
import type {
  AgentRequest,
  Caller,
  CallResult,
  ClientTool,
  Cloister,
  FollowedRun,
  QuestionReport,
  RequestState,
  RunCommand,
  RunSession,
  ToolDefinition,
  WaitingCall,
} from '#contracts';
import { ClientRun } from './client-run.ts';
import { RunRequestStates } from './request-states.ts';
import type { ActiveRun } from './served-run.ts';

const clientToolMsDefault = 24 * 3_600_000;

const [toolsMax, toolsBytesMax, waitingMax, retryAfterMs] = [128, 256 * 1024, 16, 2_000];

type ClientToolsPorts = {
  readonly cloister: Pick<Cloister, 'questions'>;
  readonly clients: { readonly tools: boolean };
  /** How long a client may take for one call. */
  readonly clientToolMs?: number;
  /** The runs of this process. */
  live(): Iterable<ActiveRun>;
};

/** What becomes of results: those that are new, the calls that wait besides them, and the newest frame that their client has seen. */
export type AcceptedResults = {
  readonly fresh: readonly (CallResult & { readonly waiting: WaitingCall })[];
  readonly after: number;
};

type ReadSession = ConstructorParameters<typeof ClientRun>[0] & Pick<FollowedRun, 'run'>;

export class ClientTools {
  readonly #ports: ClientToolsPorts;
  readonly #runs = new WeakMap<Pick<FollowedRun, 'run'>, ClientRun>();
  readonly #states = new RunRequestStates();

  constructor(ports: ClientToolsPorts) {
    this.#ports = ports;
  }

  /** The tools of a new run. Throws `request_unsupported`, `request_invalid`, `request_too_large` or `server_busy`. */
  async definitions(
    caller: Caller,
    { tools = [], resident }: AgentRequest,
  ): Promise<{ readonly tools?: readonly ToolDefinition[] }> {
    if (tools.length === 0) return {};
    if (!this.#ports.clients.tools || resident === true)
      throw new CloisterError('request_unsupported', 'tools: client tools are not allowed here.');
    checkTools(tools);
    await this.#checkWaiting(caller);
    const { clientToolMs: timeoutMs = clientToolMsDefault } = this.#ports;
    const outside = { outside: true, timeoutMs, execute: neverCalled } as const;
    return { tools: tools.map((tool) => ({ ...tool, ...outside })) };
  }

  /** What gives a run the tools of a later request that it does not have; null: nothing does. Throws what `definitions` throws for them. */
  laterTools(tools: readonly ClientTool[] = []): RunCommand<'add-tools'> | null {
    if (tools.length === 0 || !this.#ports.clients.tools) return null;
    checkTools(tools);
    return { do: 'add-tools', tools, timeoutMs: this.#ports.clientToolMs ?? clientToolMsDefault };
  }

  /** The client side of a run of this process. `answered`: how many results it was given before. */
  attach(caller: Caller, session: ReadSession, answered?: number): ClientRun {
    const client = new ClientRun(session, answered);
    this.#runs.set(session, client);
    this.#states.begin(/* probe: told-begin-key */ caller.name, session.run, client.states);
    const over = (): void => this.#states.end(/* probe: told-end-key */ caller.name, session.run);
    session.outcome.then(over, over);
    return client;
  }

  /** Undefined: no request of its client was answered here. */
  find(session: Pick<FollowedRun, 'run'>): ClientRun | undefined {
    return this.#runs.get(session);
  }

  /** For results of a run: if nobody has read it here, another process has answered at least its first request. */
  async findOrAttach(caller: Caller, session: ReadSession): Promise<ClientRun> {
    const found = this.find(session);
    if (found !== undefined) return found;
    const answered = (await this.#calls(session.run)).filter(({ state }) => state !== 'open').length;
    return this.find(session) ?? this.attach(caller, session, Math.max(1, answered));
  }

  /** Whether it waits for people or its client, and nobody for its answer: it need not be waited for. */
  isResting({ session }: ActiveRun): boolean {
    return session.waitsForPeople && this.find(session)?.isAnswering !== true;
  }

  async whenResting({ session }: ActiveRun): Promise<void> {
    const waits = Promise.withResolvers<void>();
    const stop = session.onWaiting((isWaiting) => {
      if (isWaiting) waits.resolve();
    });
    const client = this.find(session);
    await Promise.race([session.outcome, waits.promise.then(() => client?.answered)]);
    stop();
  }

  /** The state of a request of one of this caller's runs; undefined: unknown, or no longer kept. */
  requestState(caller: Caller, run: string, nth: number): RequestState | undefined {
    return this.#states.get(/* probe: told-get-caller */ caller, run, nth);
  }

  /**
   * What can be done with these results. Null: the run has gone on without them. Throws `request_invalid` if it waits for some of them
   * only.
   */
  async accept(
    session: Pick<FollowedRun, 'run' | 'clientCalls'>,
    results: readonly CallResult[],
  ): Promise<AcceptedResults | null> {
    const waiting = new Map((await session.clientCalls()).map((call) => [call.id, call]));
    const fresh = results.flatMap((result) => {
      const call = waiting.get(result.call);
      return call === undefined ? [] : [{ ...result, waiting: call }];
    });
    const after = Math.max(...results.map(({ call }) => readQuestionId(call)?.frame ?? -1));
    if (fresh.length === results.length) return { fresh, after };
    const calls = await this.#calls(session.run);
    const isTaken = (result: CallResult): boolean =>
      calls.some(({ id, answers }) => id === result.call && answers.some(({ signal }) => signal === signalOf(result)));
    const hasGoneOn = calls.some(({ id, answers }) => answers.length > 0 && (readQuestionId(id)?.frame ?? 0) > after);
    const unknown = results.find((result) => !waiting.has(result.call) && !isTaken(result));
    if (unknown === undefined && !hasGoneOn) return { fresh, after };
    if (fresh.length === 0) return null;
    throw unknownCall((unknown ?? results[0]!).call);
  }

  async #calls(run: RunId): Promise<readonly QuestionReport[]> {
    return (await this.#ports.cloister.questions({ run, all: true })).filter(({ why }) => why === 'client');
  }

  async #checkWaiting({ name }: Caller): Promise<void> {
    let count = 0;
    for (const { caller, session } of this.#ports.live())
      if (/* probe: client-run-waits */ caller.name === name && this.find(session)?.isAnswering !== true)
        if ((await session.clientCalls()).length > 0) count += 1;
    if (count < waitingMax) return;
    throw new CloisterError(
      'server_busy',
      `${waitingMax} of your runs are waiting for tool results. Send the results, or cancel the runs.`,
      { retryAfterMs },
    );
  }
}

/** Hands a result to the run that waits for it. */
export const deliver = async (
  { name }: Caller,
  session: RunSession,
  result: AcceptedResults['fresh'][number],
): Promise<void> => {
  const { waiting, text, failed } = result;
  await session.do({
    do: 'answer',
    frame: readQuestionId(waiting.id)!.frame,
    by: name,
    right: 'caller',
    allow: !failed,
    sha256: waiting.sha256,
    reason: text,
    id: signalOf(result),
  });
};

/** The id of the signal that gives a run these tools: the same for the same tools. */
export const signalOfTools = ({ tools }: RunCommand<'add-tools'>): string =>
  `tools-${sha256(JSON.stringify(tools)).slice(0, 24)}`;

/** The same result, sent again, has the same id. */
export const signalOf = ({ text, failed }: CallResult): string => `result-${sha256(JSON.stringify([failed, text]))}`;

/** The run that these results are for, by their calls; null: none. Throws `request_invalid` if there are several. */
export const runOfResults = (results: readonly CallResult[]): RunId | null => {
  const calls = results.map(({ call }) => call);
  const runs = new Set(calls.flatMap((call) => readQuestionId(call)?.run ?? []));
  if (new Set(calls).size < calls.length)
    throw new CloisterError('request_invalid', 'Two results were sent for the same call.');
  if (runs.size > 1)
    throw new CloisterError(
      'request_invalid',
      'The results belong to several responses; send the results of one response at a time.',
    );
  return [...runs][0] ?? null;
};

const neverCalled = (): never => {
  throw new CloisterError('defect', 'The client makes the calls of its tools.');
};

const unknownCall = (id: string): CloisterError =>
  new CloisterError(
    'request_invalid',
    `No run waits for a result of ${JSON.stringify(id.slice(0, 80))}: the call is unknown, already answered, or timed out. Retry without it.`,
  );

const checkTools = (tools: readonly ClientTool[]): void => {
  if (tools.length > toolsMax)
    throw new CloisterError('request_invalid', `tools: ${tools.length} tools were sent; the limit is ${toolsMax}.`);
  const bytes = utf8Bytes(JSON.stringify(tools));
  if (bytes > toolsBytesMax)
    throw new CloisterError(
      'request_too_large',
      `tools: the definitions have ${bytes} bytes; the limit is ${toolsBytesMax}.`,
    );
};
