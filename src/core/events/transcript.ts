// The transcript of a run, from its events with details: what each model was shown, what it said, what its calls returned.
//
//   transcript-from-events. It needs nothing but events, so whoever can read them can build it.
import type { CellId, RunId } from '#base';
import type {
  DurableEvent,
  EventDetails,
  ShownPart,
  Transcript,
  TranscriptCell,
  TranscriptEntry,
  TranscriptOptions,
  TranscriptResult,
} from '#contracts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type EntryState = Mutable<Omit<TranscriptEntry, 'results'>> & { readonly results: Mutable<TranscriptResult>[] };
type CellState = Mutable<Omit<TranscriptCell, 'entries'>> & {
  readonly entries: EntryState[];
  /** The prompt of the newest request. It grows in place, so that a request costs what is new in it. */
  prompt: ShownPart[];
};
type EventOf<T extends DurableEvent['type']> = Extract<DurableEvent, { readonly type: T }>;

/** `events`: those of one run with details, in order. */
export const transcriptFrom = (
  run: RunId,
  events: Iterable<DurableEvent>,
  { cell: only, full = false }: TranscriptOptions = {},
): Transcript => {
  const cells = new Map<CellId, CellState>();
  for (const event of events) {
    if (only !== undefined && event.cell !== only) continue;
    if (event.type === 'session-start') cells.set(event.cell, startCell(event));
    const cell = cells.get(event.cell);
    if (cell !== undefined) readEvent(cell, event, full);
  }
  return { run, cells: [...cells.values()].map(({ prompt: _prompt, ...cell }) => cell) };
};

const startCell = ({ cell, parent, agent, goal, at }: EventOf<'session-start'>): CellState => ({
  cell,
  parent,
  agent,
  goal,
  startedAt: at,
  endedAt: null,
  ms: null,
  status: null,
  error: null,
  output: '',
  entries: [],
  prompt: [],
});

const readEvent = (cell: CellState, event: DurableEvent, full: boolean): void => {
  switch (event.type) {
    case 'model-start':
      cell.entries.push(startEntry(cell, event, full));
      return;
    case 'model-end': {
      const entry = cell.entries.findLast(({ op }) => op === event.op);
      if (entry !== undefined)
        Object.assign(entry, { ms: event.ms, error: event.error, said: event.details?.said ?? [] });
      return;
    }
    case 'tool-start':
    case 'child-start': {
      const { op, tool } = event;
      const args = event.details?.args ?? ('args' in event ? event.args : '');
      const child = event.type === 'child-start' ? { child: event.child } : {};
      cell.entries.at(-1)?.results.push({ op, tool, ...child, args, result: null, error: null, ms: null });
      return;
    }
    case 'tool-end':
    case 'child-end': {
      const { op, ms, error, details } = event;
      const entry = cell.entries.findLast(({ results }) => results.some((one) => one.op === op));
      const found = entry?.results.findLast((one) => one.op === op);
      if (found === undefined) return;
      Object.assign(found, { ms, error, result: details?.result ?? null });
      if (details !== undefined && 'output' in details && details.output !== undefined) found.output = details.output;
      return;
    }
    case 'session-end': {
      const { at: endedAt, spent, status, error, details } = event;
      Object.assign(cell, { endedAt, ms: spent.ms, status, error, output: details?.output ?? '' });
      return;
    }
    default:
  }
};

const startEntry = (cell: CellState, event: EventOf<'model-start'>, full: boolean): EntryState => {
  const { at, turn, op, model, details = { shown: [] } } = event;
  const last = cell.entries.at(-1);
  const removed = extendPrompt(cell, details);
  return {
    at,
    turn,
    // A long-lived agent counts its turns anew for each message, so the same turn again is a retry only after a failure.
    attempt: last?.turn === turn && last.error !== null ? last.attempt + 1 : 1,
    op,
    model,
    shown: full ? [...cell.prompt] : details.shown,
    removed,
    said: [],
    ms: null,
    error: null,
    results: [],
  };
};

/** Returns how many parts of the prompt before are gone. */
const extendPrompt = (cell: CellState, { shown, view }: EventDetails['model-start']): number => {
  const { prompt } = cell;
  const before = prompt.length;
  for (const part of shown) prompt.push(part);
  if (view === undefined) return 0;
  const byId = new Map(prompt.map((part) => [part.id, part]));
  cell.prompt = view.flatMap((id) => byId.get(id) ?? []);
  const kept = new Set(cell.prompt);
  return prompt.slice(0, before).filter((part) => !kept.has(part)).length;
};
