// Projects the log to events for people and headends. Used live, frame by frame, so it keeps only open operations.
import { readTeamGoal, describeTeamGoal, unknownKind, utf8Bytes } from '#base';
import type { CellId, Json } from '#base';
import type {
  Attempt,
  Birth,
  CrossingKind,
  DurableEvent,
  Frame,
  Outcome,
  ModelReply,
  RecordOf,
  Sees,
  ToolResultValue,
} from '#contracts';
import { followTasks } from '#core/tasks';
import type { TaskFold } from '#core/tasks';
import { addDetails } from './add-details.ts';
import { eventEnvelope, suffixLetters } from './event-envelope.ts';
import type { EventBody } from './event-envelope.ts';
import { EventErrors } from './event-errors.ts';
import { crossingEvents, mailEvents } from './frame-events.ts';
import { followMessageStates } from './mail-states.ts';
import type { MessageFold } from './mail-states.ts';
import { questionEnd, questionEvent, rulingEvent } from './question-events.ts';
import { followAttempt, startWindow } from './window-states.ts';
import type { WindowState } from './window-states.ts';

type EventFold = { next(frame: Frame): readonly DurableEvent[] };

type Size = { readonly bytes: number; readonly chars: number };
type AttemptInfo = Size & Pick<Attempt, 'turn' | 'model'>;
type OpenOperation = {
  readonly begin: RecordOf<'begin'>;
  /** The number of the frame that began it. */
  readonly frame: number;
  readonly at: number;
  /** For a model request: the attempt without its view, which may be large. */
  readonly attempt: AttemptInfo | undefined;
  /** For a child: the size of its goal. */
  readonly goal: Size;
};
type State = {
  readonly errors: EventErrors;
  readonly agents: Map<CellId, string>;
  /** Names that differ from the agent's name. */
  readonly names: Map<CellId, string>;
  readonly open: Map<string, OpenOperation>;
  readonly mail: MessageFold;
  readonly tasks: TaskFold;
  /** Only for live cells. */
  readonly windows: Map<CellId, { readonly parent: CellId | null; readonly followed: WindowState }>;
};

/** A fold over the frames of one run, in order. `sees`: how much the reader of the events may see; `details`: whether it asks for contents. */
export const projectEvents = (sees: Sees, details = false): EventFold => {
  const state: State = {
    errors: new EventErrors(sees),
    agents: new Map(),
    names: new Map(),
    open: new Map(),
    mail: followMessageStates(),
    tasks: followTasks(),
    windows: new Map(),
  };
  const nameOf = (cell: CellId): string => state.names.get(cell) ?? state.agents.get(cell) ?? 'unknown';
  const detailed = details && sees === 'contents' ? addDetails(nameOf) : undefined;
  return {
    next: (frame) => {
      state.errors.next(frame);
      const mail = mailEvents(frame, state.mail, state.errors.ofAnswer(frame));
      const plain = [...frameEvents(frame, state), ...mail, ...taskEvents(frame, state)];
      const events = detailed?.next(frame, plain) ?? plain;
      return events.map((event, index) => ({
        ...event,
        id: `${event.cell}/${frame.no}${events.length === 1 ? '' : suffixLetters(index)}`,
        run: frame.run,
        agent: state.agents.get(event.cell) ?? 'unknown',
        at: frame.at,
        ...eventEnvelope(event, nameOf),
      }));
    },
  };
};

const taskEvents = (frame: Frame, { tasks }: State): readonly EventBody[] =>
  tasks.next(frame).map(({ cell, task }): EventBody => {
    const { id, title, assignee, dependsOn, status, attempts: attempt, reason } = task;
    return { type: 'task', cell, task: id, title, assignee, dependsOn, status, attempt, reason };
  });

