// Rebuilds what a model was shown from the records that its segments name. Shares nothing with the window but the rules.
//
//   A3. A source is looked up only among the cell's own settled operations, its own ledger and its own definition.
//   A4. What cannot be rebuilt has no part; it is never guessed.
import { zeroHash } from '#base';
import type { Hash } from '#base';
import type { Attempt, AgentDefinition, PromptPart, SegmentRecord, Source, ViewChange } from '#contracts';
import { rules } from '#core/rules';
import type { ResolvedSource } from '#core/rules';
import { replyParts, settledOf } from './records.ts';
import type { CellRecords, RunRecords } from './records.ts';

export type RebuiltSegment = {
  readonly record: SegmentRecord;
  readonly part: PromptPart | undefined;
  /** Why it has no part. */
  readonly lack: string | undefined;
};

/** What one cell's model is shown, as of the newest attempt. */
export type Prompt = {
  readonly segments: Map<number, RebuiltSegment>;
  readonly view: number[];
  hash: Hash;
};

export type Change = {
  /** What the prompt's hash covers: each change with its parts. */
  readonly texts: readonly string[];
  readonly added: readonly RebuiltSegment[];
  readonly removed: readonly number[];
  /** Why the view cannot be changed so. */
  readonly faults: readonly string[];
};

export const startPrompt = (): Prompt => ({ segments: new Map(), view: [], hash: zeroHash });

/** Applies an attempt's changes to the view, in order. The hash stays: comparing is the caller's. */
export const applyAttempt = (prompt: Prompt, attempt: Attempt, records: CellSources): Change => {
  const changes = attempt.changes.map((change) => applyChange(prompt, change, records));
  return {
    texts: changes.flatMap((change) => change.texts),
    added: changes.flatMap((change) => change.added),
    removed: changes.flatMap((change) => change.removed),
    faults: changes.flatMap((change) => change.faults),
  };
};

export type CellSources = { readonly cell: CellRecords; readonly definition: AgentDefinition | undefined };

export const sourcesOf = (records: RunRecords, cell: CellRecords): CellSources => ({
  cell,
  definition: records.definitions.get(cell.birth.digest),
});

const applyChange = (prompt: Prompt, change: ViewChange, sources: CellSources): Change => {
  if ('add' in change) {
    const made = change.add.map((record) => rebuildSegment(prompt, record, sources));
    prompt.view.push(...change.add.map(({ id }) => id));
    return {
      texts: [made.map(({ rebuilt }) => segmentText(rebuilt)).join('')],
      added: made.map(({ rebuilt }) => rebuilt),
      removed: [],
      faults: made.flatMap(({ fault }) => fault),
    };
  }
  const [first, last] = 'replace' in change ? change.replace : change.drop;
  const made = 'replace' in change ? [rebuildSegment(prompt, change.by, sources)] : [];
  const cut = cutView(
    prompt,
    [first, last],
    made.map(({ rebuilt }) => rebuilt.record.id),
  );
  const words =
    'replace' in change
      ? `~${first}-${last}${made.map(({ rebuilt }) => segmentText(rebuilt)).join('')}`
      : `-${first}-${last}${change.rule}`;
  return {
    texts: [words],
    added: made.map(({ rebuilt }) => rebuilt),
    removed: cut.removed,
    faults: [...made.flatMap(({ fault }) => fault), ...cut.faults],
  };
};

const segmentText = ({ record, part }: RebuiltSegment): string =>
  `+${record.id}${JSON.stringify(record.origin)}${record.category}${JSON.stringify(part)}`;

/** Takes the segments from `first` to `last`, as they stand in the view, out of it. */
const cutView = (prompt: Prompt, [first, last]: readonly [number, number], by: readonly number[]) => {
  const [from, to] = [prompt.view.indexOf(first), prompt.view.indexOf(last)];
  if (from < 0 || to < from) {
    prompt.view.push(...by);
    return { removed: [], faults: [`segments ${first} to ${last} are not in view`] };
  }
  return { removed: prompt.view.splice(from, to - from + 1, ...by), faults: [] };
};

const rebuildSegment = (prompt: Prompt, record: SegmentRecord, sources: CellSources) => {
  const expected = prompt.segments.size;
  const rebuilt = { record, ...rebuildPart(prompt, record, sources) };
  const fault = record.id === expected ? [] : [`segment ${record.id} stands where segment ${expected} should`];
  prompt.segments.set(record.id, rebuilt);
  return { rebuilt, fault };
};

const rebuildPart = (
  prompt: Prompt,
  { origin }: SegmentRecord,
  sources: CellSources,
): Omit<RebuiltSegment, 'record'> => {
  const lacks = (lack: string) => ({ part: undefined, lack });
  const rule = Object.hasOwn(rules, origin.rule) ? rules[origin.rule as keyof typeof rules] : undefined;
  if (rule === undefined) return lacks(`there is no rule ${origin.rule}`);
  const resolved: ResolvedSource[] = [];
  for (const source of origin.of) {
    const found = resolve(prompt, source, sources);
    if (typeof found === 'string') return lacks(found);
    resolved.push(found);
  }
  try {
    return { part: rule(resolved, origin.with ?? []), lack: undefined };
  } catch (error) {
    return lacks(
      `${origin.rule} cannot be made of its sources: ${error instanceof Error ? error.message : 'it threw'}`,
    );
  }
};

/** The record that a source names, or why there is none. */
const resolve = (prompt: Prompt, source: Source, { cell, definition }: CellSources): ResolvedSource | string => {
  switch (source.from) {
    case 'definition': {
      const own = source.digest === cell.birth.digest ? definition : undefined;
      const value = own && definitionPart(own, source.path);
      if (value === undefined) return `${source.path} of ${source.digest} is not in the cell's definition`;
      return { from: 'definition', value };
    }
    case 'reply': {
      const operation = cell.operations.get(source.no);
      const part = operation && replyParts(operation)[source.part];
      return part ? { from: 'reply', part } : `operation ${source.no} has no settled reply part ${source.part}`;
    }
    case 'operation': {
      const operation = cell.operations.get(source.no);
      const settled = operation && operation.attempt === undefined ? settledOf(operation) : undefined;
      return settled ? { from: 'operation', settled } : `operation ${source.no} has not settled, or is a reply`;
    }
    case 'crossing': {
      const received = cell.received.get(source.seq);
      if (received?.content === undefined || received.entry.verdict !== 'granted')
        return `nothing crossed into the cell under entry ${source.seq}`;
      return { from: 'crossing', kind: received.entry.kind, content: received.content };
    }
    case 'segment': {
      const part = prompt.segments.get(source.id)?.part;
      return part ? { from: 'segment', part } : `there is no earlier segment ${source.id}`;
    }
  }
  return `a source cannot be from ${(source as Source).from}`;
};

const definitionPart = (definition: AgentDefinition, path: string) => {
  if (path === 'prompt' || path === 'guidance') return definition[path];
  const index = /^tools\/(?<index>0|[1-9]\d*)$/u.exec(path)?.groups?.['index'];
  return index === undefined ? undefined : definition.tools[Number(index)];
};
