// Waiting as an operation: for time to pass, or for mail.
import type { CellId, Failure, Json } from '#base';
import type { ReceiveResult, ReceiveOperation, Settlement, SleepOperation, MailFilter } from '#contracts';
import type { QueuedMessage, Member } from '#core/bus';
import type { RunPorts } from './cell-runtime.ts';
import type { MailDelivery } from './mail-delivery.ts';
import type { InFlightOperation } from './step-runner.ts';

type Owner = {
  readonly cellId: CellId;
  readonly liveRun: { time(): number; readonly ports: Pick<RunPorts, 'clock'>; readonly post: MailDelivery };
  settle(started: InFlightOperation, result: Settlement<Json>): void;
};

/** Waits for what is wanted, or for so long; 0: as long as it takes. */
export const startReceive = (owner: Owner, started: InFlightOperation<ReceiveOperation>, ms: number): void => {
  const { timeoutMs } = started.operation;
  const { box } = owner.liveRun.post.directory.get(owner.cellId) ?? nowhere;
  const wanted = started.operation.wanted();
  const expired = [...box.expire(owner.liveRun.time())];
  let stopTimer = (): void => undefined;
  const settle = (value: ReceiveResult): void => {
    stopTimer();
    const late = expired.length === 0 ? {} : { expired };
    owner.settle(started, { at: owner.liveRun.time(), ok: true, value: { ...value, ...late } as unknown as Json });
  };
  if ('settle' in wanted) return settle(wanted.settle);
  const stopWaiting = box.wait(wanted, ({ letters, closing }) =>
    settle({ messages: seqsOf(letters), ...(closing ? { closing: true } : {}) }),
  );
  if (started.result !== undefined) return;
  if (timeoutMs > 0)
    stopTimer = owner.liveRun.ports.clock.timer(ms, () => {
      stopWaiting();
      expired.push(...box.expire(owner.liveRun.time()));
      const letters = box.take(wanted);
      settle({ messages: seqsOf(letters), timedOut: true, ...missingIn(letters, wanted) });
    });
  const stop = (failure: Failure): void => {
    stopWaiting();
    stopTimer();
    owner.settle(started, { at: owner.liveRun.time(), ok: false, failure });
  };
  started.stop = stop;
};

/** Those who were named and have not written. */
const missingIn = (
  letters: readonly QueuedMessage[],
  { from = [], names = [] }: MailFilter,
): Pick<ReceiveResult, 'missing'> => {
  const missing = names.filter((_, index) => !letters.some((letter) => letter.from === from[index]));
  return missing.length === 0 ? {} : { missing };
};

const seqsOf = (letters: readonly QueuedMessage[]): readonly number[] => letters.map(({ seq }) => seq);

/** For a cell that nobody can write to: it waits in vain. */
const nowhere = { box: { wait: () => () => undefined, take: () => [], expire: () => [] } } as unknown as Member;

export const startSleep = (owner: Owner, started: InFlightOperation<SleepOperation>, ms: number): void => {
  const settle = (result: Settlement<Json>): void => owner.settle(started, result);
  const stopTimer = owner.liveRun.ports.clock.timer(ms, () =>
    settle({ at: owner.liveRun.time(), ok: true, value: null }),
  );
  const stop = (failure: Failure): void => {
    stopTimer();
    settle({ at: owner.liveRun.time(), ok: false, failure });
  };
  started.stop = stop;
};
