// Works on the requests of one thread, in order, one at a time.
//
//   request-one-run. A message is started under its own key, and the run that a crash has left is found by it: never a second one.
//   request-until-shown. A request leaves the inbox only after its answer is whole in the thread, or its writer was told why there is none.
//   thread-of-one. Only the person who began a thread is answered in it.
import { CloisterError } from '#base';
import type { ErrorCode } from '#base';
import { keyedRunId } from '#contracts';
import type { AgentRequest, Caller, InboxItem, OpenQueue } from '#contracts';
import { section } from './blocks.ts';
import { readInboxRequest } from './inbox-request.ts';
import type { InboxRequest } from './inbox-request.ts';
import { fromSlackText, toPlainText } from './slack-text.ts';
import { cannotWriteText, onlyNewestText, othersThreadText, refusalText } from './refusal-text.ts';
import { ResidentThread } from './resident-thread.ts';
import { findOrResume, waitFor } from './run-reader.ts';
import type { FoundRun } from './run-reader.ts';
import { conversationOfThread, keyOfMessage, keyOfVersion, queueOfThread } from './slack-place.ts';
import { findRoute } from './slack-route.ts';
import { showRun } from './turn-runner.ts';
import type { ThreadWorkerPorts } from './worker-ports.ts';
import type { ThreadPlace } from './thread-view.ts';
import { isThreadOwner } from './thread-owner.ts';

type MessageRequest = InboxRequest & { readonly type: 'message' };
type RetryRequest = InboxRequest & { readonly type: 'retry' };
type OpeningRequest = InboxRequest & { readonly type: 'opening' };

/** The request that is worked on. */
type CurrentRequest = { readonly item: InboxItem; readonly stop: AbortController; run: string | null };

/** What may go away by itself: the request stays, and is tried again. */
const transientCodes: readonly ErrorCode[] = ['store_failed', 'store_busy', 'book_moved', 'run_owned', 'run_lost'];
const [retryMs, retryMaxMs, titleMax] = [2_000, 60_000, 60];

export class ThreadWorker {
  readonly #ports: ThreadWorkerPorts;
  readonly #queue: OpenQueue;
  readonly #resident: ResidentThread;
  #current: CurrentRequest | null = null;
  #looking = Promise.resolve();

  constructor(ports: ThreadWorkerPorts, queue: OpenQueue) {
    this.#ports = ports;
    this.#queue = queue;
    this.#resident = new ResidentThread(ports, queue);
  }

