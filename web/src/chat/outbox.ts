// The message on its way.
//
//   outbox-once. A message has a key from the moment in which it is sent, kept with it in this tab: sent again after a cut, a restart
//       of the server or a reload, it starts one run.
import { effect, signal } from '@preact/signals';
import type { JsonObject } from '#base';
import { address, go } from '../address.ts';
import { run, source } from '../state.ts';
import type { SourceProblem } from '../source.ts';
import { readConversations } from './context.ts';
import { outgoingKey } from '../tab-storage.ts';

export type OutgoingMessage = {
  readonly key: string;
  readonly text: string;
  readonly agent: string;
  readonly conversation: string | null;
  /** A message to this long-lived run; null: it starts a run. */
  readonly to: string | null;
  readonly body: JsonObject;
};

export const outgoing = signal<OutgoingMessage | null>(null);
/** Why it is not taken yet: the server is away, or the conversation has a turn that is under way. */
export const waitsFor = signal<{ readonly why: 'turn' | 'server'; readonly until: number } | null>(null);
/** Why the last one was not taken at all. */
export const sendProblem = signal<Error | null>(null);
/** What is being written, by agent. */
export const draft = signal('');

const firstRetryMs = 1_000;
const lastRetryMs = 8_000;

let wake: (() => void) | null = null;

export const send = (message: OutgoingMessage): void => {
  outgoing.value = message;
  sendProblem.value = null;
  keep(message);
  void deliver(message);
};

/** It is not sent after all, and can be changed. A run that it has started already is not ended by this. */
export const takeBack = (): void => {
  const message = outgoing.peek();
  if (message === null) return;
  if (draft.peek() === '') draft.value = message.text;
  clear();
  wake?.();
};

/** After a reload: the message goes on, under its key. */
export const resumeOutgoing = (): void => {
  const kept = sessionStorage.getItem(outgoingKey);
  // It may have been sent already before the chat was shown.
  if (kept === null || outgoing.peek() !== null) return;
  const message = JSON.parse(kept) as OutgoingMessage;
  outgoing.value = message;
  void deliver(message);
};

const deliver = async (message: OutgoingMessage): Promise<void> => {
  let waitMs = firstRetryMs;
  const isWanted = (): boolean => outgoing.peek()?.key === message.key;
  while (isWanted()) {
    try {
      const started = await post(message);
      if (isWanted()) arrived(message, started);
      return;
    } catch (error) {
      // Whoever opens the page again, as the same caller, sends it.
      if (!isWanted() || (error as SourceProblem).status === 401) return;
      const why = passingReason(error as SourceProblem);
      if (why === null) {
        takeBack();
        sendProblem.value = error as Error;
        return;
      }
      waitsFor.value = { why, until: Date.now() + waitMs };
      await pause(waitMs);
      waitMs = Math.min(lastRetryMs, waitMs * 2);
    }
  }
};

const post = async ({ agent, to, body, key }: OutgoingMessage): Promise<string> => {
  const path = to === null ? `/${encodeURIComponent(agent)}` : `/runs/${encodeURIComponent(to)}/messages`;
  return (await source.value.send<{ run: string }>('POST', path, body, key)).run;
};

const arrived = ({ agent, to, conversation }: OutgoingMessage, started: string): void => {
  clear();
  if (to !== null) return;
  const { pane } = address.peek();
  go({
    page: 'chat',
    agent,
    run: started,
    ...(conversation === null ? {} : { conversation }),
    ...(pane === undefined ? {} : { pane }),
  });
  void readConversations(agent);
};

const passingReason = ({ code, status }: SourceProblem): 'turn' | 'server' | null => {
  if (code === 'conversation_busy') return 'turn';
  return code === 'offline' || status === 429 || status === 502 || status === 503 || status === 504 ? 'server' : null;
};

const clear = (): void => {
  outgoing.value = null;
  waitsFor.value = null;
  sessionStorage.removeItem(outgoingKey);
};

const keep = (message: OutgoingMessage): void => {
  try {
    sessionStorage.setItem(outgoingKey, JSON.stringify(message));
  } catch {
    // Too large, because of its files: it is sent, but a reload forgets it.
  }
};

/** The end of the turn under way ends the wait for it. */
const pause = async (ms: number): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  wake = resolve;
  const stop = effect(() => {
    const shown = run.value;
    if (shown?.state.value === 'ended' && waitsFor.peek()?.why === 'turn') resolve();
  });
  addEventListener('online', () => resolve(), { once: true });
  await promise;
  stop();
  clearTimeout(timer);
  wake = null;
};
