// Requests that a client may send again: the same key gives the same run.
//
//   same-key-same-run. The id of the run follows from the caller and the key, and a run's log begins once. So the same key finds
//       the same run after a crash and from another process too, until the key has expired.
//   key-expires-after-end. A key expires when its run has ended that long ago: the next request with it is new, whatever it asks. Before
//       that, a client that still asks for the outcome would start another run.
//   same-key-same-request. A key that was used for another request is refused.
import { canonicalJson, CloisterError, sha256 } from '#base';
import type { Hash, Json, RunId } from '#base';
import { keyedRunId, outcomeAsSeen, seesCauses } from '#contracts';
import type {
  AgentRequest,
  Caller,
  CallerRun,
  ClientRules,
  Clock,
  Cloister,
  FollowOptions,
  RunOptions,
  RunReport,
  ServedRun,
} from '#contracts';
import type { ElsewhereRuns } from './elsewhere-runs.ts';
import { serveActive } from './served-run.ts';
import type { ActiveRun } from './served-run.ts';

type KeyedRequestPorts = {
  readonly cloister: Pick<Cloister, 'runs' | 'show' | 'storage'>;
  readonly clients: ClientRules;
  readonly clock: Clock;
  /** How long a key holds after the end of its run. Default: a day. */
  readonly keyMs?: number;
  readonly findActive: (run: RunId) => ActiveRun | undefined;
  readonly resume: (caller: Caller, run: RunId) => Promise<ServedRun>;
  readonly elsewhere: Pick<ElsewhereRuns, 'serve'>;
};

type OnlyRun = Required<NonNullable<RunOptions['only']>> & { readonly requestHash: string };

export class KeyedRequests {
  readonly #ports: KeyedRequestPorts;
  /** What is being started here: it may wait for a slot or for its tool servers, and nobody else can see it yet. */
  readonly #starting = new Map<RunId, Promise<ServedRun>>();

  constructor(ports: KeyedRequestPorts) {
    this.#ports = ports;
  }

