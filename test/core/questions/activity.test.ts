// When a cell waits for people, against a model that looks at everything in flight after every step.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Account } from '#core/events';

type Step =
  | { readonly do: 'cell'; readonly under: number }
  | { readonly do: 'begin'; readonly cell: number; readonly kind: 'work' | 'ask' }
  | { readonly do: 'end'; readonly nth: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cell' as const), under: fc.nat(5) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('begin' as const),
      cell: fc.nat(5),
      kind: fc.constantFrom('work' as const, 'ask' as const),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('end' as const), nth: fc.nat(9) }) },
);

type InFlight = { readonly cell: number; readonly op: number; readonly kind: 'work' | 'ask' };
type Span = { readonly from: number; to: number | null };

/** Cells as a list of their parents; all that is in flight; and the pauses of each. */
class Reference {
  readonly parents: (number | null)[] = [null];
  readonly pauses: Span[][] = [[]];
  inFlight: InFlight[] = [];

  #isIn(cell: number, root: number): boolean {
    const parent = this.parents[cell]!;
    return cell === root || (parent !== null && this.#isIn(parent, root));
  }

  isPaused(cell: number): boolean {
    const below = this.inFlight.filter((one) => this.#isIn(one.cell, cell));
    return below.some(({ kind }) => kind === 'ask') && !below.some(({ kind }) => kind === 'work');
  }

  look(no: number): void {
    this.pauses.forEach((spans, cell) => {
      const last = spans.at(-1);
      const isOpen = last !== undefined && last.to === null;
      if (this.isPaused(cell) && !isOpen) spans.push({ from: no, to: null });
      if (!this.isPaused(cell) && isOpen) last.to = no;
    });
  }
}

// invariant: pause-when-nothing-works
test('a cell pauses exactly while it or one below it asks, and nothing in any of them works', () =>
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const accounts = [new Account(null, {})];
      const model = new Reference();
      steps.forEach((one, no) => {
        const at = { no, at: no * 10 };
        if (one.do === 'cell') {
          const under = one.under % accounts.length;
          accounts.push(new Account(accounts[under]!, {}));
          model.parents.push(under);
          model.pauses.push([]);
        } else if (one.do === 'begin') {
          const cell = one.cell % accounts.length;
          accounts[cell]!.activity.begin(no, one.kind, at);
          model.inFlight.push({ cell, op: no, kind: one.kind });
        } else {
          const ended = model.inFlight[one.nth % Math.max(1, model.inFlight.length)];
          if (ended === undefined) return;
          model.inFlight = model.inFlight.filter((other) => other !== ended);
          accounts[ended.cell]!.activity.end(ended.op, at);
        }
        model.look(no);
      });
      accounts.forEach(({ activity }, cell) => {
        expect(activity.isPaused).toBe(model.isPaused(cell));
        expect(activity.pauses.map(({ from, to }) => ({ from: from.no, to: to?.no ?? null }))).toEqual(
          model.pauses[cell],
        );
      });
    }),
  ));

test('the end of an operation that never began changes nothing', () => {
  const { activity } = new Account(null, {});
  activity.begin(1, 'ask', { no: 0, at: 0 });
  activity.end(2, { no: 1, at: 10 });
  expect(activity.isPaused).toBe(true);
  expect(activity.pauses).toEqual([{ from: { no: 0, at: 0 }, to: null }]);
});
