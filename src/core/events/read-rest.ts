// Whether a run is at rest, from its log: every cell only waits, for mail, people or time, so nobody needs to own the run.
//
//   rest-only-after-wait. A log that ends with anything but the beginning of a wait may have been cut by a crash, before somebody was
//       told what came: then it counts as working, and whoever resumes the run finds out.
import type { CellId } from '#base';
import type { Frame, RecordOf, RunRest } from '#contracts';

/** The operations of one cell that are in flight. */
type Pending = Map<number, { readonly works: boolean; readonly until: number | null; readonly no: number }>;

/** Null: something in the run works, or it has ended. `frames`: one run, in log order. */
export const readRest = (frames: readonly Frame[]): RunRest | null => {
  const cells = new Map<CellId, Pending>();
  const downs: { readonly no: number; readonly ms: number }[] = [];
  for (const { no, cell, record } of frames)
    switch (record.type) {
      case 'open':
        cells.set(record.birth.cell, new Map());
        break;
      case 'begin':
        if (record.birth !== undefined) cells.set(record.birth.cell, new Map());
        cells.get(cell)?.set(record.op, { works: record.do === 'step', until: record.until ?? null, no });
        break;
      case 'settle':
        if (record.ended !== undefined) cells.delete(record.ended.cell);
        cells.get(cell)?.delete(record.op);
        break;
      case 'resume':
        downs.push({ no, ms: record.downMs });
        break;
      default:
    }
  const all = [...cells.values()];
  const pending = all.flatMap((one) => [...one.values()]);
  const isResting = endsWithWait(frames) && all.every(({ size }) => size > 0) && pending.every(({ works }) => !works);
  if (!isResting) return null;
  // Timers stand still while a run is down.
  const downSince = (begun: number): number => downs.reduce((sum, { no, ms }) => (no > begun ? sum + ms : sum), 0);
  const times = pending.flatMap(({ until, no }) => (until === null ? [] : [until + downSince(no)]));
  return { until: times.length === 0 ? null : Math.min(...times) };
};

const endsWithWait = (frames: readonly Frame[]): boolean => {
  const last = frames.findLast(({ record }) => record.type !== 'resume')?.record;
  return last?.type === 'begin' && isWait[last.do];
};

const isWait: Record<RecordOf<'begin'>['do'], boolean> = {
  step: false,
  child: false,
  sleep: true,
  receive: true,
  ask: true,
};
