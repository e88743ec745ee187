import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRunSlot } from '../../../src/app/serve/run-slot.ts';
import { SlotQueue } from '../../../src/app/serve/slot-queue.ts';
import type { ReleaseSlot } from '../../../src/app/serve/slot-queue.ts';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

type Step = 'write' | 'go away' | 'wait' | 'wake' | 'other comes' | 'other goes' | 'end';

/** With what happens before anything else goes on: several steps may come at once. */
const steps: fc.Arbitrary<readonly (readonly Step[])[]> = fc.array(
  fc.array(
    fc.constantFrom<Step[]>('write', 'write', 'go away', 'wait', 'wait', 'wake', 'other comes', 'other goes', 'end'),
    { minLength: 1, maxLength: 4 },
  ),
  { maxLength: 30 },
);

test('in 1,000 courses of events a place is held once at most, every writer has it or goes away, and nobody waits where there is room', async () => {
  const seeking = { agent: 'host', caller: 'ann', callerMax: 100 };
  const other = { ...seeking, agent: 'other', caller: 'ben' };
  await fc.assert(
    fc.asyncProperty(steps, async (course) => {
      const places = new SlotQueue({ running: 2, runningPerAgent: 2, waiting: 1_000 });
      const place = createRunSlot(places, seeking, await places.acquire(seeking));
      const others: ReleaseSlot[] = [];
      const writers = new Set<AbortController>();
      let [isOver, written, sent, refused, gone, othersWaiting] = [false, 0, 0, 0, 0, 0];
      const act: Readonly<Record<Step, () => void>> = {
        write: () => {
          const writer = new AbortController();
          writers.add(writer);
          written++;
          void place
            .within(() => sent++, writer.signal)
            .catch(() => void refused++)
            .finally(() => writers.delete(writer));
        },
        'go away': () => {
          const writer = [...writers].find(({ signal }) => !signal.aborted);
          if (writer === undefined) return;
          gone++;
          writer.abort();
        },
        wait: () => place.release(),
        wake: () => place.reacquire(),
        'other comes': () => {
          othersWaiting++;
          const entering = async (): Promise<void> => {
            const leave = await places.acquire(other);
            othersWaiting--;
            others.push(leave);
          };
          void entering();
        },
        'other goes': () => others.shift()?.(),
        end: () => {
          isOver = true;
          place.end();
        },
      };
      for (const together of course) {
        for (const step of together) act[step]();
        await settle();
        const held = places.running - others.length;
        expect(held === 0 || (held === 1 && !isOver)).toBe(true);
        expect(places.waiting).toBe(writers.size + othersWaiting);
        if (places.running < 2) expect(places.waiting).toBe(0);
        if (held === 1 || isOver) expect(writers.size).toBe(0);
        // One who goes away in the very moment may have the place by then.
        expect(refused).toBeLessThanOrEqual(gone);
        expect(sent + refused).toBe(written - writers.size);
      }
    }),
    {
      numRuns: 1_000,
      examples: [
        [
          [
            ['wait', 'other comes', 'other comes'],
            ['write', 'write'],
            ['other goes', 'other goes'],
          ],
        ],
      ],
    },
  );
});