const frameEvents = (frame: Frame, state: State): readonly EventBody[] => {
  const { record, cell } = frame;
  switch (record.type) {
    case 'open':
      return [sessionStart(frame, record.birth, null, state), ...crossingEvents(frame)];
    case 'begin':
      return [
        ...beginEvents(frame, record, state),
        // A reader knows the cell before anything crosses into it.
        ...childSessionStart(frame, record, state),
        ...crossingEvents(frame),
      ];
    case 'settle':
      return [...crossingEvents(frame), ...settleEvents(frame, record, state)];
    case 'cancel':
      return [{ type: 'run-cancel', cell }, ...crossingEvents(frame)];
    case 'fork':
      return [{ type: 'run-fork', cell, from: record.from, amendment: record.amendment }];
    case 'close':
      return [...crossingEvents(frame), sessionEnd(frame, cell, record.outcome, state)];
    case 'resume':
      return [{ type: 'run-resume', cell, downMs: record.downMs }, ...crossingEvents(frame)];
    case 'again':
      return [...crossingEvents(frame), ...retryEvents(cell, record, state)];
    case 'post': {
      const { op, name, about, ok, value, failure } = record;
      const began = beginEvents(frame, { type: 'begin', op, do: 'step', name, about }, state);
      const ended = settleEvents(frame, { type: 'settle', op, ok, value, failure }, state);
      return [...began, ...crossingEvents(frame), ...ended];
    }
    case 'ruling':
      return [...crossingEvents(frame), rulingEvent(frame, record, state.open.get(`${cell}/${record.op}`)?.frame)];
    case 'held':
    case 'mail':
    case 'delivered':
    case 'give':
      return crossingEvents(frame);
    default:
      return unknownKind(record, crossingEvents(frame));
  }
};

const sessionStart = (frame: Frame, birth: Birth, tool: string | null, state: State): EventBody => {
  const { cell, parent, agent, depth, spawned, passedOver } = birth;
  state.agents.set(cell, agent);
  if (spawned !== undefined && spawned.name !== agent) state.names.set(cell, spawned.name);
  state.windows.set(cell, { parent, followed: startWindow() });
  const content = contentFor(frame, cell, 'goal');
  const isTeam = parent === null && content !== '' && isTeamBirth(frame, birth);
  const skipped = passedOver === undefined ? {} : { passedOver: passedOver.map(({ model }) => model) };
  if (!isTeam) return { type: 'session-start', cell, parent, tool, depth, goal: content, ...skipped };
  const team = readTeamGoal(content);
  return { type: 'session-start', cell, parent, tool, depth, goal: describeTeamGoal(team), team };
};

const isTeamBirth = ({ definitions = [] }: Frame, { digest }: Birth): boolean =>
  definitions.find((one) => one.digest === digest)?.definition.team !== undefined;

/** The content that crossed into a cell in this frame. */
const contentFor = ({ contents }: Frame, into: CellId, of: CrossingKind): string =>
  contents?.find(({ cell, kind }) => cell === into && kind === of)?.content ?? '';

const childSessionStart = (frame: Frame, { birth, name }: RecordOf<'begin'>, state: State): readonly EventBody[] =>
  birth === undefined ? [] : [sessionStart(frame, birth, calledName(name), state)];

const sessionEnd = (
  { at }: Frame,
  cell: CellId,
  { status, spent, failure }: Outcome,
  { windows, errors }: State,
): EventBody & { readonly type: 'session-end' } => {
  windows.delete(cell);
  return { type: 'session-end', cell, status, spent, error: errors.ofEnd(cell, failure, at) };
};

