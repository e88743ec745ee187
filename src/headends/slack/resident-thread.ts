// The thread of a long-lived agent: one run, to which the messages of the thread are sent, and whose messages appear in the thread.
//
//   resident-stays. The request that started the run stays in the inbox until the run has ended, so whoever opens the thread after a crash
//       follows the run again.
//   resident-said-once. What the agent says is recorded as delivered after it is whole in the thread; after a crash it is looked for there.
import { CloisterError } from '#base';
import { keyedRunId } from '#contracts';
import type { Caller, DurableEvent, InboxItem, OpenQueue } from '#contracts';
import { keyedMessageId } from '#headends/shared';
import type { InboxRequest } from './inbox-request.ts';
import { QuestionCards } from './question-cards.ts';
import { eventsUntil, findOrResume, waitFor } from './run-reader.ts';
import { conversationOfThread, keyOfMessage } from './slack-place.ts';
import { ThreadWriteRefusal } from './thread-editor.ts';
import { runButtons } from './turn-runner.ts';
import type { ThreadWorkerPorts } from './worker-ports.ts';

type MessageRequest = InboxRequest & { readonly type: 'message' };

const followAgainMs = 10_000;

/** The run that the thread belongs to now. */
type LiveResident = {
  readonly item: InboxItem;
  readonly caller: Caller;
  readonly run: string;
  /** Resolves when it has ended and all of it is shown, or when it is left. Never rejects. */
  readonly done: Promise<void>;
};

export class ResidentThread {
  readonly #ports: ThreadWorkerPorts;
  readonly #queue: OpenQueue;
  #live: LiveResident | null = null;
  #wake: () => void = () => undefined;
  #hasNews = false;

  constructor(ports: ThreadWorkerPorts, queue: OpenQueue) {
    this.#ports = ports;
    this.#queue = queue;
  }

  /** Whether this request stays until the run has ended. */
  isTaken({ id }: Pick<InboxItem, 'id'>): boolean {
    return this.#live?.item.id === id;
  }

  /** Sends the message to the run of the thread, or starts one with it. */
  async take(request: MessageRequest, caller: Caller, item: InboxItem, signal: AbortSignal): Promise<void> {
    const { service, messages } = this.#ports;
    const { team, channel, user, text, message } = request;
    await messages.setStatus(request, 'processing', { user });
    if (this.#live !== null) {
      const { run, done } = this.#live;
      try {
        // The same message is sent once.
        const id = keyedMessageId(run, keyOfMessage(team, channel, message), { text });
        await service.do(caller, run, { do: 'send', text, id });
        return;
      } catch (error) {
        if (!(error instanceof CloisterError) || error.code !== 'cell_ended') throw error;
        // It ends: the message begins the next one.
        await done;
      }
    }
    await this.#start(request, caller, item, signal);
  }

  /** True: no run is followed here. False: look at the inbox again. Waits until one of them holds. */
  async isOver(): Promise<boolean> {
    if (this.#live === null) return true;
    const { done } = this.#live;
    if (!this.#hasNews) {
      const news = new Promise<void>((resolve) => (this.#wake = resolve));
      await Promise.race([news, done]);
    }
    this.#hasNews = false;
    return false;
  }

  /** Something may have come. */
  look(): void {
    this.#hasNews = true;
    this.#wake();
  }

  async stop(): Promise<void> {
    if (this.#live === null) return;
    const { caller, run } = this.#live;
    await this.#ports.service.do(caller, run, { do: 'cancel' }).catch(() => undefined);
  }

  /** The server stops: the run is followed again by whoever opens the thread next. */
  async leave(): Promise<void> {
    await this.#live?.done;
  }

  async #start(request: MessageRequest, caller: Caller, item: InboxItem, signal: AbortSignal): Promise<void> {
    const { service, stopping } = this.#ports;
    const { team, channel, message, agent, text } = request;
    const key = keyOfMessage(team, channel, message);
    const run = keyedRunId(caller.name, key);
    const isThere = await service.find(caller, run).then(
      () => true,
      () => false,
    );
    if (!isThere)
      await service.startRun(
        caller,
        { agent, input: text, resident: true, conversation: conversationOfThread(request), key, lastingKey: true },
        signal,
      );
    const { served } = await findOrResume(this.#ports, caller, run, signal);
    const done = this.#follow(request, caller, served, isThere).catch(async (error: unknown) => {
      if (stopping.aborted) return;
      this.#ports.log(`Slack: a long-lived agent could not be followed: ${String(error)}`);
      // Its request is still in the inbox, and is worked on again.
      await waitFor(this.#ports.clock, followAgainMs, stopping);
      this.#live = null;
    });
    this.#live = { item, caller, run, done };
    void done.then(() => this.#wake());
  }

  async #follow(
    request: MessageRequest,
    caller: Caller,
    served: Awaited<ReturnType<typeof findOrResume>>['served'],
    isLate: boolean,
  ): Promise<void> {
    const { service, stopping, messages } = this.#ports;
    const found = await service.find(caller, served.run);
    const before = isLate ? (await found.report()).events : [];
    const known = new Set(before.flatMap((event) => (event.type === 'mail' ? [event.message] : [])));
    const delivered = new Set(
      before.flatMap((event) => (event.type === 'mail' && event.state === 'delivered' ? [event.message] : [])),
    );
    const cards = new QuestionCards({
      ...this.#ports,
      caller,
      address: request,
      isLate,
      before: async () => undefined,
    });
    const reading = { events: () => found.events({}, stopping), outcome: served.outcome };
    for await (const event of eventsUntil(reading, stopping)) {
      cards.next(event);
      if (event.type !== 'mail' || event.to !== 'outside' || event.text === null) continue;
      if (!delivered.has(event.message)) await this.#say(request, event, served.run, known.has(event.message));
    }
    if (stopping.aborted) return;
    await served.outcome;
    await cards.settle();
    await messages.setStatus(request, 'active');
    await this.#queue.remove(this.#live!.item.id);
    this.#live = null;
  }

  async #say(
    request: MessageRequest,
    event: DurableEvent & { readonly type: 'mail' },
    run: string,
    mayExist: boolean,
  ): Promise<void> {
    const { openWriter, values } = this.#ports;
    const { text, error, message } = event;
    const failed = error === undefined ? '' : `This answer is incomplete. ${error.summary}`;
    const said = [text ?? '', failed].filter((one) => one !== '').join('\n\n');
    const writer = openWriter(
      { ...request, message: request.thread },
      values.mark('mail', `${run} ${message}`),
      mayExist,
    );
    const blocks = [runButtons(values, run, ['details', 'json'])];
    try {
      await writer.finish({ text: said, cards: [] }, { blocks, status: 'active' });
    } catch (failure) {
      // Nobody reads there any more, but the agent may have more to do than to write.
      if (!(failure instanceof ThreadWriteRefusal)) throw failure;
      this.#ports.log(`Slack: a message of a long-lived agent is not shown: ${failure.message}`);
    }
  }
}
