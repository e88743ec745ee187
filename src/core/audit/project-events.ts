// The log as events: what people and headends see of a run. Used live, frame by frame, so it keeps only what is open.
import { errorCatalogue, publicFailure, readTeamGoal, describeTeamGoal, utf8Bytes } from '#base';
import type { CellId, Failure, Json, PublicFailure } from '#base';
import type {
  Attempt,
  Birth,
  CrossingKind,
  DurableEvent,
  Frame,
  FrameRecord,
  LedgerEntry,
  Outcome,
  ModelReply,
  ToolResultValue,
} from '#contracts';
import { eventEnvelope } from './event-envelope.ts';
import type { EventBody } from './event-envelope.ts';
import { followMail } from './mail-states.ts';
import type { MailFold } from './mail-states.ts';
import { followTasks } from './task-states.ts';
import type { TaskFold } from './task-states.ts';
import { followAttempt, startWindow } from './window-states.ts';
import type { WindowState } from './window-states.ts';
import type { BeginFrameRecord, SettleFrameRecord } from './records.ts';

export type EventFold = { next(frame: Frame): readonly DurableEvent[] };

type Size = { readonly bytes: number; readonly chars: number };
type Asked = Size & Pick<Attempt, 'turn' | 'model'>;
type Open = {
  readonly begin: BeginFrameRecord;
  readonly at: number;
  /** Of a model: what it was shown. Without the view, which may be large. */
  readonly asked: Asked | undefined;
  /** Of a child: what crossed as its goal. */
  readonly goal: Size;
};
type State = {
  readonly agents: Map<CellId, string>;
  /** What they are known by, where that is not the name of the agent. */
  readonly names: Map<CellId, string>;
  readonly open: Map<string, Open>;
  readonly mail: MailFold;
  readonly tasks: TaskFold;
  /** Of the cells that have not ended. */
  readonly windows: Map<CellId, { readonly parent: CellId | null; readonly followed: WindowState }>;
};

/** A fold over the frames of one run, in order. */
export const projectEvents = (): EventFold => {
  const state: State = {
    agents: new Map(),
    names: new Map(),
    open: new Map(),
    mail: followMail(),
    tasks: followTasks(),
    windows: new Map(),
  };
  const nameOf = (cell: CellId): string => state.names.get(cell) ?? state.agents.get(cell) ?? 'unknown';
  return {
    next: (frame) => {
      const told = [...toldBy(frame, state), ...mailTold(frame, state), ...tasksTold(frame, state)];
      return told.map((event, index) => ({
        ...event,
        id: `${event.cell}/${frame.no}${told.length === 1 ? '' : letterOf(index)}`,
        run: frame.run,
        agent: state.agents.get(event.cell) ?? 'unknown',
        at: frame.at,
        ...eventEnvelope(event, nameOf),
      }));
    },
  };
};

const mailTold = (frame: Frame, { mail }: State): readonly EventBody[] =>
  mail.next(frame).map((letter): EventBody => {
    const { id: message, message_type: kind, from, to, agent_id: sender, recipient_id: recipient } = letter;
    const { topic, correlation_id: correlation, state: is, reason } = letter;
    const cell = is === 'queued' || to === null || to === 'outside' ? frame.cell : to;
    return { type: 'mail', cell, message, kind, from, to, sender, recipient, topic, correlation, state: is, reason };
  });

const tasksTold = (frame: Frame, { tasks }: State): readonly EventBody[] =>
  tasks.next(frame).map(({ cell, task }): EventBody => {
    const { id, title, assignee, dependsOn, status, attempts: attempt, reason } = task;
    return { type: 'task', cell, task: id, title, assignee, dependsOn, status, attempt, reason };
  });

/** a … z, za … zz, zza …: they sort in the order of what happened. */
const letterOf = (index: number): string =>
  index < 25 ? String.fromCodePoint(97 + index) : `z${letterOf(index - 25)}`;

const toldBy = (frame: Frame, state: State): readonly EventBody[] => {
  const { record, cell } = frame;
  switch (record.type) {
    case 'open':
      return [sessionStart(frame, record.birth, null, state), ...crossings(frame)];
    case 'begin':
      return [...begun(frame, record, state), ...crossings(frame), ...born(frame, record, state)];
    case 'settle':
      return [...crossings(frame), ...settled(frame, record, state)];
    case 'cancel':
      return [{ type: 'run-cancel', cell }, ...crossings(frame)];
    case 'fork':
      return [{ type: 'run-fork', cell, from: record.from, amendment: record.amendment }];
    case 'close':
      return [...crossings(frame), sessionEnd(cell, record.outcome, state)];
    case 'resume':
      return [{ type: 'run-resume', cell, downMs: record.downMs }, ...crossings(frame)];
    case 'again':
      return [...crossings(frame), ...begunAgain(cell, record, state)];
    case 'post': {
      const { op, name, about, ok, value, failure } = record;
      const began = begun(frame, { type: 'begin', op, do: 'step', name, about }, state);
      const ended = settled(frame, { type: 'settle', op, ok, value, failure }, state);
      return [...began, ...crossings(frame), ...ended];
    }
    case 'mail':
    case 'give':
      return crossings(frame);
  }
  return crossings(frame);
};