const beginEvents = (frame: Frame, begin: RecordOf<'begin'>, state: State): readonly EventBody[] => {
  const { cell, at, attempt } = frame;
  const { op, about, birth, name } = begin;
  const info = attempt && attemptInfo(attempt);
  const goal = birth === undefined ? noSize : textSize(contentFor(frame, birth.cell, 'goal'));
  state.open.set(`${cell}/${op}`, { begin, frame: frame.no, at, attempt: info, goal });
  if (info !== undefined) return [...windowChanges(frame, op, state), modelStart(cell, op, info)];
  const ms = Math.max(0, (begin.until ?? at) - at);
  switch (begin.do) {
    case 'sleep':
      // A timeout in the background is not a wait.
      return about?.['why'] === 'time-out' ? [] : [{ type: 'wait-start', cell, op, ms }];
    case 'child':
      if (birth === undefined) return [];
      return [{ type: 'child-start', cell, op, child: birth.cell, childAgent: birth.agent, tool: calledName(name) }];
    case 'ask':
      return begin.question === undefined ? [] : [questionEvent(frame, begin, begin.question)];
    case 'step':
    case 'receive': {
      if (name === 'wait:spawned') return [{ type: 'wait-start', cell, op, ms, for: 'spawned' }];
      const tool = toolName(name);
      return tool === undefined ? [] : [{ type: 'tool-start', cell, op, tool, args: argsText(about?.['args']) }];
    }
    default:
      return unknownKind(begin.do, []);
  }
};

/** How the window was reduced for this request. */
const windowChanges = ({ cell, attempt }: Frame, op: number, { windows }: State): readonly EventBody[] => {
  const own = windows.get(cell);
  if (own === undefined || attempt === undefined) return [];
  const caller = own.parent === null ? undefined : windows.get(own.parent)?.followed;
  const { trims, clamp } = followAttempt(own.followed, attempt, caller);
  return [
    ...(clamp === undefined ? [] : [{ type: 'window-clamp', cell, ...clamp } as const]),
    ...trims.map((trim) => ({ type: 'window-trim', cell, op, ...trim }) as const),
  ];
};

const attemptInfo = ({ turn, model, bytes, chars }: Attempt): AttemptInfo => ({ turn, model, bytes, chars });

const modelStart = (cell: CellId, op: number, { turn, model, bytes: promptBytes }: AttemptInfo): EventBody => ({
  type: 'model-start',
  cell,
  op,
  turn,
  model,
  promptBytes,
});

/** A request in flight when the process crashed has ended with an unknown outcome and is sent again. */
const retryEvents = (cell: CellId, { op, uncertain }: RecordOf<'again'>, state: State): readonly EventBody[] => {
  const info = state.open.get(`${cell}/${op}`)?.attempt;
  if (info === undefined) return [];
  const lost: RecordOf<'settle'> = { type: 'settle', op, ok: false, failure: { code: 'indeterminate' }, uncertain };
  return [modelEnd(cell, lost, info, state), modelStart(cell, op, info)];
};

const noSize: Size = { bytes: 0, chars: 0 };

const textSize = (text: string): Size => ({ bytes: utf8Bytes(text), chars: text.length });

const trafficSizes = (into: Size, out: Size) => ({
  bytesIn: into.bytes,
  charsIn: into.chars,
  bytesOut: out.bytes,
  charsOut: out.chars,
});

/** The name of the tool or agent that a model called: `tool:<name>`, `agent:<toolName>`. */
const calledName = (name: string): string => name.slice(name.indexOf(':') + 1);

const toolName = (name: string): string | undefined => (name.startsWith('tool:') ? calledName(name) : undefined);

const argsText = (args: Json | undefined): string => (typeof args === 'string' ? args : JSON.stringify(args ?? {}));

/** For arguments that were too long to record, their sizes are recorded. */
const argsSize = ({ about = {} }: RecordOf<'begin'>): Size => {
  const { args, argsBytes: bytes, argsChars: chars } = about;
  return typeof bytes === 'number' && typeof chars === 'number' ? { bytes, chars } : textSize(argsText(args));
};

