import { expect, test } from 'vitest';
import type { CellId } from '#base';
import type { Explanation } from '#contracts';
import { explainCell } from '#core/audit';
import { answers, goals, goodRun, lead, model, researcher } from './frames.ts';

const { frames } = goodRun();
const modelName = `model:${model}`;

/** What a request showed. */
const shownBy = ({ segments }: Explanation, op: number) =>
  segments.filter(({ shownIn }) => shownIn !== null && shownIn.first <= op && op <= shownIn.last).map(({ id }) => id);

test('the segments that a request showed are those it falls between, in window order', async () => {
  const explanation = await explainCell(frames, researcher);
  const { attempts, agent, run } = explanation;
  expect({ agent, run }).toEqual({ agent: 'researcher', run: frames[0]!.run });
  expect(attempts.map(({ op, turn }) => ({ op, turn, shown: shownBy(explanation, op) }))).toEqual([
    { op: 0, turn: 1, shown: [0, 1, 2] },
    { op: 2, turn: 2, shown: [0, 2, 5] },
  ]);
});

test('a segment names the first and the last request that showed it, if it was not replaced before any did', async () => {
  const { segments } = await explainCell(frames, researcher);
  expect(segments.map(({ shownIn }) => shownIn && [shownIn.first, shownIn.last])).toEqual([
    [0, 2],
    [0, 0],
    [0, 2],
    null,
    null,
    [2, 2],
  ]);
});

test('a log that is read frame by frame is explained like one in memory', async () => {
  const readLater = async function* () {
    for (const frame of frames) yield frame;
  };
  expect(await explainCell(readLater(), researcher)).toEqual(await explainCell(frames, researcher));
});

test('a text search finds text in prompts, schemas, calls and results', async () => {
  const found = async (cell: CellId, find: string) =>
    (await explainCell(frames, cell, { find })).segments
      .filter((segment) => segment.found.length > 0)
      .map(({ id, found: offsets }) => [id, ...offsets]);
  expect(await found(lead, 'You lead.')).toEqual([[0, 0]]);
  expect(await found(lead, '"description": "Use clock."')).toHaveLength(1);
  expect(await found(lead, goals.child)).toEqual([[4, expect.any(Number)]]);
  expect(await found(lead, answers.child)).toEqual([[5, expect.any(Number)]]);
  expect((await found(lead, 'o'))[0]!.length).toBeGreaterThan(2);
  expect(await found(lead, '')).toEqual([]);
  expect(await found(researcher, goals.lead)).toEqual([]);
});

test('a goal is traced to the parent’s reply that gave it', async () => {
  const { segments } = await explainCell(frames, researcher);
  expect(segments[2]!.trail).toEqual([
    expect.objectContaining({ type: 'crossing', kind: 'goal', from: lead, to: researcher, grant: 'goal' }),
    { type: 'operation', cell: lead, agent: 'lead', op: 2, name: modelName },
  ]);
});

test('a child’s result is traced to the call, the child, the crossing and the child’s last reply', async () => {
  const { segments } = await explainCell(frames, lead);
  expect(segments[5]!.trail).toEqual([
    { type: 'operation', cell: lead, agent: 'lead', op: 2, name: modelName },
    { type: 'operation', cell: lead, agent: 'lead', op: 3, name: 'agent:researcher' },
    expect.objectContaining({ type: 'crossing', kind: 'result', from: researcher, to: lead, grant: 'result' }),
    { type: 'operation', cell: researcher, agent: 'researcher', op: 2, name: modelName },
  ]);
});

test('the goal of the run is traced to the outside, the system prompt to the definition', async () => {
  const { segments } = await explainCell(frames, lead);
  expect(segments[0]!.trail).toEqual([
    { type: 'definition', cell: lead, agent: 'lead', path: 'prompt' },
    { type: 'definition', cell: lead, agent: 'lead', path: 'guidance' },
  ]);
  expect(segments[3]!.trail).toEqual([expect.objectContaining({ type: 'crossing', from: 'outside', to: lead })]);
});

test('an abbreviated text is traced to the segments it was made from, and each of them to its source', async () => {
  const { segments } = await explainCell(frames, researcher);
  expect(segments[5]!.trail).toEqual([
    { type: 'segment', id: 3, rule: 'reply@1' },
    { type: 'segment', id: 4, rule: 'tool-result@1' },
  ]);
  const asked = { type: 'operation', cell: researcher, agent: 'researcher', op: 0, name: modelName };
  expect(segments[3]!.trail).toEqual([asked]);
  expect(segments[4]!.trail).toEqual([asked, { ...asked, op: 1, name: 'tool:search' }]);
});

test('a cell that is not in the run is rejected by name', async () => {
  await expect(explainCell(frames, 'nobody-1' as CellId)).rejects.toThrow('nobody-1');
});