  /** The run of this caller and key, whoever has started it; a new one if there is none. */
  async start(
    caller: Caller,
    request: AgentRequest & { readonly key: string },
    startNew: (only: OnlyRun) => Promise<ServedRun>,
    signal?: AbortSignal,
  ): Promise<ServedRun> {
    const requestHash = hashRequest(request);
    for (let tries = 0; ; tries++) {
      const only = { run: await this.#runOf(caller, request), requestHash };
      // However long that takes. If it fails, this request tries itself.
      await this.#starting.get(only.run)?.catch(() => undefined);
      const found = await this.#serveAgain(caller, only, request, signal);
      if (found !== null) return found;
      if (this.#starting.has(only.run)) continue;
      const starting = startNew(only);
      this.#starting.set(only.run, starting);
      const forget = (): void => void this.#starting.delete(only.run);
      void starting.then(forget, forget);
      try {
        return await starting;
      } catch (error) {
        // Somebody else was faster, and its run shows as soon as it is on disk.
        const isTaken = error instanceof CloisterError && (error.code === 'run_exists' || error.code === 'run_owned');
        if (!isTaken || tries >= triesMax) throw error;
        await new Promise<void>((resolve) => void this.#ports.clock.timer(retryMs, resolve));
      }
    }
  }

  /** The run that the key stands for now. Of runs with one key, each began after the key had expired with the one before. */
  async #runOf({ name }: Caller, { key, lastingKey }: AgentRequest & { readonly key: string }): Promise<RunId> {
    const idOf = (nth: number): RunId => keyedRunId(name, key, nth);
    if (lastingKey === true || !(await this.#isUsed(idOf(0)))) return idOf(0);
    let [last, unused] = [0, 1];
    while (await this.#isUsed(idOf(unused))) [last, unused] = [unused, 2 * unused];
    while (unused - last > 1) {
      const middle = Math.floor((last + unused) / 2);
      if (await this.#isUsed(idOf(middle))) last = middle;
      else unused = middle;
    }
    return (await this.#hasExpired(idOf(last))) ? idOf(unused) : idOf(last);
  }

  #isStarted(run: RunId): boolean {
    return this.#starting.has(run) || this.#ports.findActive(run) !== undefined;
  }

  async #isUsed(run: RunId): Promise<boolean> {
    const { cloister } = this.#ports;
    if (this.#isStarted(run) || (await cloister.runs({ run })).length > 0) return true;
    return (await cloister.storage.tombstone(run)) !== null;
  }

  async #hasExpired(run: RunId): Promise<boolean> {
    const { cloister, clock, keyMs = keyMsDefault } = this.#ports;
    if (this.#isStarted(run)) return false;
    const [summary] = await cloister.runs({ run });
    const deleted = summary === undefined ? await cloister.storage.tombstone(run) : null;
    // Who asked for the deletion may have sent the request, too.
    const heldSince = summary?.endedAt ?? deleted?.deletedAt;
    return heldSince !== undefined && clock.now() >= heldSince + keyMs;
  }

  /** A further reader of a run that was found. Rejects with `run_owned` if nobody works on it and it has not ended. */
  async follow(caller: Caller, find: () => Promise<CallerRun>, options: FollowOptions = {}): Promise<ServedRun> {
    const found = await find();
    const { summary } = found;
    const active = this.#ports.findActive(summary.run);
    // An operator who stops reading the run of somebody else does not end it.
    const { signal: _signal, ...reading } = options;
    const isOwn = summary.caller === caller.name;
    if (active !== undefined) return serveActive(active, this.#ports.clients.activity, isOwn ? options : reading);
    const details = options.events?.details === true;
    if (summary.state === 'ended') return servedFromReport(await found.report({ details }), caller);
    if (summary.state !== 'running') throw new CloisterError('run_owned', `Run ${summary.run} is not running.`);
    const request = { agent: summary.agent, input: summary.goal, stream: options.events !== undefined, details };
    return this.#ports.elsewhere.serve(caller, summary, request, { signal: options.signal, cancels: isOwn });
  }

  /** Null if there is no such run. Rejects with `key_reused`. */
  async #serveAgain(
    caller: Caller,
    { run, requestHash }: OnlyRun & { readonly run: RunId },
    request: AgentRequest,
    signal: AbortSignal | undefined,
  ): Promise<ServedRun | null> {
    const { cloister, clients, elsewhere, findActive, resume } = this.#ports;
    const active = findActive(run);
    if (active !== undefined) {
      checkSameRequest(run, hashRequest(active.request), requestHash);
      await active.session.durable();
      return serveActive(active, clients.activity);
    }
    const [summary] = await cloister.runs({ run });
    if (summary === undefined) return this.#unlessDeleted(run);
    const report = await cloister.show(run, { sees: caller.sees ?? 'answers' });
    checkSameRequest(run, report.requestHash, requestHash);
    if (summary.state === 'interrupted') return resume(caller, run);
    if (summary.state === 'ended') return servedFromReport(report, caller);
    return elsewhere.serve(caller, summary, request, { signal, cancels: false });
  }

  /** What was deleted is not run again: whoever sent the request may have asked for the deletion. Rejects with `key_reused`. */
  async #unlessDeleted(run: RunId): Promise<null> {
    const tombstone = await this.#ports.cloister.storage.tombstone(run);
    if (tombstone === null) return null;
    throw new CloisterError('key_reused', `Its run ${run} was deleted, and is not run again.`);
  }
}

const [triesMax, retryMs, keyMsDefault] = [20, 50, 24 * 3_600_000];

/** Over everything that decides what the run does. How the client reads it may differ from one try to the next. */
const hashRequest = ({
  key: _key,
  lastingKey: _lasting,
  stream: _stream,
  details: _details,
  readsEvents: _reads,
  ...request
}: AgentRequest): Hash => sha256(canonicalJson(JSON.parse(JSON.stringify(request, bytesAsHash)) as Json));

const bytesAsHash = (_name: string, value: unknown): unknown => (value instanceof Uint8Array ? sha256(value) : value);

const checkSameRequest = (run: string, recorded: string | null, requestHash: string): void => {
  if (recorded !== requestHash) throw new CloisterError('key_reused', `It belongs to run ${run}.`);
};

/** A run that has ended, as if it had just been run. */
const servedFromReport = (report: RunReport, { sees }: Caller): ServedRun => {
  const { run, agent, startedAt, causes, events } = report;
  const [root] = report.cells;
  if (root?.outcome == null) throw new CloisterError('run_owned', `Run ${run} is not running.`);
  const outcome = outcomeAsSeen({ ...root.outcome, run, cell: root.cell }, sees);
  return {
    run,
    agent,
    startedAt,
    outcome: Promise.resolve(outcome),
    events: async function* () {
      yield* events;
    },
    causes: async () => (seesCauses(sees) ? causes : undefined),
    pieces: async function* () {
      if (outcome.output !== '') yield { type: 'text', text: outcome.output };
    },
    cancel: () => undefined,
  };
};