const sessionStart = (frame: Frame, birth: Birth, tool: string | null, state: State): EventBody => {
  const { cell, parent, agent, depth, spawned } = birth;
  state.agents.set(cell, agent);
  if (spawned !== undefined && spawned.name !== agent) state.names.set(cell, spawned.name);
  state.windows.set(cell, { parent, followed: startWindow() });
  const content = contentIn(frame, cell, 'goal');
  const isTeam = parent === null && content !== '' && isTeamIn(frame, birth);
  if (!isTeam) return { type: 'session-start', cell, parent, tool, depth, goal: content };
  const team = readTeamGoal(content);
  return { type: 'session-start', cell, parent, tool, depth, goal: describeTeamGoal(team), team };
};

const isTeamIn = ({ definitions = [] }: Frame, { digest }: Birth): boolean =>
  definitions.find((one) => one.digest === digest)?.definition.team !== undefined;

/** What crossed into a cell in this frame. */
const contentIn = ({ contents }: Frame, into: CellId, of: CrossingKind): string =>
  contents?.find(({ cell, kind }) => cell === into && kind === of)?.content ?? '';

const born = (frame: Frame, { birth, name }: BeginFrameRecord, state: State): readonly EventBody[] =>
  birth === undefined ? [] : [sessionStart(frame, birth, calledName(name), state)];

const sessionEnd = (cell: CellId, { status, spent, failure }: Outcome, { windows }: State): EventBody => {
  windows.delete(cell);
  return { type: 'session-end', cell, status, spent, error: errorOf(failure) };
};

const begun = (frame: Frame, begin: BeginFrameRecord, state: State): readonly EventBody[] => {
  const { cell, at, attempt } = frame;
  const { op, about, birth, name } = begin;
  const asked = attempt && askedOf(attempt);
  const goal = birth === undefined ? nothing : sizeOf(contentIn(frame, birth.cell, 'goal'));
  state.open.set(`${cell}/${op}`, { begin, at, asked, goal });
  if (asked !== undefined) return [...windowChanges(frame, op, state), modelStart(cell, op, asked)];
  // A time-out that stands by is not a wait.
  if (begin.do === 'sleep' && about?.['why'] === 'time-out') return [];
  if (begin.do === 'sleep') return [{ type: 'wait-start', cell, op, ms: Math.max(0, (begin.until ?? at) - at) }];
  if (birth !== undefined)
    return [{ type: 'child-start', cell, op, child: birth.cell, childAgent: birth.agent, tool: calledName(name) }];
  const tool = toolOf(name);
  return tool === undefined ? [] : [{ type: 'tool-start', cell, op, tool, args: argsText(about?.['args']) }];
};

/** What was done to the window before this request. */
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

const askedOf = ({ turn, model, bytes, chars }: Attempt): Asked => ({ turn, model, bytes, chars });

const modelStart = (cell: CellId, op: number, { turn, model, bytes: promptBytes }: Asked): EventBody => ({
  type: 'model-start',
  cell,
  op,
  turn,
  model,
  promptBytes,
});

/** What was in flight when the process died has ended, nobody knows how, and is asked for once more. */
const begunAgain = (
  cell: CellId,
  { op, uncertain }: Extract<FrameRecord, { type: 'again' }>,
  { open }: State,
): readonly EventBody[] => {
  const asked = open.get(`${cell}/${op}`)?.asked;
  if (asked === undefined) return [];
  const lost: SettleFrameRecord = { type: 'settle', op, ok: false, failure: { code: 'indeterminate' }, uncertain };
  return [modelEnd(cell, lost, asked), modelStart(cell, op, asked)];
};

const nothing: Size = { bytes: 0, chars: 0 };

const sizeOf = (text: string): Size => ({ bytes: utf8Bytes(text), chars: text.length });

const between = (into: Size, out: Size) => ({
  bytesIn: into.bytes,
  charsIn: into.chars,
  bytesOut: out.bytes,
  charsOut: out.chars,
});

/** The name by which a model calls a tool or an agent: `tool:<name>`, `agent:<name>`. */
const calledName = (name: string): string => name.slice(name.indexOf(':') + 1);

