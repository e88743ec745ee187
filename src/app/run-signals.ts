// What other processes ask of the runs of this one, and what this one asks of the runs of others.
//
//   signal-kept-until-durable. A signal is removed once what it asked for is in the log, or was refused. After a crash in between
//       it is carried out again, which does nothing.
//   signal-only-for-owner. Signals are carried out by the process that owns the run, in the order in which they came. Only to cancel it
//       does not wait, because an answer may wait long for a slot.
//   signals-watched-while-live. The store is watched only while runs are live here, once for all of them.
import { CloisterError, isObject, omitUndefined, PromptlyReleasingMap, sha256 } from '#base';
import type { JsonObject, RunId } from '#base';
import { parseRunId } from '#base/shapes';
import { canBeSignalled } from '#contracts';
import type { Clock, Ids, RunCommand, RunCommandName, RunSummary, Signal, SignalReceipt, Store } from '#contracts';
import { readRunMail } from '#core/events';
import type { AgentResources } from '#app/agents';
import type { AgentList } from './agent-list.ts';
import { readRunCommand } from './check-run-command.ts';
import { isSameMessage, newKeyedMessageId } from './keyed-messages.ts';
import type { LocalRunSession } from './run-session.ts';

type SignalPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly resources: Pick<AgentResources, 'redactFor'>;
};

export class RunSignals {
  readonly #ports: SignalPorts;
  readonly #agents: AgentList;
  /** The runs that this process owns. */
  readonly #owned = new PromptlyReleasingMap<RunId, LocalRunSession>();
  /** Of those for which a signal has come. */
  readonly #queues = new Map<RunId, SignalQueue>();
  #stopWatching: (() => void) | undefined;
  #stopRetry: (() => void) | undefined;
  #isReading = false;
  #hasMore = false;

  constructor(ports: SignalPorts, agents: AgentList) {
    this.#ports = ports;
    this.#agents = agents;
  }

