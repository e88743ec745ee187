import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RunEvent } from '#contracts';
import { sendProgress } from '#testing/headends/mcp';
import type { ProgressNote } from '#testing/headends/mcp';

const use = (at: number): RunEvent =>
  ({ type: 'tool-start', agent: 'lead', tool: 'search', args: 'sk-secret', at }) as unknown as RunEvent;

const collectProgress = async (
  times: readonly number[],
  take: () => boolean = () => true,
): Promise<{ at: number; note: ProgressNote }[]> => {
  const notes: { at: number; note: ProgressNote }[] = [];
  let now = 0;
  const events = async function* () {
    for (now of times) yield use(now);
  };
  await sendProgress(events(), { tryReserve: take }, async (note) => void notes.push({ at: now, note }));
  return notes;
};

const times = fc
  .array(fc.integer({ min: 0, max: 100 }), { minLength: 40, maxLength: 120 })
  .map((gaps) => gaps.reduce<number[]>((all, gap) => [...all, (all.at(-1) ?? 1) + gap], []));

test('progress is limited to a burst of 20 and 5 per second, with rising numbers', () =>
  fc.assert(
    fc.asyncProperty(times, async (at) => {
      const notes = await collectProgress(at);
      expect(notes.map(({ note }) => note.progress)).toEqual(notes.map((_, place) => place + 1));
      notes.forEach((first, place) =>
        notes.slice(place).forEach((last, more) => {
          expect(more + 1).toBeLessThanOrEqual(20 + ((last.at - first.at) * 5) / 1_000 + 1e-6);
        }),
      );
    }),
  ));

test('slow events are all reported', async () => {
  const slowly = Array.from({ length: 500 }, (_, place) => 1 + place * 200);
  expect(await collectProgress(slowly)).toHaveLength(500);
});

test('a client without room gets no progress, and one with room gets names only', async () => {
  expect(await collectProgress([1, 2, 3], () => false)).toEqual([]);
  expect((await collectProgress([1])).map(({ note }) => note)).toEqual([
    { progress: 1, message: 'lead called the tool search.' },
  ]);
});

test('a notification that cannot be sent stops nothing', async () => {
  let sent = 0;
  const events = async function* () {
    yield* [use(1), use(2), use(3)];
  };
  await sendProgress(events(), { tryReserve: () => true }, async () => {
    sent += 1;
    throw new Error('gone');
  });
  expect(sent).toBe(3);
});
