// A goal is in the ledgers of both ends in the frame that creates the cell; a result, in the frame that ends it.
import type { CellId } from '#base';
import type { Frame } from '#contracts';
import type { Judge } from './judge.ts';

// invariants: frame-holds-its-crossings, door-decides-in-frame, ledger-both-ends
export const ledger: Judge = {
  name: 'ledger entry in the frame of its effect',
  check: ({ runs }, report) => {
    let checks = 0;
    for (const { run, frames } of runs)
      for (const frame of frames) {
        const { record, cell } = frame;
        const expect = (kind: 'goal' | 'result', from: CellId | 'outside', to: CellId | 'outside'): void => {
          checks++;
          const missing = [
            ...(from === 'outside' || hasEntry(frame, kind, 'out', from, to) ? [] : [`out of ${from}`]),
            ...(to === 'outside' || hasEntry(frame, kind, 'in', to, from) ? [] : [`into ${to}`]),
          ];
          for (const entry of missing)
            report(`a ledger entry for the ${kind} ${entry} in frame ${frame.no} of run ${run}`, 'it is missing');
        };
        const birth = record.type === 'open' || record.type === 'begin' ? record.birth : undefined;
        // A spawned agent may wait for mail instead.
        if (birth !== undefined && (birth.spawned === undefined || hasGoal(frame)))
          expect('goal', isOutside(record) ? 'outside' : (birth.parent ?? 'outside'), birth.cell);
        if (record.type === 'settle' && record.ended !== undefined) expect('result', record.ended.cell, cell);
        if (record.type === 'close') expect('result', cell, 'outside');
      }
    return checks;
  },
};

/** Somebody outside started it, under another cell. */
const isOutside = (record: Frame['record']): boolean => record.type === 'begin' && record.op < 0;

const hasGoal = ({ links }: Frame): boolean =>
  links?.some(({ entries }) => entries.some(({ kind }) => kind === 'goal')) ?? false;

const hasEntry = ({ links }: Frame, kind: string, way: 'in' | 'out', cell: CellId, other: string): boolean =>
  links?.some(
    (link) =>
      link.cell === cell &&
      link.entries.some((entry) => entry.kind === kind && entry.way === way && entry.other === other),
  ) ?? false;
