import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRunSlot, SlotQueue } from '../../../src/app/serve/slot-queue.ts';
import type { ReleaseSlot } from '#testing/app/serve';

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

type Step = 'write' | 'go away' | 'wait' | 'wake' | 'other comes' | 'other goes' | 'end';

/** Several steps may happen before anything else runs. */
const steps: fc.Arbitrary<readonly (readonly Step[])[]> = fc.array(
  fc.array(
    fc.constantFrom<Step[]>('write', 'write', 'go away', 'wait', 'wait', 'wake', 'other comes', 'other goes', 'end'),
    { minLength: 1, maxLength: 4 },
  ),
  { maxLength: 30 },
);

// invariant: slot-held-once
test('in 1,000 random sequences, a slot is held at most once, every sender gets it or leaves, and none waits while there is room', async () => {
  const seeking = { agent: 'host', caller: 'ann', callerMax: 100 };
  const other = { ...seeking, agent: 'other', caller: 'ben' };
  await fc.assert(
    fc.asyncProperty(steps, async (course) => {
      const slots = new SlotQueue({ running: 2, runningPerAgent: 2, waiting: 1_000 });
      const slot = createRunSlot(slots, seeking, await slots.acquire(seeking));
      const others: ReleaseSlot[] = [];
      const writers = new Set<AbortController>();
      let [isOver, written, sent, refused, gone, othersWaiting] = [false, 0, 0, 0, 0, 0];
      const act: Readonly<Record<Step, () => void>> = {
        write: () => {
          const writer = new AbortController();
          writers.add(writer);
          written++;
          void slot
            .runWithSlot(() => sent++, writer.signal)
            .catch(() => void refused++)
            .finally(() => writers.delete(writer));
        },
        'go away': () => {
          const writer = [...writers].find(({ signal }) => !signal.aborted);
          if (writer === undefined) return;
          gone++;
          writer.abort();
        },
        wait: () => slot.release(),
        wake: () => slot.reacquire(),
        'other comes': () => {
          othersWaiting++;
          const entering = async (): Promise<void> => {
            const leave = await slots.acquire(other);
            othersWaiting--;
            others.push(leave);
          };
          void entering();
        },
        'other goes': () => others.shift()?.(),
        end: () => {
          isOver = true;
          slot.close();
        },
      };
      for (const together of course) {
        for (const step of together) act[step]();
        await settle();
        const held = slots.running - others.length;
        expect(held === 0 || (held === 1 && !isOver)).toBe(true);
        expect(slots.waiting).toBe(writers.size + othersWaiting);
        if (slots.running < 2) expect(slots.waiting).toBe(0);
        if (held === 1 || isOver) expect(writers.size).toBe(0);
        // A sender that leaves at that very moment may already have the slot.
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

// invariant: slot-work-synchronous
test('whatever runs with the slot holds it, even when what runs before releases it', async () => {
  const request = { agent: 'host', caller: 'ann', callerMax: 1 };
  const slots = new SlotQueue({ running: 1, runningPerAgent: 1, waiting: 10 });
  const slot = createRunSlot(slots, request, await slots.acquire(request));
  slot.release();
  const other = await slots.acquire(request);
  const held: number[] = [];
  const all = [1, 2, 3].map(() =>
    slot.runWithSlot(() => {
      held.push(slots.running);
      slot.release();
    }),
  );
  other();
  await Promise.all(all);
  expect(held).toEqual([1, 1, 1]);
});
