// Begins and continues runs for others, in whichever process is called to.
//
//   lease-decides. Who may write a run is decided in the store when its log is acquired. A call for a run that somebody else owns ends
//       with `lost`, and a second call for a run that is driven here joins the first.
//   begins-once. The id of a run is that of its request, and whoever owns it is the only one that can begin its log.
//   rest-needs-nobody. A run at rest is acquired only when its time has come, or when something was asked of it.
//   no-endless-crash. A run that was resumed and had done nothing when its process died waits, and twice as long each time.
import { CloisterError, omitUndefined } from '#base';
import type { ErrorCode, RunId } from '#base';
import { parseRunId } from '#base/shapes';
import type {
  Agent,
  Clock,
  DriveEnd,
  DriveOptions,
  Frame,
  Ids,
  RequestedRunOptions,
  RunCall,
  RunDriver,
  RunRest,
  RunSession,
  RunStarter,
  StartSpec,
  Store,
  ToolDefinition,
  UndrivenRun,
} from '#contracts';
import { readRest } from '#core/events';
import { RunRelease } from './run-release.ts';
import type { Runs } from './runs.ts';
import { startSpec, StartRequests } from './start-requests.ts';

type DriverPorts = ConstructorParameters<typeof StartRequests>[0] & {
  readonly store: Pick<Store, 'list' | 'read' | 'signals' | 'hashPrefix' | 'watchSignals'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly runs: Pick<Runs, 'live' | 'timer'>;
  readonly starter: Pick<RunStarter, 'run' | 'runTurn' | 'spawn'>;
  /** Throws `agent_unknown`. */
  readonly agent: (name: string) => Agent;
  /** Throws for a request that cannot be run. */
  readonly check: (agent: string, input: StartSpec['input'], options: RequestedRunOptions) => void;
  readonly resume: (run: RunId, wasAtRest: boolean) => Promise<RunSession>;
};

export class LocalRunDriver implements RunDriver {
  readonly #ports: DriverPorts;
  readonly #requests: StartRequests;
  readonly #driven = new Map<RunId, Promise<DriveEnd>>();
  /** What the logs of runs said that nobody drove, by how many frames they had. */
  readonly #rests = new Map<RunId, KnownRest>();

  constructor(ports: DriverPorts) {
    this.#ports = ports;
    this.#requests = new StartRequests(ports);
  }

  async request(agent: string, input: StartSpec['input'], options: RequestedRunOptions = {}): Promise<RunCall> {
    const found = this.#ports.agent(agent);
    const spec = startSpec(found, input, options);
    this.#ports.check(agent, input, options);
    const run = options.only === undefined ? (this.#ports.ids.random() as RunId) : parseRunId(options.only.run);
    await this.#requests.put(run, found, spec);
    return { run, agent: found.name };
  }

  drive(call: RunCall, options: DriveOptions = {}): Promise<DriveEnd> {
    const found = this.#driven.get(call.run);
    if (found !== undefined) return found;
    const driving = this.#driveOn(call, options).finally(() => this.#driven.delete(call.run));
    this.#driven.set(call.run, driving);
    return driving;
  }

  async undriven({ asked: onlyAsked = false }: { readonly asked?: boolean } = {}): Promise<readonly UndrivenRun[]> {
    const { store } = this.#ports;
    const requested = await this.#requests.waiting();
    const asked = new Set((await store.signals()).map(({ run }) => run));
    const begun = asked.size === 0 ? [] : await store.list({ runs: [...asked] });
    const known = new Set(begun.map(({ run }) => run));
    const found: UndrivenRun[] = requested
      .filter(({ run }) => !known.has(run))
      .map((one) => ({ ...one, at: 0, isBegun: false }));
    for (const { run, agent, state, unreadable } of onlyAsked ? begun : await store.list({ open: true })) {
      if (state === 'running') this.#rests.delete(run);
      if (state !== 'interrupted' || unreadable !== undefined) continue;
      const rest = asked.has(run) ? null : await this.#restOf(run).catch(() => null);
      found.push({ run, agent, at: rest === null ? 0 : rest.until, isBegun: true });
    }
    return found;
  }

  refusal(run: RunId): Promise<CloisterError | null> {
    return this.#requests.refusal(run);
  }

  watch(listener: () => void): () => void {
    return this.#ports.store.watchSignals(listener);
  }

  async #restOf(run: RunId): Promise<RunRest | null> {
    const { store, clock } = this.#ports;
    const known = this.#rests.get(run);
    const lookedAt = clock.now();
    // Of thousands of runs, only the list is read each time. What another worker did with one meanwhile shows a little later.
    if (known !== undefined && lookedAt - known.lookedAt < trustedMs) return known.rest;
    const { frames } = await store.hashPrefix(run);
    const rest = known?.frames === frames ? known.rest : readRest(await store.read(run));
    if (rest !== null) this.#rests.set(run, { frames, rest, lookedAt });
    return rest;
  }

  async #driveOn(call: RunCall, options: DriveOptions): Promise<DriveEnd> {
    try {
      for (;;) {
        const end = await this.#driveOnce(call, options);
        if (end.end !== 'rests') this.#rests.delete(call.run);
        // Something may have been asked of it while it was let go.
        const isAsked = end.end === 'rests' && (await this.#ports.store.signals(call.run)).length > 0;
        if (!isAsked || options.signal?.aborted === true) return end;
      }
    } catch (error) {
      return endOf(error);
    }
  }

