// Operations that wait: for time to pass, or for mail.
import type { Failure, Json } from '#base';
import type { ReceiveResult, ReceiveOperation, Settlement, SleepOperation, RunPorts } from '#contracts';
import type { MailFilter, QueuedMessage, Member } from '#core/bus';
import { decideWanted } from './mail-room.ts';
import type { MailRequester } from './mail-room.ts';
import type { InFlightOperation } from './step-runner.ts';

type TimedCell = {
  readonly run: { time(): number; readonly ports: Pick<RunPorts, 'clock'> };
  settle(started: InFlightOperation, result: Settlement<Json>): void;
};

type WaitingCell = TimedCell & MailRequester;

/** Waits for matching mail, for at most that long; a timeout of 0 waits indefinitely. */
export const startReceive = (owner: WaitingCell, started: InFlightOperation<ReceiveOperation>, ms: number): void => {
  const { timeoutMs } = started.operation;
  const { mailbox } = owner.run.mail.directory.get(owner.cellId) ?? noMailbox;
  const wanted = decideWanted(owner, started.operation.wanted);
  const expired = [...mailbox.expire(owner.run.time())];
  let stopTimer = (): void => undefined;
  const settle = (value: ReceiveResult): void => {
    stopTimer();
    const late = expired.length === 0 ? {} : { expired };
    owner.settle(started, { at: owner.run.time(), ok: true, value: { ...value, ...late } as unknown as Json });
  };
  if (typeof wanted === 'object' && 'settle' in wanted) return settle(wanted.settle);
  const stopWaiting =
    wanted === 'idle below'
      ? owner.run.mail.awaitIdleBelow(owner.cellId, () => settle({ messages: [] }))
      : mailbox.wait(wanted, ({ messages, closing }) =>
          settle({ messages: seqNumbers(messages), ...(closing ? closingValue(mailbox) : {}) }),
        );
  if (started.result !== undefined) return;
  owner.run.mail.notifyIdleWaiters();
  if (timeoutMs > 0)
    stopTimer = owner.run.ports.clock.timer(ms, () => {
      stopWaiting();
      expired.push(...mailbox.expire(owner.run.time()));
      if (wanted === 'idle below') return settle({ messages: [], timedOut: true });
      const messages = mailbox.take(wanted);
      settle({ messages: seqNumbers(messages), timedOut: true, ...missingSenders(messages, wanted) });
    });
  const stop = (failure: Failure): void => {
    stopWaiting();
    stopTimer();
    owner.settle(started, { at: owner.run.time(), ok: false, failure });
  };
  started.stop = stop;
};

const closingValue = ({ unread }: Member['mailbox']): Pick<ReceiveResult, 'closing' | 'unread'> => ({
  closing: true,
  ...(unread.some(({ asks }) => asks) ? { unread: true } : {}),
});

/** The named senders that have not written. */
const missingSenders = (
  messages: readonly QueuedMessage[],
  { from = [], names = [] }: MailFilter,
): Pick<ReceiveResult, 'missing'> => {
  const missing = names.filter((_, index) => !messages.some((message) => message.from === from[index]));
  return missing.length === 0 ? {} : { missing };
};

const seqNumbers = (messages: readonly QueuedMessage[]): readonly number[] => messages.map(({ seq }) => seq);

/** For a cell without a mailbox: nothing ever arrives. */
const noMailbox = { mailbox: { wait: () => () => undefined, take: () => [], expire: () => [] } } as unknown as Member;

export const startSleep = (owner: TimedCell, started: InFlightOperation<SleepOperation>, ms: number): void => {
  const settle = (result: Settlement<Json>): void => owner.settle(started, result);
  const stopTimer = owner.run.ports.clock.timer(ms, () => settle({ at: owner.run.time(), ok: true, value: null }));
  const stop = (failure: Failure): void => {
    stopTimer();
    settle({ at: owner.run.time(), ok: false, failure });
  };
  started.stop = stop;
};
