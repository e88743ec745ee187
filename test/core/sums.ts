// Sums of a run, made again by plain addition from what it told, and compared with what its report and its outcomes say.
import { expect } from 'vitest';
import type { CellReport, DurableEvent, Figures, RunReport, Spent } from '#contracts';

type Sums = Record<string, number | null>;

const traffic = ['calls', 'failed', 'bytesIn', 'charsIn', 'bytesOut', 'charsOut', 'ms'] as const;
const tokens = ['inputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'outputTokens', 'uncertain'] as const;

/** Money as whole nano-dollars; null is not known, and stays so in every sum. */
const nano = (usd: number | null): number | null => (usd === null ? null : Math.round(usd * 1e9));

const add = (sums: Sums, key: string, more: number | null): void => {
  const before = sums[key] === undefined ? 0 : sums[key];
  sums[key] = before === null || more === null ? null : before + more;
};

const addAll = (lists: readonly Sums[]): Sums => {
  const sums: Sums = {};
  for (const list of lists) for (const [key, more] of Object.entries(list)) add(sums, key, more);
  return sums;
};

/** Every figure under a name of its own. */
export const flat = ({ requests, tools, agents, byModel, byTool, byAgent }: Figures): Sums => {
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
    add(sums, `model ${one.provider} ${one.model} nano`, nano(one.usd));
  }
  for (const one of byTool) take(`tool ${one.tool}`, one);
  for (const one of byAgent) take(`agent ${one.tool}`, one);
  return sums;
};

/** Time is not a sum: what children do at once passes once. */
export const flatSpent = ({ ms: _ms, usd, ...counted }: Spent): Sums => ({ ...counted, nano: nano(usd) });

const figuresTold = (events: readonly DurableEvent[]): Sums => {
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
    add(sums, `${names[1]!} nano`, nano(event.usd));
  }
  return sums;
};

const spentTold = (events: readonly DurableEvent[]): Sums => {
  const sums: Sums = { ...Object.fromEntries(tokens.map((key) => [key, 0])), nano: 0, steps: 0, spawns: 0 };
  for (const event of events) {
    if (event.type === 'tool-end' || event.type === 'child-end') add(sums, 'steps', 1);
    if (event.type === 'child-end') add(sums, 'spawns', 1);
    if (event.type !== 'model-end') continue;
    for (const key of tokens) add(sums, key, event[key]);
    add(sums, 'nano', nano(event.usd));
  }
  return sums;
};

/** Of a run that has ended: every figure of every cell, by its parts and by the lines of its log. */
export const expectSums = (report: RunReport): void => {
  const lines = report.events.map((event) => JSON.parse(JSON.stringify(event)) as DurableEvent);
  const parents = new Map(lines.flatMap((line) => (line.type === 'session-start' ? [[line.cell, line.parent]] : [])));
  expect(parents.size).toBe(report.cells.length);
  const isWithin = (cell: CellReport['cell'] | null, top: CellReport['cell']): boolean =>
    cell !== null && (cell === top || isWithin(parents.get(cell) ?? null, top));

  for (const { cell, figures, spent, own, outcome } of report.cells) {
    const children = report.cells.filter(({ parent }) => parent === cell);
    expect(flat(figures.total)).toEqual(addAll([flat(figures.own), ...children.map((one) => flat(one.figures.total))]));
    expect(flatSpent(spent)).toEqual(addAll([flatSpent(own), ...children.map((one) => flatSpent(one.spent))]));

    const [mine, below] = [
      lines.filter((line) => line.cell === cell),
      lines.filter((line) => isWithin(line.cell, cell)),
    ];
    expect(flat(figures.own)).toEqual(figuresTold(mine));
    expect(flat(figures.total)).toEqual(figuresTold(below));
    expect(flatSpent(own)).toEqual(spentTold(mine));
    expect(flatSpent(outcome!.spent)).toEqual(spentTold(below));
    expect(figures.total.tools.calls + figures.total.agents.calls).toBe(spent.steps);
  }
  const root = report.cells.find(({ parent }) => parent === null)!;
  expect(report.spent).toEqual(root.spent);
  expect(flatSpent(report.spent)).toEqual(flatSpent(root.outcome!.spent));
};
