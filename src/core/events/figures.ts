// Counts a cell's requests to models, tools and sub-agents from its events alone, so that anyone with the events can compute them.
//
//   figures-add-up. All counts are whole numbers, including money (nano-dollars), so a total is exactly the sum of its parts.
import type { DurableEvent, Figures, ModelFigures, ToolFigures, Traffic } from '#contracts';

/** Most cells of a large run call no tool or no agent, so a map is created with its first entry. */
export type Counts = {
  models: Map<string, ModelCount> | null;
  tools: Map<string, Count> | null;
  agents: Map<string, Count> | null;
  /** Children that were started. */
  spawns: number;
  /** Not in events: whoever reads frames adds them. */
  steps: number;
};

type Count = { -readonly [K in keyof Traffic]: number };
type ModelCount = Count & {
  readonly provider: string;
  inputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  outputTokens: number;
  nanoUsd: number | null;
  uncertain: number;
};

export const emptyCounts = (): Counts => ({
  models: null,
  tools: null,
  agents: null,
  spawns: 0,
  steps: 0,
});

/** Adds one event of the cell. Only operations that have ended count. */
export const countEvent = (counts: Counts, event: DurableEvent): void => {
  switch (event.type) {
    case 'model-end':
      addModel((counts.models ??= new Map()), event.model, modelCount(event));
      return;
    case 'tool-end':
      addCall((counts.tools ??= new Map()), event.tool, callCount(event));
      return;
    case 'child-start':
      counts.spawns++;
      return;
    case 'child-end':
      addCall((counts.agents ??= new Map()), event.tool, callCount(event));
      return;
    default:
  }
};

/** Adds another cell's counts. */
export const addCounts = (counts: Counts, other: Counts): void => {
  for (const [name, count] of other.models ?? []) addModel((counts.models ??= new Map()), name, count);
  for (const [name, count] of other.tools ?? []) addCall((counts.tools ??= new Map()), name, count);
  for (const [name, count] of other.agents ?? []) addCall((counts.agents ??= new Map()), name, count);
  counts.spawns += other.spawns;
  counts.steps += other.steps;
};

/** What all its requests to models used. */
export const sumModels = ({ models }: Counts): ModelCount => {
  const sum = { ...noModels };
  for (const count of models?.values() ?? []) addModelCount(sum, count);
  return sum;
};

const noModels: ModelCount = {
  provider: '',
  calls: 0,
  failed: 0,
  bytesIn: 0,
  charsIn: 0,
  bytesOut: 0,
  charsOut: 0,
  ms: 0,
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  nanoUsd: 0,
  uncertain: 0,
};

export const toFigures = ({ models, tools, agents }: Counts): Figures => ({
  requests: sumTraffic(models),
  tools: sumTraffic(tools),
  agents: sumTraffic(agents),
  byModel: [...(models ?? [])].map(([model, { nanoUsd, ...count }]): ModelFigures => ({
    model,
    ...count,
    usd: nanoUsd === null ? null : nanoUsd / 1e9,
  })),
  byTool: byName(tools),
  byAgent: byName(agents),
});

type EndEvent = Extract<DurableEvent, { type: 'model-end' | 'tool-end' | 'child-end' }>;

const callCount = ({ ok, bytesIn, charsIn, bytesOut, charsOut, ms }: EndEvent): Count => ({
  calls: 1,
  failed: ok ? 0 : 1,
  bytesIn,
  charsIn,
  bytesOut,
  charsOut,
  ms,
});

const modelCount = (event: Extract<EndEvent, { type: 'model-end' }>): ModelCount => ({
  ...callCount(event),
  provider: event.provider,
  inputTokens: event.inputTokens,
  cacheReadTokens: event.cacheReadTokens,
  cacheWriteTokens: event.cacheWriteTokens,
  outputTokens: event.outputTokens,
  nanoUsd: event.usd === null ? null : Math.round(event.usd * 1e9),
  uncertain: event.uncertain,
});

const trafficKeys = ['calls', 'failed', 'bytesIn', 'charsIn', 'bytesOut', 'charsOut', 'ms'] as const;
const tokenKeys = ['inputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'outputTokens', 'uncertain'] as const;

const addCall = (counts: Map<string, Count>, name: string, more: Traffic): void => {
  const count = counts.get(name);
  if (count === undefined) counts.set(name, { ...more });
  else addTraffic(count, more);
};

const addModel = (counts: Map<string, ModelCount>, name: string, more: ModelCount): void => {
  const count = counts.get(name);
  if (count === undefined) counts.set(name, { ...more });
  else addModelCount(count, more);
};

const addModelCount = (count: ModelCount, more: ModelCount): void => {
  addTraffic(count, more);
  for (const key of tokenKeys) count[key] += more[key];
  count.nanoUsd = addOrNull(count.nanoUsd, more.nanoUsd);
};

const addOrNull = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? null : one + other;

const addTraffic = (count: Count, more: Traffic): void => {
  for (const key of trafficKeys) count[key] += more[key];
};

const sumTraffic = (counts: ReadonlyMap<string, Count> | null): Traffic => {
  const total: Count = { calls: 0, failed: 0, bytesIn: 0, charsIn: 0, bytesOut: 0, charsOut: 0, ms: 0 };
  for (const count of counts?.values() ?? []) addTraffic(total, count);
  return total;
};

const byName = (counts: ReadonlyMap<string, Count> | null): readonly ToolFigures[] =>
  [...(counts ?? [])].map(([tool, count]) => ({ tool, ...count }));
