// Ctrl-C while something is deleted, archived or taken in.
import { expect, test } from 'vitest';
import { letFinish } from '../../../src/headends/cli/shared/let-finish.ts';

test('the first Ctrl-C says what is finished and what a second one leaves, and the command then ends with 130', () => {
  const printed: string[] = [];
  let first: () => void = () => undefined;
  const interrupts = {
    seen: false,
    onFirst(stop: () => void) {
      first = () => {
        interrupts.seen = true;
        stop();
      };
    },
  };
  const output = { err: { print: (...lines: readonly string[]) => void printed.push(...lines) } };
  const work = letFinish({ interrupts, output } as never, { what: 'the deletion', otherwise: 'nothing is lost' });
  expect(work.end()).toBe(0);
  first();
  expect(printed).toEqual(['Finishing the deletion; Ctrl-C again stops at once: nothing is lost.']);
  expect(work.end()).toBe(130);
});
