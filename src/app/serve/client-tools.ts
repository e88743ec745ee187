// Client tools: an agent's model calls them, and a later request of the client delivers the results.
//
//   client-call-id-random. A call has a random id and is visible only to the caller of its run; for every other caller it does
//       not exist.
//   client-results-once. A result is accepted once; the results of one request are accepted all or none.
//   client-runs-bounded. The number of runs waiting for one caller is limited: at the limit, no run with client tools is
//       started.
import { CloisterError, utf8Bytes } from '#base';
import type { AgentRequest, Caller, CallResult, ClientTool, RequestState } from '#contracts';
import { ClientRun } from './client-run.ts';
import type { WaitingCall } from './client-run.ts';
import { RunRequestStates } from './request-states.ts';

/** How long a client may take for one call, unless the operator sets another limit. */
export const clientToolMsDefault = 5 * 60_000;

const [toolsMax, toolsBytesMax, waitingMax, retryAfterMs] = [128, 256 * 1024, 16, 2_000];

type PendingCall = { readonly run: ClientRun; readonly call: WaitingCall };

export class ClientTools {
  readonly #timeoutMs: number;
  readonly #allowed: boolean;
  readonly #waiting = new Map<string, PendingCall>();
  readonly #runs = new Set<ClientRun>();
  readonly #states = new RunRequestStates();
  #stopped = false;

  /** `allowed`: whether clients may bring tools. */
  constructor(timeoutMs: number, allowed = true) {
    this.#timeoutMs = timeoutMs;
    this.#allowed = allowed;
  }

  /** As `open`; undefined for a request without tools. Throws `request_unsupported` if it may have none. */
  openFor(caller: Caller, { tools = [], oneCall, resident }: AgentRequest): ClientRun | undefined {
    if (tools.length === 0) return undefined;
    if (!this.#allowed || resident === true)
      throw new CloisterError('request_unsupported', 'tools: client tools are not allowed here.');
    return this.open(caller, tools, oneCall);
  }

  /** Creates the client side of a new run. Throws `request_invalid`, `request_too_large` or `server_busy`. */
  open(caller: Caller, tools: readonly ClientTool[], oneCall = false): ClientRun {
    checkTools(tools);
    this.#checkWaiting(caller);
    const run: ClientRun = new ClientRun(caller.name, tools, {
      timeoutMs: this.#timeoutMs,
      oneCall,
      wait: (call) => void this.#waiting.set(call.id, { run, call }),
      forget: ({ id }) => void this.#waiting.delete(id),
      onStart: (id, states) => this.#states.begin(/* probe: told-begin-key */ caller.name, id, states),
      onEnd: (id) => {
        this.#runs.delete(run);
        if (id !== null) this.#states.end(/* probe: told-end-key */ caller.name, id);
      },
      isStopped: () => this.#stopped,
    });
    this.#runs.add(run);
    return run;
  }

  awaits({ name }: Caller, calls: readonly string[]): boolean {
    return calls.some((id) => this.#waiting.get(id)?.run.caller === name);
  }

  /** The state of a request of one of this caller's runs; undefined: unknown, or no longer kept. */
  requestState(caller: Caller, run: string, nth: number): RequestState | undefined {
    return this.#states.get(/* probe: told-get-caller */ caller, run, nth);
  }

  /** Finds the run that waits for these results. Throws `request_invalid`. */
  findRun(caller: Caller, results: readonly CallResult[]): ClientRun {
    return this.#findCalls(caller, results)[0]!.run;
  }

  /** Delivers the results to the run that waits for them. Throws `request_invalid`. */
  deliver(caller: Caller, results: readonly CallResult[]): void {
    for (const [index, { call }] of this.#findCalls(caller, results).entries()) call.settle(results[index]!);
  }

  #findCalls({ name }: Caller, results: readonly CallResult[]): readonly PendingCall[] {
    const found = results.map(({ call: id }) => {
      const waiting = this.#waiting.get(id);
      // probe: client-call-of-caller
      if (waiting?.run.caller !== name) throw unknownCall(id);
      return waiting;
    });
    const run = found[0]?.run;
    if (run === undefined) throw new CloisterError('request_invalid', 'No tool result was sent.');
    if (found.some((one) => one.run !== run))
      throw new CloisterError(
        'request_invalid',
        'The results belong to several responses; send the results of one response at a time.',
      );
    if (new Set(found).size < found.length)
      throw new CloisterError('request_invalid', 'Two results were sent for the same call.');
    return found;
  }

  #checkWaiting({ name }: Caller): void {
    const waiting = [...this.#runs].filter((run) => /* probe: client-run-waits */ run.caller === name && run.isWaiting);
    if (waiting.length < waitingMax) return;
    throw new CloisterError(
      'server_busy',
      `${waitingMax} of your runs are waiting for tool results. Send the results, or cancel the runs.`,
      { retryAfterMs },
    );
  }

  /** No more results can arrive: cancels runs that wait for some, and later those that start to wait. */
  stop(): void {
    this.#stopped = true;
    for (const run of this.#runs) run.cancelIfUnattended();
  }
}

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