  /** Stores a command for whoever owns the run. Rejects with `run_unknown`, `run_ended`, `key_reused`, or what the store rejects with. */
  async put(id: string, given: RunCommand, { id: chosen, by = 'operator' }: SignalOptions): Promise<SignalReceipt> {
    const { store, clock } = this.#ports;
    const run = parseRunId(id);
    const summary = await this.#requireOpen(run);
    const command = this.#readCommand(given, summary);
    const signal = {
      run,
      id: command.do === 'send' ? command.id! : (chosen ?? defaultId(command)),
      by,
      at: clock.now(),
      body: { command } as unknown as JsonObject,
    };
    // An id that was given may have been used before.
    const mayBeSent = command.do === 'send' && 'id' in given;
    if (mayBeSent && (await this.#isSent(run, signal.id))) return this.#receipt(signal, false);
    const isNew = await store.putSignal(signal);
    // The run may have ended since: its owner removes the signal after that, or does not know of it.
    const now = await this.#summaryOf(run);
    if (now?.state === 'ended' && (await this.#isWaiting(signal))) {
      await store.removeSignal(run, signal.id);
      if (!(await this.#isCarriedOut(command, now))) throw endedError(run);
    }
    return this.#receipt(signal, isNew);
  }

  /** Whether a run that has ended did what it was asked: its owner may not have removed the signal yet. */
  async #isCarriedOut(command: RunCommand, { run, status }: RunSummary): Promise<boolean> {
    switch (command.do) {
      case 'cancel':
        return status === 'cancelled';
      case 'send':
        return readRunMail(await this.#ports.store.read(run)).some((one) => isSameMessage(one.id, command.id!));
      // A run that was asked to finish has ended, and an answer's sender reads in the log what became of it.
      default:
        return true;
    }
  }

  #receipt({ run, id }: Signal, isNew: boolean): SignalReceipt {
    return { id, isNew, live: this.#owned.get(run) !== undefined };
  }

  async #isWaiting({ run, id }: Signal): Promise<boolean> {
    return (await this.#ports.store.signals(run)).some((one) => one.id === id);
  }

  async #summaryOf(run: RunId): Promise<RunSummary | undefined> {
    return (await this.#ports.store.list({ runs: [run] }))[0];
  }

  async #requireOpen(run: RunId): Promise<RunSummary> {
    const summary = await this.#summaryOf(run);
    if (summary === undefined) throw new CloisterError('run_unknown', run);
    if (summary.unreadable !== undefined) throw new CloisterError('run_format', summary.unreadable);
    if (summary.state === 'damaged') throw new CloisterError('store_damaged', `Run ${run} is damaged.`);
    if (summary.state === 'ended') throw endedError(run);
    return summary;
  }

  /** Without secrets: the row is on disk before the run's own process sees it. */
  #readCommand(given: RunCommand, { agent: name }: RunSummary): RunCommand {
    const agent = this.#agents.findInTree(name);
    const command = readRunCommand(given, agent);
    if (!canBeSignalled[command.do])
      throw new CloisterError('options_invalid', `do: "${command.do}" can only be asked of a run in this process.`);
    const { do: does, ...fields } = command as RunCommand & JsonObject;
    const redact = this.#ports.resources.redactFor(agent ?? null);
    const { id = newKeyedMessageId(this.#ports.ids) } = fields as Partial<RunCommand<'send'>>;
    const message = does === 'send' ? { id } : {};
    return omitUndefined({ ...(redact?.json(fields) ?? fields), do: does, ...message }) as RunCommand;
  }

  /** Whether the message is in the log, or on its way there. Throws `key_reused`. */
  async #isSent(run: RunId, id: string): Promise<boolean> {
    const { store } = this.#ports;
    const sent = readRunMail(await store.read(run)).some((one) => isSameMessage(one.id, id));
    return sent || (await store.signals(run)).some((one) => isSameMessage(one.id, id));
  }

  /** The run is owned by this process now. `waiting`: what was asked of it before. A run that was cancelled does no more work. */
  open(session: LocalRunSession, waiting: readonly Signal[]): void {
    const { run } = session;
    this.#owned.set(run, session);
    // probe: signals-watched
    this.#stopWatching ??= this.#ports.store.watchSignals(() => void this.#read());
    if (waiting.some(cancelsRun)) session.cancel();
    // probe: signals-taken-over
    for (const signal of waiting) this.#take(signal);
  }

  #take(signal: Signal): void {
    const { run } = signal;
    const session = this.#owned.get(run);
    if (session === undefined) return;
    const queue = this.#queues.get(run) ?? new SignalQueue(session, this.#ports, () => void this.#read());
    this.#queues.set(run, queue);
    queue.add(signal);
  }

  /** The run has ended, and that is on disk: nothing that is asked of it is carried out any more. Never rejects. */
  async end(run: RunId): Promise<void> {
    const { store } = this.#ports;
    try {
      // probe: signals-end
      for (const { id } of await store.signals(run)) await store.removeSignal(run, id);
    } catch {
      // They do no harm: whoever sends to a run that has ended is told so.
    }
  }

  /** The run is no longer owned by this process. */
  close(run: RunId): void {
    this.#owned.delete(run);
    this.#queues.get(run)?.close();
    this.#queues.delete(run);
    if (this.#owned.size > 0) return;
    this.#stopWatching?.();
    this.#stopWatching = undefined;
    this.#stopRetry?.();
    this.#stopRetry = undefined;
  }

  async #read(): Promise<void> {
    this.#hasMore = true;
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (this.#hasMore) {
        this.#hasMore = false;
        for (const signal of await this.#ports.store.signals()) this.#take(signal);
      }
    } catch {
      this.#retry();
    } finally {
      this.#isReading = false;
    }
  }

  /** The store cannot be read now, and does not tell of the same signals again. */
  #retry(): void {
    if (this.#owned.size === 0) return;
    this.#stopRetry?.();
    this.#stopRetry = this.#ports.clock.timer(retryMs, () => void this.#read());
  }
}

type SignalOptions = { readonly id?: string; readonly by?: string };

/**
 * Until an unreadable store is read again, and until messages are tried again after a mailbox was full: more and more rarely, because
 * its agent may wait for a person.
 */
const [retryMs, fullMs, fullMsMax] = [1_000, 100, 10_000];

/** The same for commands that ask for the same. */
const defaultId = (command: RunCommand): string => {
  const of = command.do === 'finish' ? command.name : command.do === 'confirm' ? command.message : undefined;
  return of === undefined ? command.do : `${command.do}-${sha256(of).slice(0, 16)}`;
};

const endedError = (run: RunId): CloisterError => new CloisterError('run_ended', `Run ${run}.`);

/** The signals of one run of this process, carried out one after the other. */
class SignalQueue {
  readonly #session: LocalRunSession;
  readonly #ports: SignalPorts;
  readonly #readAgain: () => void;
  /** Those that wait in the queue, or were carried out and may still be in the store. */
  readonly #taken = new Set<string>();
  #last: Promise<void> = Promise.resolve();
  /** Set while a mailbox is full: messages stay in the store, and keep their order. */
  #stopPause: (() => void) | undefined;
  #pauseMs = fullMs;

  constructor(session: LocalRunSession, ports: SignalPorts, readAgain: () => void) {
    this.#session = session;
    this.#ports = ports;
    this.#readAgain = readAgain;
  }

  add(signal: Signal): void {
    if (this.#taken.has(signal.id)) return;
    this.#taken.add(signal.id);
    if (cancelsRun(signal)) void this.#take(signal);
    else this.#last = this.#last.then(() => this.#take(signal));
  }

  close(): void {
    this.#stopPause?.();
  }

  /** Never rejects. */
  async #take({ run, id, body }: Signal): Promise<void> {
    const done = await this.#carryOut(body);
    // What a run that was left refuses is for whoever resumes it.
    if (done === 'kept' || this.#session.isBroken) return;
    // If it cannot be removed, it stays until the run has ended or is resumed.
    const isGone =
      done === 'later' ||
      (await this.#ports.store.removeSignal(run, id).then(
        () => true,
        () => false,
      ));
    if (isGone) this.#taken.delete(id);
  }

  async #carryOut(body: JsonObject): Promise<'over' | 'kept' | 'later'> {
    const session = this.#session;
    try {
      await session.durable();
      const command = readSignalled(body);
      if (command.do === 'send' && this.#stopPause !== undefined) return 'later';
      await session.do(command);
      if (command.do === 'send') this.#pauseMs = fullMs;
      // probe: signal-durable
      await session.durable();
      // probe: signal-held
      return holdsUntilEnd(command) ? 'kept' : 'over';
    } catch (error) {
      const code = error instanceof CloisterError ? error.code : 'defect';
      if (code === 'mailbox_full') return this.#pause();
      // What could not be recorded was not done, nor what has no slot any more: it waits for whoever resumes the run.
      return code.startsWith('store_') || code === 'server_stopping' || !(await this.#isDurable()) ? 'kept' : 'over';
    }
  }

  /** What a signal was refused for could be lost in a crash until then, and the signal with it. */
  async #isDurable(): Promise<boolean> {
    return this.#session.durable().then(
      () => true,
      () => false,
    );
  }

  /** The sender was told that the message is stored, so it is not refused like one that is sent to a full mailbox here. */
  #pause(): 'later' {
    if (this.#stopPause !== undefined) return 'later';
    this.#stopPause = this.#ports.clock.timer(this.#pauseMs, () => {
      this.#stopPause = undefined;
      this.#readAgain();
    });
    this.#pauseMs = Math.min(this.#pauseMs * 2, fullMsMax);
    return 'later';
  }
}

const cancelsRun = ({ body: { command } }: Signal): boolean => isObject(command) && command['do'] === 'cancel';

/** The session checks the rest. Throws `options_invalid`. */
const readSignalled = ({ command }: JsonObject): RunCommand => {
  const name = isObject(command) ? command['do'] : undefined;
  if (typeof name === 'string' && Object.hasOwn(canBeSignalled, name) && canBeSignalled[name as RunCommandName])
    return command as unknown as RunCommand;
  throw new CloisterError('options_invalid', 'command: expected a command that can be signalled.');
};

/** That a run was asked to finish is not in its log, so after a crash it is asked again. */
const holdsUntilEnd = (command: RunCommand): boolean => command.do === 'finish' && command.name === undefined;