  /** Until nothing waits any more, or the server stops. Rejects if the inbox cannot be read. */
  async work(): Promise<void> {
    const { stopping, clock } = this.#ports;
    let failures = 0;
    while (!stopping.aborted) {
      const items = await this.#queue.items();
      await this.#takeStops(items);
      const item = items.find((one) => readInboxRequest(one)?.type !== 'stop' && !this.#resident.isTaken(one));
      if (item === undefined) {
        if (await this.#resident.isOver()) return;
        continue;
      }
      if (await this.#workOn(item)) {
        failures = 0;
        continue;
      }
      await waitFor(clock, Math.min(retryMs * 2 ** failures++, retryMaxMs), stopping);
    }
    await this.#resident.leave();
  }

  /** Something may have come: somebody may want the current request to stop. */
  look(): void {
    this.#resident.look();
    if (this.#current === null) return;
    this.#looking = this.#looking
      .then(async () => this.#takeStops(await this.#queue.items()))
      .catch((error: unknown) => this.#ports.log(`Slack: the inbox could not be read: ${String(error)}`));
  }

  /** Everything that the same person wrote before it is stopped. */
  async #takeStops(items: readonly InboxItem[]): Promise<void> {
    for (const [at, item] of items.entries()) {
      if (readInboxRequest(item)?.type !== 'stop') continue;
      for (const before of items.slice(0, at)) {
        if (before.by !== item.by || readInboxRequest(before)?.type === 'stop') continue;
        if (this.#resident.isTaken(before)) await this.#resident.stop();
        else if (this.#current?.item.id === before.id) await this.#stopCurrent(this.#current);
        else await this.#queue.remove(before.id);
      }
      await this.#queue.remove(item.id);
    }
  }

  /** Its run may still wait for a slot, or be at work here or in another process. */
  async #stopCurrent({ run, stop, item }: CurrentRequest): Promise<void> {
    const { service, callerOf } = this.#ports;
    const request = readInboxRequest(item);
    if (run === null || request === undefined) return stop.abort();
    try {
      await service.do(callerOf(request.team, request.user), run, { do: 'cancel' });
    } catch (error) {
      const code = error instanceof CloisterError ? error.code : 'defect';
      if (code === 'run_unknown') return stop.abort();
      if (code !== 'cell_ended' && code !== 'run_ended') throw error;
    }
  }

  /** False: it stays, and is tried again. */
  async #workOn(item: InboxItem): Promise<boolean> {
    const request = readInboxRequest(item);
    if (request === undefined || request.type === 'stop') {
      await this.#queue.remove(item.id);
      return true;
    }
    const current: CurrentRequest = { item, stop: new AbortController(), run: null };
    this.#current = current;
    try {
      await this.#serve(request, current);
    } catch (error) {
      if (this.#ports.stopping.aborted) return true;
      const code = error instanceof CloisterError ? error.code : 'defect';
      if (code === 'server_stopping') await waitFor(this.#ports.clock, retryMaxMs, this.#ports.stopping);
      if (code === 'server_stopping' || transientCodes.includes(code)) return false;
      if (code === 'defect') this.#ports.log(`Slack: a request failed: ${String(error)}`);
      await this.#refuse(request, error);
    } finally {
      this.#current = null;
    }
    if (!this.#resident.isTaken(item)) await this.#queue.remove(item.id);
    return true;
  }

  async #serve(request: Exclude<InboxRequest, { type: 'stop' }>, current: CurrentRequest): Promise<void> {
    switch (request.type) {
      case 'opening':
        return this.#open(request, current.item);
      case 'retry':
        return this.#retry(request, current);
      case 'message':
        return this.#answer(request, current);
    }
  }

  async #answer(request: MessageRequest, current: CurrentRequest): Promise<void> {
    const { service, config, callerOf } = this.#ports;
    const { team, channel, thread, user, message, agent, text } = request;
    const caller = callerOf(team, user);
    if (request.needsOwner && !(await isThreadOwner(this.#ports, request, caller))) {
      if (request.isMention) await this.#ports.messages.tellPrivately(request, user, othersThreadText);
      return;
    }
    const route = findRoute(config, channel);
    if (route?.resident === true && route.agent === agent)
      return this.#resident.take(request, caller, current.item, current.stop.signal);
    const title = toPlainText(text, titleMax);
    await this.#ports.messages.setStatus(request, 'processing', { user, ...(thread === message ? { title } : {}) });
    // A team takes a goal and nothing else: none of its agents would see the turns before.
    const begin = async (): Promise<AgentRequest> =>
      service.agent(caller, agent).team === null
        ? {
            agent,
            input: text,
            conversation: conversationOfThread(request),
            ...(await this.#history(request, route?.history ?? 0)),
          }
        : { agent, input: text };
    await this.#show(current, caller, { key: keyOfMessage(team, channel, message), begin, place: request });
  }

  /** The run with this key, which is started if there is none. */
  async #show(
    current: CurrentRequest,
    caller: Caller,
    {
      key,
      begin,
      place,
    }: { readonly key: string; readonly begin: () => Promise<AgentRequest>; readonly place: ThreadPlace },
  ): Promise<void> {
    const { signal } = current.stop;
    current.run = keyedRunId(caller.name, key);
    const found = await this.#findRun(caller, current.run, signal);
    const start = async (): Promise<FoundRun> => ({
      served: await this.#ports.service.startRun(
        caller,
        { ...(await begin()), key, lastingKey: true, stream: true },
        signal,
      ),
      isLate: false,
    });
    await showRun(this.#ports, found ?? (await start()), place, caller);
  }

  /** Undefined: there is no such run. */
  async #findRun(caller: Caller, run: string, signal: AbortSignal): Promise<FoundRun | undefined> {
    try {
      return await findOrResume(this.#ports, caller, run, signal);
    } catch (error) {
      if (error instanceof CloisterError && error.code === 'run_unknown') return undefined;
      throw error;
    }
  }

  async #retry(request: RetryRequest, current: CurrentRequest): Promise<void> {
    const { service, callerOf } = this.#ports;
    const { team, user, run, agent, thread } = request;
    const caller = callerOf(team, user);
    if (service.agent(caller, agent).team !== null) {
      const { summary } = await service.find(caller, run);
      await this.#ports.messages.setStatus(request, 'processing', { user });
      const begin = async (): Promise<AgentRequest> => ({ agent, input: summary.goal });
      const key = keyOfVersion(team, request.channel, run);
      return this.#show(current, caller, { key, begin, place: placeOf(request, thread) });
    }
    const { turnList } = await service.conversations.show(caller, { agent, name: conversationOfThread(request) }, 1);
    const versions: readonly string[] = turnList.at(-1)?.versions ?? [];
    const at = versions.indexOf(run);
    if (at === -1) return this.#ports.messages.tellPrivately(request, user, onlyNewestText);
    await this.#ports.messages.setStatus(request, 'processing', { user });
    // A crash, or a second press: the new version is there.
    for (const newer of versions.slice(at + 1).toReversed()) {
      current.run = newer;
      const found = await this.#findRun(caller, newer, current.stop.signal);
      if (found === undefined) continue;
      return showRun(this.#ports, found, placeOf(request, thread), caller);
    }
    const served = await service.retryRun(caller, run, current.stop.signal);
    current.run = served.run;
    await showRun(this.#ports, { served, isLate: true }, placeOf(request, thread), caller);
  }

  /** Writes the first message of a thread, which then waits in its own queue. */
  async #open(request: OpeningRequest, item: InboxItem): Promise<void> {
    const { messages, values, clock, store, callerOf, owners, stopping } = this.#ports;
    const { team, channel, user, text, agent } = request;
    const mark = values.mark('opening', `${team}/${channel}/${item.id}`);
    const blocks = [
      { type: 'context', elements: [{ type: 'mrkdwn', text: `<@${user}> asks:`, verbatim: true }] },
      section(text),
    ];
    const ts = await messages.postOnce({ channel, thread: null }, mark, {
      text: 'A request to the agent.',
      blocks,
      mayExist: true,
    });
    if (ts === undefined) {
      if (stopping.aborted) throw new CloisterError('server_stopping');
      return messages.tellPrivately({ channel, thread: null }, user, cannotWriteText);
    }
    const address = { team, channel, thread: ts };
    const queue = queueOfThread(address);
    const opened: MessageRequest = {
      type: 'message',
      ...address,
      user,
      message: ts,
      text,
      agent,
      needsOwner: false,
      isMention: false,
    };
    owners.set(queue, user);
    await store(queue, { id: ts, by: callerOf(team, user).name, at: clock.now(), body: opened });
  }

  async #history(request: MessageRequest, most: number): Promise<{ readonly context?: readonly string[] }> {
    const { messages, identity } = this.#ports;
    if (most === 0) return {};
    const { channel, thread, message } = request;
    const read =
      thread === message
        ? await messages.readChannel(channel, message, most)
        : await messages.readThread({ channel, thread });
    const before = (read ?? []).filter(({ ts, isBot }) => Number(ts) < Number(message) && !isBot).slice(-most);
    if (before.length === 0) return {};
    const bot = identity()?.bot ?? '';
    const lines = before.map(({ user, text }) => `${user}: ${fromSlackText(text, bot)}`);
    return {
      context: [`Earlier messages of the channel, written by others:\n${lines.join('\n').slice(-historyCharsMax)}`],
    };
  }

  async #refuse(request: Exclude<InboxRequest, { type: 'stop' }>, error: unknown): Promise<void> {
    const { messages } = this.#ports;
    const { channel, user } = request;
    const isStopped = error instanceof CloisterError && error.code === 'cancelled';
    const thread = request.type === 'opening' ? null : request.thread;
    await messages.tellPrivately(
      { channel, thread },
      user,
      isStopped ? 'Stopped before it began.' : refusalText(error),
    );
    if (request.type !== 'opening') await messages.setStatus(request, 'active');
  }
}

const historyCharsMax = 20_000;

const placeOf = ({ team, channel, thread, user }: RetryRequest, message: string): ThreadPlace => ({
  team,
  channel,
  thread,
  user,
  message,
});
