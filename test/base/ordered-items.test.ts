import { array, assert as check, constantFrom, integer, property, record } from 'fast-check';
import { expect, test } from 'vitest';
import { OrderedItems } from '#base';

const place = integer({ min: 0, max: 12 });
const step = record({ do: constantFrom('add', 'insert', 'remove', 'replace'), id: place, first: place, last: place });

/** What it means, with a plain array. */
class Reference {
  items: number[] = [];

  add(id: number, after?: number): void {
    const at = after === undefined ? -1 : this.items.indexOf(after);
    if (!this.items.includes(id)) this.items.splice(at < 0 ? this.items.length : at + 1, 0, id);
  }

  replaceRange(first: number, last: number, by: readonly number[]): readonly number[] | undefined {
    const [from, to] = [this.items.indexOf(first), this.items.indexOf(last)];
    if (from < 0 || to < from) return undefined;
    const removed = this.items.splice(from, to - from + 1);
    this.items.splice(from, 0, ...by.filter((id) => !this.items.includes(id)));
    return removed;
  }
}

test('behaves like an array whose items are found by number', () =>
  check(
    property(array(step, { maxLength: 60 }), (steps) => {
      const [mine, plain] = [new OrderedItems<number>(), new Reference()];
      for (const { do: what, id, first, last } of steps) {
        if (what === 'add') expect(mine.add(id, id)).toEqual(plain.add(id));
        else if (what === 'insert') expect(mine.add(id, id, first)).toEqual(plain.add(id, first));
        else if (what === 'remove') expect(mine.removeRange(first, last)).toEqual(plain.replaceRange(first, last, []));
        else expect(mine.replaceRange(first, last, [id, id])).toEqual(plain.replaceRange(first, last, [id]));
        expect([...mine]).toEqual(plain.items);
        expect([mine.size, mine.get(id)]).toEqual([plain.items.length, plain.items.find((one) => one === id)]);
      }
    }),
  ));
