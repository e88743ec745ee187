// Explains why a cell's model saw what it saw: each segment of each prompt, rebuilt, with the trail to its origin.
import { CloisterError } from '#base';
import type { CellId } from '#base';
import { decodeDependency } from '#contracts';
import type { Explanation, ExplainedSegment, Frame, CrossingEnd, LedgerEntry, Source, TrailStep } from '#contracts';
import { applyAttempt, cellSources, startPrompt } from './rebuild-prompt.ts';
import type { PromptState } from './rebuild-prompt.ts';
import { readFrame, startRecords } from './records.ts';
import type { CellRecords, OperationRecord, RunRecords } from './records.ts';
import { isMadeBy, partText } from '#core/rules';

type ShownAttempt = Explanation['attempts'][number];

type ExplainOptions = {
  /** A text to search for in each segment. */
  readonly find?: string | undefined;
  /** Awaited before each frame and each segment, so that other work can be done in between; undefined: no need. */
  readonly pause?: (() => Promise<void> | undefined) | undefined;
};

export const explainCell = async (
  frames: readonly Frame[],
  cell: CellId,
  { find, pause }: ExplainOptions = {},
): Promise<Explanation> => {
  const records = startRecords();
  const prompt = startPrompt();
  const attempts: ShownAttempt[] = [];
  for (const frame of frames) {
    const paused = pause?.();
    if (paused !== undefined) await paused;
    readFrame(records, frame);
    const cellRecords = records.cells.get(cell);
    const { attempt, record } = frame;
    if (attempt === undefined || record.type !== 'begin' || frame.cell !== cell || cellRecords === undefined) continue;
    applyAttempt(prompt, attempt, cellSources(records, cellRecords));
    const { turn, model, bytes } = attempt;
    attempts.push({ op: record.op, turn, model, bytes, segments: [...prompt.view] });
  }
  const cellRecords = records.cells.get(cell);
  const run = frames[0]?.run;
  if (cellRecords === undefined || run === undefined) throw new CloisterError('cell_unknown', `"${cell}".`);
  const segments: ExplainedSegment[] = [];
  for (const { record, part } of prompt.segments.values()) {
    const paused = pause?.();
    if (paused !== undefined) await paused;
    const text = part === undefined ? '' : partText(part);
    segments.push({
      id: record.id,
      origin: record.origin,
      bytes: record.bytes,
      shownIn: [],
      text,
      found: find === undefined || find === '' ? [] : findOffsets(find, text),
      trail: buildTrail(record.id, { prompt, cell: cellRecords, records }),
    });
  }
  const { agent } = cellRecords.birth;
  return { run, cell, agent, find: find ?? null, attempts, segments: withShownIn(segments, attempts) };
};

const withShownIn = (
  segments: readonly ExplainedSegment[],
  attempts: readonly ShownAttempt[],
): readonly ExplainedSegment[] => {
  const shownIn = new Map<number, number[]>(segments.map(({ id }) => [id, []]));
  for (const { op, segments: ids } of attempts) for (const id of ids) shownIn.get(id)?.push(op);
  return segments.map((segment) => ({ ...segment, shownIn: shownIn.get(segment.id) ?? [] }));
};

const findOffsets = (find: string, text: string): readonly number[] => {
  const offsets: number[] = [];
  for (let at = text.indexOf(find); at >= 0; at = text.indexOf(find, at + find.length)) offsets.push(at);
  return offsets;
};

// Follows a segment back to where its text came from, through crossings into other cells.

/** Follows each source of a segment; a step that several sources share is listed once. */
const buildTrail = (
  id: number,
  { prompt, cell, records }: { readonly prompt: PromptState; readonly cell: CellRecords; readonly records: RunRecords },
): readonly TrailStep[] => {
  const steps = new Map<string, TrailStep>();
  const visited = new Set<number>();
  const visit = (segment: number): void => {
    if (visited.has(segment)) return;
    visited.add(segment);
    const origin = prompt.segments.get(segment)?.record.origin;
    for (const source of origin?.of ?? []) {
      const found =
        isMadeBy(origin!.rule, 'shared-system') && source.from === 'crossing'
          ? callerPromptSteps(source.seq, cell, records)
          : trailSteps(source, { prompt, cell, records });
      for (const step of found) steps.set(JSON.stringify(step), step);
      if (source.from === 'segment') visit(source.id);
    }
  };
  visit(id);
  return [...steps.values()];
};

type TrailContext = { readonly prompt: PromptState; readonly cell: CellRecords; readonly records: RunRecords };

