// The accounts of a run whose process died after these frames.
import type { CellId } from '#base';
import type { Frame } from '#contracts';
import { Accounts } from '#core/events';

export const loadAccounts = (frames: readonly Frame[]) => {
  const accounts = new Accounts(true);
  for (const frame of frames) accounts.next(frame);
  accounts.loseAttempts();
  const inFlight = frames.flatMap(({ cell, record }) =>
    record.type === 'begin' && accounts.of(cell)?.isLost(record.op) === true ? [`${cell}/${record.op}`] : [],
  );
  return { accounts: { get: (cell: CellId) => accounts.of(cell) }, inFlight: new Set(inFlight) };
};