const toolOf = (name: string): string | undefined => (name.startsWith('tool:') ? calledName(name) : undefined);

const argsText = (args: Json | undefined): string => (typeof args === 'string' ? args : JSON.stringify(args ?? {}));

/** Arguments that were too long to record say how long they were. */
const argsSize = ({ about = {} }: BeginFrameRecord): Size => {
  const { args, argsBytes: bytes, argsChars: chars } = about;
  return typeof bytes === 'number' && typeof chars === 'number' ? { bytes, chars } : sizeOf(argsText(args));
};

const settled = (frame: Frame, settle: SettleFrameRecord, state: State): readonly EventBody[] => {
  const { cell } = frame;
  const { op, ok, failure, ms = 0 } = settle;
  const started = state.open.get(`${cell}/${op}`);
  if (started === undefined) return [];
  state.open.delete(`${cell}/${op}`);
  const { begin, asked } = started;
  if (asked !== undefined) return [modelEnd(cell, settle, asked)];
  if (begin.birth !== undefined) return childEnd(frame, settle, started, state);
  const tool = toolOf(begin.name);
  if (tool === undefined) return [];
  const value = ok ? (settle.value as ToolResultValue | null) : null;
  const sizes = between(argsSize(begin), value === null ? nothing : (value.output ?? sizeOf(value.text ?? '')));
  const output = value?.output?.name ?? null;
  return [{ type: 'tool-end', cell, op, tool, ok, ms, ...sizes, output, error: errorOf(failure) }];
};

const modelEnd = (cell: CellId, settle: SettleFrameRecord, asked: Asked): EventBody => {
  const { op, ok, cost, uncertain, failure, ms = 0 } = settle;
  const { model } = asked;
  const parts = ok ? (settle.value as unknown as ModelReply).parts : [];
  // An attempt that the budget refused was never sent.
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
    usd: usdOf(settle),
    uncertain: uncertain?.tokens ?? 0,
    ms,
    ...between(sent ? asked : nothing, replySize(parts)),
    calls: parts.filter(({ type }) => type === 'call').length,
    error: errorOf(failure),
  };
};

/** What it cost for certain; null when there is no price for what it cost, or may have. */
const usdOf = ({ cost, uncertain }: SettleFrameRecord): number | null => {
  if (cost !== undefined) return cost.nanoUsd === null ? null : cost.nanoUsd / 1e9;
  return (uncertain?.tokens ?? 0) > 0 && uncertain?.nanoUsd === undefined ? null : 0;
};

const replySize = (parts: ModelReply['parts']): Size => {
  const sizes = parts.map((part) => sizeOf(part.type === 'call' ? part.input : part.text));
  return {
    bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0),
    chars: sizes.reduce((sum, { chars }) => sum + chars, 0),
  };
};

const childEnd = (
  frame: Frame,
  { op, ok, ended, failure }: SettleFrameRecord,
  started: Open,
  state: State,
): readonly EventBody[] => {
  const { cell, at } = frame;
  const { begin, goal } = started;
  const { cell: child, agent: childAgent } = begin.birth!;
  const status = ended?.outcome.status ?? (failure?.code === 'cancelled' ? 'cancelled' : 'failed');
  const end: EventBody = {
    type: 'child-end',
    cell,
    op,
    child,
    childAgent,
    tool: calledName(begin.name),
    ok: ok && (status === 'completed' || status === 'partial'),
    status,
    ms: at - started.at,
    ...between(goal, sizeOf(contentIn(frame, cell, 'result'))),
  };
  return ended === undefined ? [end] : [sessionEnd(ended.cell, ended.outcome, state), end];
};

/** Each crossing once: as its sender's ledger tells it, or, from outside, its receiver's. */
const crossings = (frame: Frame): readonly EventBody[] =>
  (frame.links ?? []).flatMap(({ cell, entries }) =>
    entries.filter(({ way, other }) => way === 'out' || other === 'outside').map((entry) => crossing(cell, entry)),
  );

const crossing = (cell: CellId, { way, kind, other, grant, bytes, sha256, verdict }: LedgerEntry): EventBody => {
  const [from, to] = way === 'in' ? [other, cell] : [cell, other];
  return verdict === 'granted'
    ? { type: 'crossing', cell, kind, from, to, grant: grant ?? '', bytes, sha256 }
    : { type: 'crossing-refused', cell, kind, from, to, reason: verdict, bytes };
};

/** A code that the catalogue does not know comes from a changed log; the audit names it. */
const errorOf = (failure: Failure | null | undefined): PublicFailure | null => {
  if (failure === null || failure === undefined) return null;
  return publicFailure(Object.hasOwn(errorCatalogue, failure.code) ? failure : { code: 'defect' });
};