  async #driveOnce(call: RunCall, options: DriveOptions): Promise<DriveEnd> {
    const { run } = call;
    if (options.signal?.aborted === true) return lost;
    const [summary] = await this.#ports.store.list({ runs: [run] });
    if (summary === undefined) return this.#begin(call, options);
    switch (summary.state) {
      case 'ended':
        await this.#requests.remove(run);
        return { end: 'ended' };
      case 'damaged':
        return { end: 'refused', code: 'store_damaged', detail: `Run ${run}.` };
      case 'running':
      case 'waiting':
        return lost;
      case 'interrupted':
        return this.#continue(run, options);
      default:
        return summary.state satisfies never;
    }
  }

  async #begin({ run }: RunCall, options: DriveOptions): Promise<DriveEnd> {
    const request = await this.#requests.read(run);
    // Somebody else has begun and ended it, or it was deleted.
    if (request === undefined) return { end: 'ended' };
    try {
      const { spec } = request;
      const { digest, name } = this.#ports.agent(spec.agent);
      if (digest !== spec.digest)
        throw new CloisterError('replay_differs', `It was requested of another definition of agent "${name}".`);
      const session = await this.#start(run, spec);
      await session.durable();
      await this.#requests.remove(run);
      return await this.#follow(run, options);
    } catch (error) {
      const end = endOf(error);
      const until = request.at + placeWithinMs;
      if (end.end !== 'refused' || until > this.#ports.clock.now())
        return end.end === 'refused' ? { ...end, until } : end;
      await this.#requests.refuse(run, end.code, end.detail);
      return end;
    }
  }

  #start(run: RunId, { agent, kind, input, options, tools }: StartSpec): RunSession | Promise<RunSession> {
    const { requestHash, topics, conversation, ...more } = options;
    const given = { ...more, only: omitUndefined({ run, requestHash }) as { run: string }, ...clientTools(tools) };
    const { starter } = this.#ports;
    switch (kind) {
      case 'run':
        return starter.run(agent, input ?? '', given);
      case 'turn':
        return starter.runTurn(agent, input ?? '', { ...given, ...omitUndefined({ conversation }) });
      case 'resident': {
        const message = input === null ? {} : { message: input };
        const {
          format: _format,
          schema: _schema,
          tools: _tools,
          ...resident
        } = given as typeof given & { tools?: unknown };
        return starter.spawn(agent, { ...resident, ...message, ...omitUndefined({ topics, conversation }) });
      }
      default:
        return kind satisfies never;
    }
  }

  async #continue(run: RunId, options: DriveOptions): Promise<DriveEnd> {
    const { store, clock, resume } = this.#ports;
    const frames = await store.read(run);
    const rest = readRest(frames);
    if (rest !== null) this.#rests.set(run, { frames: frames.length, rest, lookedAt: clock.now() });
    const isAsked = (await store.signals(run)).length > 0;
    if (rest !== null && !isAsked && (rest.until ?? Infinity) > clock.now()) return { end: 'rests', ...rest };
    const until = rest === null ? backOff(frames) : 0;
    if (until > clock.now()) return { end: 'rests', until };
    await resume(run, rest !== null);
    return this.#follow(run, options);
  }

  /** Until the run, which is live here, ends or is let go. */
  async #follow(run: RunId, options: DriveOptions): Promise<DriveEnd> {
    const session = this.#ports.runs.live(run);
    if (session === undefined) return { end: 'ended' };
    const release = new RunRelease(session, { ...this.#ports, timer: this.#ports.runs.timer }, options);
    const giveBack = (): void => release.giveBack();
    options.signal?.addEventListener('abort', giveBack, { once: true });
    if (options.signal?.aborted === true) giveBack();
    try {
      await session.outcome;
      return { end: 'ended' };
    } catch (error) {
      if (release.rest === null || codeOf(error) !== 'run_left') return endOf(error);
      return { end: 'rests', ...release.rest };
    } finally {
      release.close();
      options.signal?.removeEventListener('abort', giveBack);
    }
  }
}

type KnownRest = { readonly frames: number; readonly rest: RunRest; readonly lookedAt: number };

const trustedMs = 60_000;

const lost: DriveEnd = { end: 'lost' };

/** After that, a request that no worker could begin is refused for good. */
const placeWithinMs = 5 * 60_000;

const clientTools = (tools: StartSpec['tools']): { readonly tools?: readonly ToolDefinition[] } =>
  tools === undefined ? {} : { tools: tools.map((tool) => ({ ...tool, outside: true, execute: neverCalled })) };

const neverCalled = (): never => {
  throw new CloisterError('tools_gone');
};

const codeOf = (error: unknown): ErrorCode => (error instanceof CloisterError ? error.code : 'defect');

/** These concern this moment or this process: a later call, or one of another worker, may do better. */
const passing: readonly ErrorCode[] = [
  'approval_needed',
  'run_exists',
  'run_left',
  'run_lost',
  'run_owned',
  'server_stopping',
  'store_busy',
  'store_failed',
  'store_unreadable',
];

const endOf = (error: unknown): DriveEnd => {
  const code = codeOf(error);
  if (passing.includes(code)) return lost;
  if (code === 'run_ended' || code === 'run_unknown') return { end: 'ended' };
  const detail = error instanceof CloisterError ? (error.failure.detail ?? '') : String(error);
  return { end: 'refused', code, detail };
};

/** Until when to wait because the run was resumed again and again and did nothing; 0: it need not. */
const backOff = (frames: readonly Frame[]): number => {
  const since = frames.slice(
    frames.findLastIndex(({ record }) => record.type === 'settle' || record.type === 'post') + 1,
  );
  const resumes = since.filter(({ record }) => record.type === 'resume').length;
  return resumes < 2 ? 0 : frames.at(-1)!.at + firstWaitMs * 2 ** Math.min(resumes - 2, 8);
};

const firstWaitMs = 2_000;
