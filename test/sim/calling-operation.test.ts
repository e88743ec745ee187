// Which operation a judge takes a tool call for, when a run was forked.
import { expect, test } from 'vitest';
import { callingOperation } from '../../sim/judges/facts.ts';

const birth = { cell: 'root', parent: null, agent: 'lead', digest: '', depth: 0, caps: {}, deadline: 0 };
const begin = (op: number, name: string) => ({ type: 'begin', op, do: 'step', name });
const framesOf = (...records: readonly object[]) =>
  records.map((record, no) => ({ run: '', no, at: no, cell: 'root', record }));

const origin = {
  run: 'origin',
  forkedFrom: null,
  frames: framesOf({ type: 'open', birth }, begin(0, 'tool:look')),
};
const fork = {
  run: 'copy',
  forkedFrom: { run: 'origin' },
  frames: framesOf(
    { type: 'open', birth },
    begin(0, 'tool:look'),
    { type: 'fork', from: { run: 'origin', frames: 2 }, amendment: {} },
    begin(1, 'sleep'),
  ),
};
const nameFor = (key: string): string | undefined =>
  callingOperation({ runs: [origin, fork], writings: [] } as never, { key, at: 0, process: 1 } as never)?.begin.name;

// Free calls start before their records are stored. Seed 1239851 took such a call for what the fork did instead.
test('a call that its run lost in a crash is not taken for an operation of a fork', () => {
  expect(nameFor('root/1')).toBeUndefined();
  expect(nameFor('copy/root/1')).toBe('sleep');
  expect(nameFor('root/0')).toBe('tool:look');
  expect(nameFor('copy/root/0')).toBeUndefined();
});
