// Mail of the fake runtime, and a session for a chat.
import { CloisterError } from '#base';
import type { Hash } from '#base';
import type { Answer, DeadLetters, DurableEvent, MailReport, RunEvent, RunOutcome, RunSession } from '#contracts';
import type { Behaviour } from './driver.ts';
import { childId, enveloped, eventsOf, leadId, outcomeOf, runId, startAt } from './scene.ts';
import type { Scene } from './scene.ts';

export const nothing: AsyncIterable<never> = {
  [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) }),
};

/** For a session that gets no messages. */
export const noMail = {
  questions: async () => [],
  clientCalls: async () => [],
  waitsForPeople: false,
  onWaiting: () => () => undefined,
  admitWith: () => undefined,
  leave: () => false,
  durable: async () => undefined,
  transcript: () => Promise.reject(new Error('not here')),
  resident: false,
  do: (): never => {
    throw new Error('Not here.');
  },
  addContext: () => undefined,
  spawn: async () => Promise.reject(new Error('Not here.')),
  refreshShare: () => 0,
  send: () => 'm-0',
  answer: () => Promise.reject(new CloisterError('cell_ended')),
  ask: () => Promise.reject(new CloisterError('cell_ended')),
  subscribe: () => nothing,
  messages: () => nothing,
  confirm: () => undefined,
  route: () => 0,
  agents: () => [],
  finish: () => undefined,
  protocol: () => nothing,
} as const;

const letter = (given: Scene, over: Partial<MailReport>): MailReport => ({
  id: 'm-0123456789ab',
  message_type: 'message',
  from: 'outside',
  to: leadId,
  agent_id: null,
  recipient_id: given.agent,
  topic: null,
  correlation_id: null,
  chain: 'm-0123456789ab',
  bytes: 234,
  sha256: 'ab'.repeat(32) as Hash,
  state: 'read',
  queuedAt: startAt,
  deliveredAt: startAt + 12,
  readAt: startAt + 1500,
  deadAt: null,
  reason: null,
  ...over,
});

/** One of each state. */
export const mailOf = (given: Scene): readonly MailReport[] => [
  letter(given, {}),
  letter(given, {
    id: 'm-11',
    message_type: 'broadcast',
    from: leadId,
    to: childId,
    agent_id: given.agent,
    recipient_id: given.childAgent,
    topic: given.tool,
    state: 'queued',
    deliveredAt: null,
    readAt: null,
  }),
  letter(given, {
    id: 'm-22',
    message_type: 'answer',
    from: leadId,
    to: 'outside',
    agent_id: given.agent,
    recipient_id: 'person',
    correlation_id: 'm-0123456789ab',
    state: 'delivered',
    readAt: null,
  }),
  letter(given, {
    id: 'm-33',
    from: leadId,
    to: null,
    agent_id: given.agent,
    recipient_id: given.goal,
    bytes: 0,
    sha256: null,
    state: 'dead',
    deliveredAt: null,
    readAt: null,
    deadAt: startAt + 20,
    reason: 'unknown',
  }),
];

export const deadOf = (given: Scene): DeadLetters => ({
  letters: mailOf(given)
    .filter(({ state }) => state === 'dead')
    .map((one) => ({ ...one, run: runId })),
  read: 1,
  more: false,
  damaged: [],
});

/** Emits its events with each message and answers as the scene says; an outcome that is not an answer ends it. */
export const fakeResident = (given: Scene, behaviour: Behaviour, said: (text: string) => void): RunSession => {
  const cancelled = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<RunOutcome>();
  ended.promise.catch(() => undefined);
  const events: RunEvent[] = [];
  let wake: (() => void) | undefined;
  let [stopped, over, turn] = [false, false, 0];
  const end = (outcome: Partial<RunOutcome> = {}): void => {
    if (behaviour.outcomeRejects === undefined) ended.resolve({ ...outcomeOf(given), ...outcome });
    else ended.reject(behaviour.outcomeRejects);
    over = true;
    wake?.();
  };
  const push = (event: RunEvent): void => {
    events.push(event);
    wake?.();
  };
  const iterate = async function* (): AsyncGenerator<RunEvent> {
    for (let no = 0; ; no++) {
      while (no >= events.length) {
        if (over) return;
        await new Promise<void>((resolve) => (wake = resolve));
      }
      yield events[no]!;
    }
  };
  const play = async (): Promise<void> => {
    for (const [no, event] of eventsOf(given)
      .slice(turn++ === 0 ? 0 : 2, -1)
      .entries()) {
      if (no === behaviour.holdAfter) await Promise.race([cancelled.promise, behaviour.released ?? cancelled.promise]);
      if (stopped) return;
      push(event);
    }
  };
  const answerEvent = (id: string): DurableEvent => {
    const event = { type: 'mail', cell: leadId, agent: given.agent } as const;
    const ends = { from: leadId, to: 'outside', sender: given.agent, recipient: 'person' } as const;
    const what = {
      message: id,
      kind: 'answer',
      topic: null,
      correlation: null,
      state: 'delivered',
      reason: null,
      text: null,
      unasked: false,
    } as const;
    return { ...event, ...enveloped(event), ...ends, ...what, id: `${leadId}/${id}`, run: runId, at: startAt };
  };
  const answer = async (): Promise<Answer> => {
    await play();
    const isAnswered = ['completed', 'partial', 'failed'].includes(given.status);
    if (stopped || !isAnswered || behaviour.outcomeRejects !== undefined) {
      if (!over) end(stopped ? { status: 'cancelled', failure: { code: 'cancelled' } } : {});
      throw new CloisterError('cell_ended', 'No answer.');
    }
    const id = `m-${turn}`;
    // Its last reply called no tools.
    const newest = events.findLast((event) => event.type === 'model-end' && event.cell === leadId) as DurableEvent;
    push({ ...newest, id: `${leadId}/${id}/said`, calls: 0 } as DurableEvent);
    push(answerEvent(id));
    const { status, answer: text, failure } = given;
    return { id, correlation_id: null, agent_id: given.agent, status, text, error: failure?.code ?? null, at: startAt };
  };
  const cancel = (): void => {
    if (behaviour.deaf === true) return;
    stopped = true;
    cancelled.resolve();
    if (turn > 0 && behaviour.holdAfter === undefined) behaviour.onFinish?.('cancel');
    if (behaviour.holdAfter === undefined) end({ status: 'cancelled' });
  };
  return {
    ...noMail,
    resident: true,
    run: runId,
    outcome: ended.promise,
    cancel,
    send: (text) => {
      said(text);
      return `m-${turn}`;
    },
    answer,
    agents: () =>
      Array.from(
        { length: 1 + (behaviour.others ?? 0) },
        (_, no) => ({ parent: no === 0 ? null : leadId, sub_agent_id: `scout-${no}` }) as never,
      ),
    finish: () => {
      behaviour.onFinish?.('finish');
      end();
    },
    causes: async () => [],
    events: () => ({ [Symbol.asyncIterator]: iterate }),
    [Symbol.asyncIterator]: iterate,
  };
};
