import { array, assert as check, constantFrom, integer, property, record } from 'fast-check';
import { expect, test } from 'vitest';
import { PromptlyReleasingMap } from '#base';

const step = record({ do: constantFrom('set' as const, 'delete' as const), key: integer({ min: 0, max: 9 }) });

test('behaves like a Map, except that setting an existing key moves it to the end', () =>
  check(
    property(array(step, { maxLength: 60 }), (steps) => {
      const [mine, plain] = [
        new PromptlyReleasingMap<number, { readonly nth: number }>(),
        new Map<number, { nth: number }>(),
      ];
      for (const [nth, { do: what, key }] of steps.entries()) {
        plain.delete(key);
        if (what === 'set') plain.set(key, { nth });
        if (what === 'set') mine.set(key, { nth });
        else mine.delete(key);
        expect(mine.get(key)).toEqual(plain.get(key));
      }
      expect([mine.size, mine.entries(), mine.values()]).toEqual([plain.size, [...plain], [...plain.values()]]);
    }),
  ));
