// Sums of a run, recomputed by plain addition from its events, and compared with its report and its outcomes.
import { expect } from 'vitest';
import type { CellReport, DurableEvent, Figures, RunReport, Spent } from '#contracts';

type Sums = Record<string, number | null>;

const traffic = ['calls', 'failed', 'bytesIn', 'charsIn', 'bytesOut', 'charsOut', 'ms'] as const;
const tokens = ['inputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'outputTokens', 'uncertain'] as const;

/** Money as whole nano-dollars; null means unknown, and makes every sum unknown. */
const toNanoUsd = (usd: number | null): number | null => (usd === null ? null : Math.round(usd * 1e9));

const add = (sums: Sums, key: string, more: number | null): void => {
  const before = sums[key] === undefined ? 0 : sums[key];
  sums[key] = before === null || more === null ? null : before + more;
};

const addAll = (lists: readonly Sums[]): Sums => {
  const sums: Sums = {};
  for (const list of lists) for (const [key, more] of Object.entries(list)) add(sums, key, more);
  return sums;
};

/** Every figure under its own key. */
export const flattenFigures = ({ requests, tools, agents, byModel, byTool, byAgent }: Figures): Sums => {
  const sums: Sums = {};
  const take = (name: string, of: Readonly<Record<(typeof traffic)[number], number>>): void => {
    for (const key of traffic) add(sums, `${name} ${key}`, of[key]);
  };
  take('requests', requests);
  take('tools', tools);
  take('agents', agents);
  for (const one of byModel) {
    take(`model ${one.provider} ${one.model}`, one);
    for (const key of tokens) add(sums, `model ${one.provider} ${one.model} ${key}`, one[key]);
    add(sums, `model ${one.provider} ${one.model} nano`, toNanoUsd(one.usd));
  }
  for (const one of byTool) take(`tool ${one.tool}`, one);
  for (const one of byAgent) take(`agent ${one.tool}`, one);
  return sums;
};

/** Time is no sum: parallel children share the same time. */
export const flattenSpent = ({ ms: _ms, usd, ...counted }: Spent): Sums => ({ ...counted, nano: toNanoUsd(usd) });

const figuresFromEvents = (events: readonly DurableEvent[]): Sums => {
  const sums: Sums = Object.fromEntries(
    ['requests', 'tools', 'agents'].flatMap((name) => traffic.map((key) => [`${name} ${key}`, 0])),
  );
  for (const event of events) {
    if (event.type !== 'model-end' && event.type !== 'tool-end' && event.type !== 'child-end') continue;
    const names = {
      'model-end': () => ['requests', `model ${(event as { provider: string }).provider} ${(event as any).model}`],
      'tool-end': () => ['tools', `tool ${(event as { tool: string }).tool}`],
      'child-end': () => ['agents', `agent ${(event as { tool: string }).tool}`],
    }[event.type]();
    for (const name of names)
      for (const key of traffic)
        add(sums, `${name} ${key}`, key === 'calls' ? 1 : key === 'failed' ? (event.ok ? 0 : 1) : event[key]);
    if (event.type !== 'model-end') continue;
    for (const key of tokens) add(sums, `${names[1]!} ${key}`, event[key]);
    add(sums, `${names[1]!} nano`, toNanoUsd(event.usd));
  }
  return sums;
};

const spentFromEvents = (events: readonly DurableEvent[]): Sums => {
  const sums: Sums = { ...Object.fromEntries(tokens.map((key) => [key, 0])), nano: 0, steps: 0, spawns: 0 };
  for (const event of events) {
    if (event.type === 'tool-end' || event.type === 'child-end') add(sums, 'steps', 1);
    if (event.type === 'child-end') add(sums, 'spawns', 1);
    if (event.type !== 'model-end') continue;
    for (const key of tokens) add(sums, key, event[key]);
    add(sums, 'nano', toNanoUsd(event.usd));
  }
  return sums;
};

/** Checks every figure of every cell of an ended run, against its parts and against the events. */
export const expectSums = (report: RunReport): void => {
  const lines = report.events.map((event) => JSON.parse(JSON.stringify(event)) as DurableEvent);
  const parents = new Map(lines.flatMap((line) => (line.type === 'session-start' ? [[line.cell, line.parent]] : [])));
  expect(parents.size).toBe(report.cells.length);
  const isWithin = (cell: CellReport['cell'] | null, top: CellReport['cell']): boolean =>
    cell !== null && (cell === top || isWithin(parents.get(cell) ?? null, top));

  for (const { cell, figures, spent, own, outcome } of report.cells) {
    const children = report.cells.filter(({ parent }) => parent === cell);
    expect(flattenFigures(figures.total)).toEqual(
      addAll([flattenFigures(figures.own), ...children.map((one) => flattenFigures(one.figures.total))]),
    );
    expect(flattenSpent(spent)).toEqual(addAll([flattenSpent(own), ...children.map((one) => flattenSpent(one.spent))]));

    const [mine, below] = [
      lines.filter((line) => line.cell === cell),
      lines.filter((line) => isWithin(line.cell, cell)),
    ];
    expect(flattenFigures(figures.own)).toEqual(figuresFromEvents(mine));
    expect(flattenFigures(figures.total)).toEqual(figuresFromEvents(below));
    expect(flattenSpent(own)).toEqual(spentFromEvents(mine));
    expect(flattenSpent(outcome!.spent)).toEqual(spentFromEvents(below));
    expect(figures.total.tools.calls + figures.total.agents.calls).toBe(spent.steps);
  }
  const root = report.cells.find(({ parent }) => parent === null)!;
  expect(report.spent).toEqual(root.spent);
  expect(flattenSpent(report.spent)).toEqual(flattenSpent(root.outcome!.spent));
};
