import { expect, test } from 'vitest';
import type { Frame, Outcome, RecordOf, Sees } from '#contracts';
import { projectEvents, reportRun } from '#core/events';
import {
  FrameWriter,
  answers,
  birthOf,
  definitions,
  fromDefinition,
  fromGoal,
  goals,
  goodRun,
  lead,
  longText,
  model,
  researcher,
  reviewer,
  usage,
} from '../audit/frames.ts';

const sizes = (into: string, out: string) => ({
  bytesIn: Buffer.byteLength(into),
  charsIn: into.length,
  bytesOut: Buffer.byteLength(out),
  charsOut: out.length,
});

const { frames } = goodRun();
const report = await reportRun(frames, 'ended');

test('a run is reported with its goal, status, output and cells', () => {
  expect(report).toMatchObject({
    run: frames[0]!.run,
    agent: 'lead',
    goal: goals.lead,
    status: 'completed',
    output: answers.lead,
    startedAt: frames[0]!.at,
    endedAt: frames.at(-1)!.at,
  });
  expect(
    report.cells.map(({ cell, parent, depth, turns, models }) => ({ cell, parent, depth, turns, models })),
  ).toEqual([
    { cell: lead, parent: null, depth: 0, turns: 2, models: [model] },
    { cell: researcher, parent: lead, depth: 1, turns: 2, models: [model] },
  ]);
});

test('a cell’s spending includes its children’s, and agrees with its outcome', () => {
  const [parent, child] = report.cells;
  expect(parent!.own).toMatchObject({ inputTokens: 320, outputTokens: 70, usd: 0.00032, steps: 2, spawns: 1 });
  expect(child!.own).toMatchObject({ inputTokens: 300, outputTokens: 50, usd: 0.0003, steps: 1, spawns: 0 });
  for (const { spent, outcome } of report.cells) expect(spent).toEqual(outcome!.spent);
  expect(report.spent).toEqual(parent!.spent);
});

test('figures count requests, tools and agents by name, for the cell alone and including its children', () => {
  const [parent, child] = report.cells;
  expect(parent!.figures.own).toMatchObject({
    requests: { calls: 3, failed: 1, ms: 20 },
    tools: { calls: 1, failed: 0, ms: 5, ...sizes('{}', 'noon') },
    agents: { calls: 1, failed: 0, ms: 90 },
    byModel: [{ provider: 'rehearsal', model, calls: 3, inputTokens: 320, cacheReadTokens: 6, cacheWriteTokens: 8 }],
    byTool: [{ tool: 'clock', calls: 1 }],
    byAgent: [{ tool: 'researcher', calls: 1 }],
  });
  expect(child!.figures.total).toEqual(child!.figures.own);
  expect(parent!.figures.total).toMatchObject({
    requests: { calls: 5, failed: 1, ms: 40 },
    tools: { calls: 2 },
    byModel: [{ model, calls: 5, inputTokens: 620, outputTokens: 120, usd: 0.00062, uncertain: 5_000 }],
    byTool: [{ tool: 'clock' }, { tool: 'search', ...sizes('{"query":"DuckDB"}', longText) }],
  });
});

test('an attempt repeated after a crash counts as a request of its own, with unknown usage', async () => {
  const log = new FrameWriter();
  log.open(birthOf(lead, null, definitions.lead, {}), definitions.lead, goals.lead);
  const asked = log.attempt(lead, 1, [{ add: [...fromDefinition(definitions.lead), fromGoal(goals.lead)] }]);
  log.write(lead, { type: 'again', op: asked, uncertain: { tokens: 5_000 } });
  log.reply(lead, asked, [{ type: 'text', text: 'Done.' }], usage(100, 10));
  const { events, cells } = await reportRun(log.frames, 'running');
  expect(events.slice(2).map(({ type }) => type)).toEqual(['model-start', 'model-end', 'model-start', 'model-end']);
  expect(events[3]).toMatchObject({ ok: false, uncertain: 5_000, ms: 0, error: { code: 'indeterminate' } });
  expect(cells[0]!.figures.own.requests).toMatchObject({ calls: 2, failed: 1, ms: 10 });
  expect(cells[0]!.own).toMatchObject({ inputTokens: 100, uncertain: 5_000 });
});

test('an unknown price makes the total unknown for the cell and its ancestors only', async () => {
  const unpriced = frames.map((frame) =>
    frame.cell === researcher && frame.record.type === 'settle' && frame.record.cost !== undefined
      ? { ...frame, record: { ...frame.record, cost: { ...frame.record.cost, nanoUsd: null } } }
      : frame,
  );
  const [parent, child] = (await reportRun(unpriced, 'ended')).cells;
  expect([parent!.spent.usd, child!.spent.usd, parent!.own.usd]).toEqual([null, null, 0.00032]);
});

test('a run without an end is running or interrupted, and has used time up to its newest frame', async () => {
  const part = frames.slice(0, 12);
  expect(await reportRun(part, 'running')).toMatchObject({ status: 'running', endedAt: null, output: '' });
  const { status, cells, spent } = await reportRun(part, 'interrupted');
  expect(status).toBe('interrupted');
  expect(cells.map((cell) => cell.status)).toEqual([null, null]);
  expect(spent.ms).toBe(part.at(-1)!.at - part[0]!.at);
});

test('a log without a beginning cannot be reported', async () => {
  await expect(reportRun([], 'ended')).rejects.toThrow('start of a run');
});

