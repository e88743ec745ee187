import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RunEvent } from '#contracts';
import { tellProgress } from '../../../src/headends/mcp/tell-progress.ts';
import type { ProgressNote } from '../../../src/headends/mcp/tell-progress.ts';

const use = (at: number): RunEvent =>
  ({ type: 'tool-start', agent: 'lead', tool: 'search', args: 'sk-secret', at }) as unknown as RunEvent;

const told = async (
  times: readonly number[],
  take: () => boolean = () => true,
): Promise<{ at: number; note: ProgressNote }[]> => {
  const notes: { at: number; note: ProgressNote }[] = [];
  let now = 0;
  const events = async function* () {
    for (now of times) yield use(now);
  };
  await tellProgress(events(), { take }, async (note) => void notes.push({ at: now, note }));
  return notes;
};

const times = fc
  .array(fc.integer({ min: 0, max: 100 }), { minLength: 40, maxLength: 120 })
  .map((gaps) => gaps.reduce<number[]>((all, gap) => [...all, (all.at(-1) ?? 1) + gap], []));

test('of what happens no more is told than 20 things at once and 5 a second, in rising numbers', () =>
  fc.assert(
    fc.asyncProperty(times, async (at) => {
      const notes = await told(at);
      expect(notes.map(({ note }) => note.progress)).toEqual(notes.map((_, place) => place + 1));
      notes.forEach((first, place) =>
        notes.slice(place).forEach((last, more) => {
          expect(more + 1).toBeLessThanOrEqual(20 + ((last.at - first.at) * 5) / 1_000 + 1e-6);
        }),
      );
    }),
  ));

test('what happens slowly is told whole', async () => {
  const slowly = Array.from({ length: 500 }, (_, place) => 1 + place * 200);
  expect(await told(slowly)).toHaveLength(500);
});

test('a client that has no room is told nothing, and one that has is told with names only', async () => {
  expect(await told([1, 2, 3], () => false)).toEqual([]);
  expect((await told([1])).map(({ note }) => note)).toEqual([{ progress: 1, message: 'lead uses search.' }]);
});

test('a note that cannot be sent stops nothing', async () => {
  let sent = 0;
  const events = async function* () {
    yield* [use(1), use(2), use(3)];
  };
  await tellProgress(events(), { take: () => true }, async () => {
    sent += 1;
    throw new Error('gone');
  });
  expect(sent).toBe(3);
});
