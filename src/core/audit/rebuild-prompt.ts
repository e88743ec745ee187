// Rebuilds what a model was shown from the records that its segments refer to. Shares only the rules with the window.
//
//   audit-sources-own-records. A source is looked up only among the cell's own settled operations, its own ledger and its own
//       definition.
//   audit-guesses-nothing. A segment that cannot be rebuilt has no part.
import { OrderedItems, zeroHash } from '#base';
import type { Hash } from '#base';
import type { Attempt, AgentDefinition, Origin, PromptPart, SegmentRecord, Source, ViewChange } from '#contracts';
import { rules } from '#core/rules';
import type { ResolvedSource } from '#core/rules';
import { replyParts, toSettlement } from './records.ts';
import type { CellRecords, RunRecords } from './records.ts';

export type RebuiltSegment = {
  readonly record: SegmentRecord;
  readonly part: PromptPart | undefined;
  /** Why the segment has no part. */
  readonly problem: string | undefined;
};

/** What one cell's model is shown as of the newest attempt. */
export type PromptState = {
  readonly segments: Map<number, RebuiltSegment>;
  /** The numbers of the segments in view, in order. */
  readonly view: OrderedItems<number>;
  hash: Hash;
};

export type PromptChange = {
  /** The texts that the prompt hash covers, one for each change. */
  readonly texts: readonly string[];
  readonly added: readonly RebuiltSegment[];
  readonly removed: readonly number[];
  /** Why a change cannot be applied to the view. */
  readonly faults: readonly string[];
};

export const startPrompt = (): PromptState => ({ segments: new Map(), view: new OrderedItems(), hash: zeroHash });

/** Applies an attempt's changes to the view, in order. Does not update the hash: comparing it is the caller's job. */
export const applyAttempt = (prompt: PromptState, attempt: Attempt, records: CellSources): PromptChange => {
  const changes = attempt.changes.map((change) => applyChange(prompt, change, records));
  return {
    texts: changes.flatMap((change) => change.texts),
    added: changes.flatMap((change) => change.added),
    removed: changes.flatMap((change) => change.removed),
    faults: changes.flatMap((change) => change.faults),
  };
};

type CellSources = { readonly cell: CellRecords; readonly definition: AgentDefinition | undefined };

export const cellSources = (records: RunRecords, cell: CellRecords): CellSources => ({
  cell,
  definition: records.definitions.get(cell.birth.digest),
});

const applyChange = (prompt: PromptState, change: ViewChange, sources: CellSources): PromptChange => {
  if ('add' in change) {
    const rebuiltSegments = change.add.map((record) => rebuildSegment(prompt, record, sources));
    for (const { id } of change.add) prompt.view.add(id, id);
    return {
      texts: [rebuiltSegments.map(({ rebuilt }) => segmentText(rebuilt)).join('')],
      added: rebuiltSegments.map(({ rebuilt }) => rebuilt),
      removed: [],
      faults: rebuiltSegments.flatMap(({ fault }) => fault),
    };
  }
  const [first, last] = 'replace' in change ? change.replace : change.drop;
  const rebuiltSegments = 'replace' in change ? [rebuildSegment(prompt, change.by, sources)] : [];
  const cut = cutView(prompt, [first, last], rebuiltSegments[0]?.rebuilt.record.id);
  const changeText =
    'replace' in change
      ? `~${first}-${last}${rebuiltSegments.map(({ rebuilt }) => segmentText(rebuilt)).join('')}`
      : `-${first}-${last}${change.rule}`;
  return {
    texts: [changeText],
    added: rebuiltSegments.map(({ rebuilt }) => rebuilt),
    removed: cut.removed,
    faults: [...rebuiltSegments.flatMap(({ fault }) => fault), ...cut.faults],
  };
};

const segmentText = ({ record, part }: RebuiltSegment): string =>
  `+${record.id}${JSON.stringify(record.origin)}${record.category}${JSON.stringify(part)}`;

/** Replaces the segments from `first` to `last` in the view by `by`; undefined: by nothing. */
const cutView = ({ view }: PromptState, [first, last]: readonly [number, number], by: number | undefined) => {
  const removed = by === undefined ? view.removeRange(first, last) : view.replaceRange(first, last, [by, by]);
  if (removed !== undefined) return { removed, faults: [] };
  if (by !== undefined) view.add(by, by);
  return { removed: [], faults: [`segments ${first} to ${last} are not in view`] };
};

const rebuildSegment = (prompt: PromptState, record: SegmentRecord, sources: CellSources) => {
  const expected = prompt.segments.size;
  const rebuilt = { record, ...rebuildPart(prompt, record, sources) };
  const fault = record.id === expected ? [] : [`found segment ${record.id} instead of segment ${expected}`];
  prompt.segments.set(record.id, rebuilt);
  return { rebuilt, fault };
};

/** The part that a segment shows, or why it cannot be rebuilt. */
export const rebuildPart = (
  prompt: PromptState,
  { origin }: SegmentRecord,
  sources: CellSources,
): Omit<RebuiltSegment, 'record'> => {
  const failWith = (problem: string) => ({ part: undefined, problem });
  const rule = Object.hasOwn(rules, origin.rule) ? rules[origin.rule as keyof typeof rules] : undefined;
  if (rule === undefined) return failWith(`unknown rule ${origin.rule}`);
  const resolved = resolveOrigin(prompt, origin, sources);
  if (typeof resolved === 'string') return failWith(resolved);
  try {
    return { part: rule(resolved, origin.with ?? []), problem: undefined };
  } catch (error) {
    return failWith(
      `${origin.rule} cannot be applied to its sources: ${error instanceof Error ? error.message : 'it threw'}`,
    );
  }
};

/** The records that an origin refers to, or why one of them is missing. */
export const resolveOrigin = (
  prompt: PromptState,
  { of }: Origin,
  sources: CellSources,
): readonly ResolvedSource[] | string => {
  const resolved: ResolvedSource[] = [];
  for (const source of of) {
    const result = resolveSource(prompt, source, sources);
    if (typeof result === 'string') return result;
    resolved.push(result);
  }
  return resolved;
};

/** The record that a source refers to, or why there is none. */
const resolveSource = (
  prompt: PromptState,
  source: Source,
  { cell, definition }: CellSources,
): ResolvedSource | string => {
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
      const settled = operation && operation.attempt === undefined ? toSettlement(operation) : undefined;
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
  return `unknown kind of source: ${(source as Source).from}`;
};

const definitionPart = (definition: AgentDefinition, path: string) => {
  if (path === 'prompt' || path === 'guidance') return definition[path];
  const index = /^tools\/(?<index>0|[1-9]\d*)$/u.exec(path)?.groups?.['index'];
  return index === undefined ? undefined : definition.tools[Number(index)];
};
