import { expect, test } from 'vitest';
import type { CellId } from '#base';
import { explainCell } from '#core/audit';
import { answers, goals, goodRun, lead, model, researcher } from './frames.ts';

const { frames } = goodRun();
const modelName = `model:${model}`;

test('each attempt lists the segments it showed, in window order', async () => {
  const { attempts, agent, run } = await explainCell(frames, researcher);
  expect({ agent, run }).toEqual({ agent: 'researcher', run: frames[0]!.run });
  expect(attempts.map(({ op, turn, segments }) => ({ op, turn, segments }))).toEqual([
    { op: 0, turn: 1, segments: [0, 1, 2] },
    { op: 2, turn: 2, segments: [0, 2, 5] },
  ]);
});

test('a segment lists the attempts that showed it, even if it was replaced before any did', async () => {
  const { segments } = await explainCell(frames, researcher);
  expect(segments.map(({ shownIn }) => shownIn)).toEqual([[0, 2], [0], [0, 2], [], [], [2]]);
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

test('a shortened text is traced through the segments it was made from', async () => {
  const { segments } = await explainCell(frames, researcher);
  expect(segments[5]!.trail).toEqual([
    { type: 'segment', id: 3, rule: 'reply@1' },
    { type: 'operation', cell: researcher, agent: 'researcher', op: 0, name: modelName },
    { type: 'segment', id: 4, rule: 'tool-result@1' },
    { type: 'operation', cell: researcher, agent: 'researcher', op: 1, name: 'tool:search' },
  ]);
});

test('a cell that is not in the run is rejected by name', async () => {
  await expect(explainCell(frames, 'nobody-1' as CellId)).rejects.toThrow('nobody-1');
});