test('events describe the run in order, each with its own id', () => {
  expect(report.events.map(({ type, cell }) => `${type} ${cell.split('-')[0]}`)).toEqual([
    'session-start lead',
    'crossing lead',
    'model-start lead',
    'model-end lead',
    'wait-start lead',
    'model-start lead',
    'model-end lead',
    'child-start lead',
    'session-start researcher',
    'crossing lead',
    'tool-start lead',
    'crossing-refused lead',
    'tool-end lead',
    'model-start researcher',
    'model-end researcher',
    'tool-start researcher',
    'tool-end researcher',
    'window-trim researcher',
    'model-start researcher',
    'model-end researcher',
    'crossing researcher',
    'session-end researcher',
    'child-end lead',
    'model-start lead',
    'model-end lead',
    'crossing lead',
    'session-end lead',
  ]);
  expect(new Set(report.events.map(({ id }) => id)).size).toBe(report.events.length);
  expect(report.events.slice(6, 10).map(({ id }) => id)).toEqual([
    `${lead}/6`,
    `${lead}/7a`,
    `${researcher}/7b`,
    `${lead}/7c`,
  ]);
});

test('a cell has started before anything crosses into it or out of it', () => {
  const started = new Set<string>(['outside']);
  for (const event of report.events) {
    if (event.type === 'session-start') started.add(event.cell);
    if (event.type === 'crossing') expect([event.from, event.to].filter((end) => !started.has(end))).toEqual([]);
  }
  expect(started.size).toBe(3);
});

test('events carry the details of what happened', () => {
  const all = (type: string) => report.events.filter((event) => event.type === type);
  expect(all('session-start')[1]).toMatchObject({
    agent: 'researcher',
    parent: lead,
    tool: 'researcher',
    depth: 1,
    goal: goals.child,
  });
  expect(all('model-end')[0]).toMatchObject({ ok: false, uncertain: 5_000, usd: 0, error: { code: 'model_server' } });
  expect(all('model-end')[0]).toHaveProperty('error.detail', 'overloaded');
  expect(all('model-end')[1]).toMatchObject({
    ok: true,
    provider: 'rehearsal',
    model,
    inputTokens: 120,
    cacheReadTokens: 3,
    cacheWriteTokens: 4,
    usd: 0.00012,
    calls: 2,
    ms: 10,
    error: null,
  });
  expect(all('model-end').at(-1)).toMatchObject({ bytesOut: answers.lead.length, charsOut: answers.lead.length });
  expect(all('wait-start')[0]).toMatchObject({ ms: 460 });
  expect(all('tool-start')[1]).toMatchObject({ tool: 'search', args: '{"query":"DuckDB"}' });
  expect(all('tool-end')[0]).toMatchObject({ tool: 'clock', ok: true, ms: 5, ...sizes('{}', 'noon'), output: null });
  expect(all('tool-end')[1]).toMatchObject({ ...sizes('{"query":"DuckDB"}', longText), output: 'search_001.txt' });
  expect(all('crossing-refused')[0]).toMatchObject({ kind: 'goal', from: lead, to: reviewer, reason: 'no-grant' });
  expect(all('child-end')[0]).toMatchObject({
    child: researcher,
    childAgent: 'researcher',
    tool: 'researcher',
    ok: true,
    status: 'completed',
    ms: 90,
    bytesIn: goals.child.length,
  });
  expect(all('session-end')[1]).toMatchObject({ status: 'completed', error: null, spent: { inputTokens: 620 } });
});

test('what a failure said is in the events of those who see causes, and of nobody else', () => {
  const said = 'ENOENT: no such file, open /srv/plan.md';
  const failing = frames.map((frame): Frame => {
    const { record } = frame;
    if (record.type === 'settle' && record.ended !== undefined)
      return {
        ...frame,
        record: { ...record, ended: { ...record.ended, outcome: failed(record.ended.outcome, said) } },
      };
    return record.type === 'settle' && record.ok ? { ...frame, record: failedStep(record, said) } : frame;
  });
  const eventsFor = (sees: Sees) => {
    const fold = projectEvents(sees);
    return failing.flatMap((frame) => fold.next(frame));
  };
  const typesWithDetail = (sees: Sees) =>
    new Set(eventsFor(sees).flatMap((event) => ('error' in event && event.error?.detail === said ? [event.type] : [])));
  expect(JSON.stringify(eventsFor('answers'))).not.toContain('ENOENT');
  for (const sees of ['causes', 'contents'] as const)
    expect(typesWithDetail(sees)).toEqual(new Set(['model-end', 'tool-end', 'session-end', 'child-end']));
});

const failed = (outcome: Outcome, detail: string): Outcome => ({
  ...outcome,
  status: 'failed',
  failure: { code: 'tool_failed', detail },
});

const failedStep = ({ op }: RecordOf<'settle'>, detail: string): RecordOf<'settle'> => ({
  type: 'settle',
  op,
  ok: false,
  failure: { code: 'tool_failed', detail },
});

test('the same frames give the same events, live or afterwards', () => {
  const fold = projectEvents('contents');
  expect(frames.flatMap((frame) => fold.next(frame))).toEqual(report.events);
});

test('a report with only the refusals differs from the whole one in its events alone, and its refusals name their ends', async () => {
  const whole = await reportRun(frames, 'ended');
  const short = await reportRun(frames, 'ended', { events: 'refusals' });
  expect({ ...short, events: [] }).toEqual({ ...whole, events: [] });
  const refused = whole.events.filter(({ type }) => type === 'crossing-refused');
  expect(short.events.filter(({ type }) => type === 'crossing-refused')).toEqual(refused);
  expect(whole.events).toEqual(expect.arrayContaining([...short.events]));
  expect(short.events[0]).toEqual(whole.events[0]);
});
