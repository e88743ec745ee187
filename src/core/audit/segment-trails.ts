// Follows the segments of a cell's prompts back to where their texts came from, through crossings into other cells.
import type { CellId } from '#base';
import { decodeDependency } from '#contracts';
import type { CrossingEnd, LedgerEntry, Origin, Source, TrailStep } from '#contracts';
import { isMadeBy } from '#core/rules';
import type { PromptState } from './rebuild-prompt.ts';
import type { CellRecords, OperationRecord, RunRecords } from './records.ts';

/**
 * Returns the trail of a segment. A segment that was made from several others leads to these, and each of them has its own trail: a text
 * that was abbreviated again and again would otherwise repeat the trails of all that it stands for.
 */
export const segmentTrails = (
  known: Pick<TrailContext, 'prompt' | 'cell' | 'records'>,
): ((id: number) => readonly TrailStep[]) => {
  const context: TrailContext = { ...known, completed: new Map() };
  const originOf = (id: number): Origin | undefined => known.prompt.segments.get(id)?.record.origin;
  return (id) => {
    const steps = new Map<string, TrailStep>();
    const follow = (origin: Origin | undefined): void => {
      for (const source of origin?.of ?? [])
        for (const step of sourceSteps(origin!, source, context)) steps.set(JSON.stringify(step), step);
    };
    const origin = originOf(id);
    follow(origin);
    const [only, ...others] = origin?.of ?? [];
    if (only?.from === 'segment' && others.length === 0) follow(originOf(only.id));
    return [...steps.values()];
  };
};

const sourceSteps = ({ rule }: Origin, source: Source, context: TrailContext): readonly TrailStep[] =>
  isMadeBy(rule, 'shared-system') && source.from === 'crossing'
    ? callerPromptSteps(source.seq, context.cell, context.records)
    : trailSteps(source, context);

type TrailContext = {
  readonly prompt: PromptState;
  readonly cell: CellRecords;
  readonly records: RunRecords;
  /** Of each team: the cells that completed its tasks. */
  readonly completed: Map<CellId, ReadonlyMap<string, CellRecords>>;
};

const trailSteps = (source: Source, context: TrailContext): readonly TrailStep[] => {
  const { prompt, cell, records } = context;
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
      return crossingSteps(source.seq, context);
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

const crossingSteps = (seq: number, context: TrailContext): readonly TrailStep[] => {
  const { cell, records } = context;
  const received = cell.received.get(seq);
  if (received === undefined) return [];
  const { kind, other } = received.entry;
  const step = crossingStep(received.entry, cell, records);
  if (kind === 'dependency') return [step, ...taskSteps(received.content ?? '', other, context)];
  const sender = other === 'outside' ? undefined : records.cells.get(other);
  return [step, ...(sender === undefined ? [] : operationStep(sender, received.reply))];
};

/** A task's result comes from the cell that completed it. */
const taskSteps = (content: string, team: CrossingEnd, context: TrailContext): readonly TrailStep[] => {
  const { task, title, assignee } = decodeDependency(content);
  const worker = team === 'outside' ? undefined : completedTasks(team, context).get(task);
  const step: TrailStep = { type: 'task', task, title, assignee, cell: worker?.birth.cell ?? null };
  return [step, ...(worker === undefined ? [] : operationStep(worker, worker.lastReply))];
};

/** The newest cell that completed each task. Gathered once, because every task of a large team may depend on many. */
const completedTasks = (team: CellId, { completed, records }: TrailContext): ReadonlyMap<string, CellRecords> => {
  const known = completed.get(team);
  if (known !== undefined) return known;
  const workers = new Map<string, CellRecords>();
  for (const child of records.cells.get(team)?.children ?? []) {
    const { task } = child.birth;
    if (task?.part === 'task' && child.end?.outcome.status === 'completed') workers.set(task.task, child);
  }
  completed.set(team, workers);
  return workers;
};