const trailSteps = (source: Source, { prompt, cell, records }: TrailContext): readonly TrailStep[] => {
  switch (source.from) {
    case 'definition':
      return [definitionStep(source.path, cell, records)];
    case 'reply':
    case 'operation':
      return [
        ...operationStep(cell, cell.operations.get(source.no)),
        ...skillStep(cell, cell.operations.get(source.no), records),
      ];
    case 'crossing':
      return crossingSteps(source.seq, cell, records);
    case 'segment': {
      const rule = prompt.segments.get(source.id)?.record.origin.rule;
      return rule === undefined ? [] : [{ type: 'segment', id: source.id, rule }];
    }
  }
};

/** A tool that came with the request is in the run's definition, but not in any agent file. */
const definitionStep = (
  path: string,
  { birth: { cell, agent, digest } }: CellRecords,
  records: RunRecords,
): TrailStep => {
  const { tools = [], given = [] } = records.definitions.get(digest) ?? {};
  const [part, place] = path.split('/');
  const isGiven = part === 'tools' && given.includes(tools[Number(place)]?.name ?? '');
  return { type: 'definition', cell, agent, path, ...(isGiven ? { given: true } : {}) };
};

const operationStep = ({ birth }: CellRecords, operation: OperationRecord | undefined): readonly TrailStep[] =>
  operation === undefined
    ? []
    : [{ type: 'operation', cell: birth.cell, agent: birth.agent, op: operation.begin.op, name: operation.begin.name }];

/** What `read_skill` returns comes from the definition, as the digest there says. */
const skillStep = (
  { birth: { agent, digest } }: CellRecords,
  operation: OperationRecord | undefined,
  { definitions }: RunRecords,
): readonly TrailStep[] => {
  const { name, about = {} } = operation?.begin ?? {};
  const { args } = about;
  if (name !== 'tool:read_skill' || typeof args !== 'string') return [];
  const { skill, file } = readArguments(args);
  const found = definitions.get(digest)?.skills?.find((one) => one.name === skill);
  return found === undefined
    ? []
    : [{ type: 'skill', agent, skill: found.name, file: typeof file === 'string' ? file : null, sha256: found.digest }];
};

/** Empty if they were shortened in the record. */
const readArguments = (args: string): { readonly skill?: unknown; readonly file?: unknown } => {
  try {
    return (JSON.parse(args) ?? {}) as object;
  } catch {
    return {};
  }
};

/** A shared prompt comes from the caller's definition, not from anything its model said; or from the caller outside. */
const callerPromptSteps = (seq: number, cell: CellRecords, records: RunRecords): readonly TrailStep[] => {
  const received = cell.received.get(seq);
  if (received === undefined) return [];
  const { other } = received.entry;
  const caller = other === 'outside' ? undefined : records.cells.get(other);
  return [
    crossingStep(received.entry, cell, records),
    ...(caller === undefined ? [] : [definitionStep('prompt', caller, records)]),
  ];
};

const crossingStep = (
  { kind, other, grant, sha256, bytes, labels }: LedgerEntry,
  { birth }: CellRecords,
  { caller }: RunRecords,
): TrailStep => ({
  type: 'crossing',
  kind,
  from: other,
  ...(other === 'outside' && caller !== undefined ? { caller } : {}),
  to: birth.cell,
  grant: grant ?? '',
  sha256,
  bytes,
  labels,
});

const crossingSteps = (seq: number, cell: CellRecords, records: RunRecords): readonly TrailStep[] => {
  const received = cell.received.get(seq);
  if (received === undefined) return [];
  const { kind, other } = received.entry;
  const step = crossingStep(received.entry, cell, records);
  if (kind === 'dependency') return [step, ...taskSteps(received.content ?? '', other, records)];
  const sender = other === 'outside' ? undefined : records.cells.get(other);
  return [step, ...(sender === undefined ? [] : operationStep(sender, received.reply))];
};

/** A task's result comes from the cell that completed it. */
const taskSteps = (content: string, team: CrossingEnd, { cells }: RunRecords): readonly TrailStep[] => {
  const { task, title, assignee } = decodeDependency(content);
  const worker =
    team === 'outside' ? undefined : cells.get(team)?.children.findLast((child) => hasCompleted(child, task));
  const step: TrailStep = { type: 'task', task, title, assignee, cell: worker?.birth.cell ?? null };
  return [step, ...(worker === undefined ? [] : operationStep(worker, worker.lastReply))];
};

const hasCompleted = ({ birth, end }: CellRecords, task: string): boolean =>
  birth.task?.part === 'task' && birth.task.task === task && end?.outcome.status === 'completed';
