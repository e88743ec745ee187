// Tools that clients have: an agent's model calls them, and a later request of the client brings the results.
//
//   C1. A call is known by a random id, and to the caller whose run it is in: for everybody else there is no such call.
//   C2. A result is taken once; of the results of one request, all or none.
//   C3. So many runs of one caller wait for it at a time: while it has as many, none is begun that could come to wait.
import { CloisterError, utf8Bytes } from '#base';
import type { Caller, CallResult, ClientTool, RequestState } from '#contracts';
import { ClientRun } from './client-run.ts';
import type { WaitingCall } from './client-run.ts';
import { RunRequestStates } from './request-states.ts';

/** How long a client may take for one call, unless the operator says otherwise. */
export const clientToolMsDefault = 5 * 60_000;

const [toolsMax, toolsBytesMax, waitingMax, retryAfterMs] = [128, 256 * 1024, 16, 2_000];

type Waiting = { readonly run: ClientRun; readonly call: WaitingCall };

export class ClientTools {
  readonly #timeoutMs: number;
  readonly #waiting = new Map<string, Waiting>();
  readonly #runs = new Set<ClientRun>();
  readonly #told = new RunRequestStates();
  #stopped = false;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** What a run of this caller is begun with. Throws `request_invalid`, `request_too_large` or `server_busy`. */
  open(caller: Caller, tools: readonly ClientTool[], oneCall = false): ClientRun {
    checkTools(tools);
    this.#checkWaiting(caller);
    const run: ClientRun = new ClientRun(caller.name, tools, {
      timeoutMs: this.#timeoutMs,
      oneCall,
      wait: (call) => void this.#waiting.set(call.id, { run, call }),
      forget: ({ id }) => void this.#waiting.delete(id),
      begun: (id, parts) => this.#told.begin(/* probe: told-begin-key */ caller.name, id, parts),
      ended: (id) => {
        this.#runs.delete(run);
        if (id !== null) this.#told.end(/* probe: told-end-key */ caller.name, id);
      },
      isStopped: () => this.#stopped,
    });
    this.#runs.add(run);
    return run;
  }

  awaits({ name }: Caller, calls: readonly string[]): boolean {
    return calls.some((id) => this.#waiting.get(id)?.run.caller === name);
  }

  /** What a request of a run of this caller was told; undefined: it is not kept, or never was. */
  told(caller: Caller, run: string, nth: number): RequestState | undefined {
    return this.#told.get(/* probe: told-get-caller */ caller, run, nth);
  }

  /** The run that waits for these. Throws `request_invalid`. */
  runOf(caller: Caller, results: readonly CallResult[]): ClientRun {
    return this.#find(caller, results)[0]!.run;
  }

  /** The run that waits for these has them now. Throws `request_invalid`. */
  take(caller: Caller, results: readonly CallResult[]): void {
    for (const [place, { call }] of this.#find(caller, results).entries()) call.settle(results[place]!);
  }

  #find({ name }: Caller, results: readonly CallResult[]): readonly Waiting[] {
    const found = results.map(({ call: id }) => {
      const waiting = this.#waiting.get(id);
      // probe: client-call-of-caller
      if (waiting?.run.caller !== name) throw unknownCall(id);
      return waiting;
    });
    const run = found[0]?.run;
    if (run === undefined) throw new CloisterError('request_invalid', 'There is no result.');
    if (found.some((one) => one.run !== run))
      throw new CloisterError('request_invalid', 'The results are for calls of several answers; send those of one.');
    if (new Set(found).size < found.length)
      throw new CloisterError('request_invalid', 'There are two results for one call.');
    return found;
  }

  #checkWaiting({ name }: Caller): void {
    const waiting = [...this.#runs].filter((run) => /* probe: client-run-waits */ run.caller === name && run.waits);
    if (waiting.length < waitingMax) return;
    throw new CloisterError(
      'server_busy',
      `${waitingMax} runs of yours wait for results of your tools: send those, or cancel the runs.`,
      { retryAfterMs },
    );
  }

  /** Nobody can bring results any more: who waits for them has ended, and who comes to wait ends then. */
  stop(): void {
    this.#stopped = true;
    for (const run of this.#runs) run.endIfLeft();
  }
}

const unknownCall = (id: string): CloisterError =>
  new CloisterError(
    'request_invalid',
    `No run waits for a result of ${JSON.stringify(id.slice(0, 80))}: there is no such call, or it has its result, or the time for it is over. Ask again without it.`,
  );

const checkTools = (tools: readonly ClientTool[]): void => {
  if (tools.length > toolsMax)
    throw new CloisterError('request_invalid', `tools: at most ${toolsMax} are taken; there are ${tools.length}.`);
  const bytes = utf8Bytes(JSON.stringify(tools));
  if (bytes > toolsBytesMax)
    throw new CloisterError(
      'request_too_large',
      `tools: at most ${toolsBytesMax} bytes are taken; they have ${bytes}.`,
    );
};