const settleEvents = (frame: Frame, settle: RecordOf<'settle'>, state: State): readonly EventBody[] => {
  const { cell } = frame;
  const { op, ok, failure, ms = 0 } = settle;
  const started = state.open.get(`${cell}/${op}`);
  if (started === undefined) return [];
  state.open.delete(`${cell}/${op}`);
  const { begin, attempt } = started;
  if (attempt !== undefined) return [modelEnd(cell, settle, attempt, state)];
  if (begin.birth !== undefined) return childEnd(frame, settle, started, state);
  if (begin.do === 'ask') return [questionEnd(frame, settle, started.frame)];
  const tool = toolName(begin.name);
  if (tool === undefined) return [];
  const value = ok ? (settle.value as ToolResultValue | null) : null;
  const sizes = trafficSizes(argsSize(begin), value === null ? noSize : (value.output ?? textSize(value.text ?? '')));
  const output = value?.output?.name ?? null;
  const error = state.errors.ofOperation(cell, op, failure);
  const end: EventBody = { type: 'tool-end', cell, op, tool, ok, ms, ...sizes, output, error };
  const refused = begin.about?.['agent'];
  return [typeof refused === 'string' ? { ...end, path: [...pathTo(cell, state), refused] } : end];
};

/** The agents from the root down to this cell's. */
const pathTo = (cell: CellId, { agents, windows }: State): readonly string[] => {
  const path: string[] = [];
  for (let at: CellId | null = cell; at !== null; at = windows.get(at)?.parent ?? null)
    path.unshift(agents.get(at) ?? 'unknown');
  return path;
};

const modelEnd = (cell: CellId, settle: RecordOf<'settle'>, info: AttemptInfo, state: State): EventBody => {
  const { op, ok, cost, uncertain, failure, ms = 0 } = settle;
  const { model } = info;
  const parts = ok ? (settle.value as unknown as ModelReply).parts : [];
  // An attempt refused by the budget was never sent.
  const sent = ok || cost !== undefined || uncertain !== undefined;
  return {
    type: 'model-end',
    cell,
    op,
    ok,
    provider: model.split('/', 1)[0] ?? model,
    model,
    inputTokens: cost?.usage.inputTokens ?? 0,
    cacheReadTokens: cost?.usage.cacheReadTokens ?? 0,
    cacheWriteTokens: cost?.usage.cacheWriteTokens ?? 0,
    outputTokens: cost?.usage.outputTokens ?? 0,
    usd: knownUsd(settle),
    uncertain: uncertain?.tokens ?? 0,
    ms,
    ...trafficSizes(sent ? info : noSize, replySize(parts)),
    calls: parts.filter(({ type }) => type === 'call').length,
    error: state.errors.ofOperation(cell, op, failure),
  };
};

/** The known cost; null if a price is missing for known or uncertain usage. */
const knownUsd = ({ cost, uncertain }: RecordOf<'settle'>): number | null => {
  if (cost !== undefined) return cost.nanoUsd === null ? null : cost.nanoUsd / 1e9;
  return (uncertain?.tokens ?? 0) > 0 && uncertain?.nanoUsd === undefined ? null : 0;
};

const replySize = (parts: ModelReply['parts']): Size => {
  const sizes = parts.map((part) => textSize(part.type === 'call' ? part.input : part.text));
  return {
    bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0),
    chars: sizes.reduce((sum, { chars }) => sum + chars, 0),
  };
};

const childEnd = (
  frame: Frame,
  { op, ok, ended, failure }: RecordOf<'settle'>,
  started: OpenOperation,
  state: State,
): readonly EventBody[] => {
  const { cell, at } = frame;
  const { begin, goal } = started;
  const { cell: child, agent: childAgent } = begin.birth!;
  const status = ended?.outcome.status ?? (failure?.code === 'cancelled' ? 'cancelled' : 'failed');
  const session = ended && sessionEnd(frame, ended.cell, ended.outcome, state);
  const end: EventBody = {
    type: 'child-end',
    cell,
    op,
    child,
    childAgent,
    tool: calledName(begin.name),
    ok: ok && (status === 'completed' || status === 'partial'),
    status,
    error: session?.error ?? state.errors.ofOperation(cell, op, failure),
    ms: at - started.at,
    ...trafficSizes(goal, textSize(contentFor(frame, cell, 'result'))),
  };
  return session === undefined ? [end] : [session, end];
};
