// The log as events: what people and headends see of a run. Used live, frame by frame, so it keeps only what is open.
import { errorCatalogue, publicFailure, utf8Bytes } from '#base';
import type { CellId, Failure, Json, PublicFailure } from '#base';
import type { Birth, DurableEvent, Frame, LedgerEntry, Outcome, Reply, ToolValue } from '#contracts';
import type { Begin, Settle } from './records.ts';

export type EventFold = { next(frame: Frame): readonly DurableEvent[] };

type Told = DurableEvent extends infer E
  ? E extends DurableEvent
    ? Omit<E, 'id' | 'run' | 'agent' | 'at'>
    : never
  : never;
type Open = { readonly begin: Begin; readonly at: number; readonly model: string | undefined };
type State = { readonly agents: Map<CellId, string>; readonly open: Map<string, Open> };

/** A fold over the frames of one run, in order. */
export const projectEvents = (): EventFold => {
  const state: State = { agents: new Map(), open: new Map() };
  return {
    next: (frame) => {
      const told = toldBy(frame, state);
      return told.map((event, index) => ({
        ...event,
        id: `${event.cell}/${frame.no}${told.length === 1 ? '' : letterOf(index)}`,
        run: frame.run,
        agent: state.agents.get(event.cell) ?? 'unknown',
        at: frame.at,
      }));
    },
  };
};

/** a … z, za … zz, zza …: they sort in the order of what happened. */
const letterOf = (index: number): string =>
  index < 25 ? String.fromCodePoint(97 + index) : `z${letterOf(index - 25)}`;

const toldBy = (frame: Frame, state: State): readonly Told[] => {
  const { record, cell } = frame;
  switch (record.type) {
    case 'open':
      return [sessionStart(frame, record.birth, state), ...crossings(frame)];
    case 'begin':
      return [...begun(frame, record, state), ...crossings(frame), ...born(frame, record, state)];
    case 'settle':
      return [...crossings(frame), ...settled(frame, record, state)];
    case 'cancel':
      return [{ type: 'run-cancel', cell }, ...crossings(frame)];
    case 'close':
      return [...crossings(frame), sessionEnd(cell, record.outcome)];
    case 'resume':
      return [{ type: 'run-resume', cell, downMs: record.downMs }, ...crossings(frame)];
    case 'again':
  }
  return crossings(frame);
};

const sessionStart = (frame: Frame, birth: Birth, { agents }: State): Told => {
  agents.set(birth.cell, birth.agent);
  const goal = frame.contents?.find(({ cell, kind }) => cell === birth.cell && kind === 'goal')?.content ?? '';
  return { type: 'session-start', cell: birth.cell, parent: birth.parent, depth: birth.depth, goal };
};

const born = (frame: Frame, { birth }: Begin, state: State): readonly Told[] =>
  birth === undefined ? [] : [sessionStart(frame, birth, state)];

const sessionEnd = (cell: CellId, { status, spent, failure }: Outcome): Told => ({
  type: 'session-end',
  cell,
  status,
  spent,
  error: errorOf(failure),
});

const begun = (frame: Frame, begin: Begin, { open }: State): readonly Told[] => {
  const { cell, at, attempt } = frame;
  const { op, about, birth, name } = begin;
  open.set(`${cell}/${op}`, { begin, at, model: attempt?.model });
  if (attempt !== undefined) {
    const { turn, model, bytes: promptBytes } = attempt;
    return [{ type: 'model-start', cell, op, turn, model, promptBytes }];
  }
  // A time-out that stands by is not a wait.
  if (begin.do === 'sleep' && about?.['why'] === 'time-out') return [];
  if (begin.do === 'sleep') return [{ type: 'wait-start', cell, op, ms: Math.max(0, (begin.until ?? at) - at) }];
  if (birth !== undefined) return [{ type: 'child-start', cell, op, child: birth.cell, childAgent: birth.agent }];
  const tool = toolOf(name);
  return tool === undefined ? [] : [{ type: 'tool-start', cell, op, tool, args: argsText(about?.['args']) }];
};

const toolOf = (name: string): string | undefined =>
  name.startsWith('tool:') ? name.slice('tool:'.length) : undefined;

const argsText = (args: Json | undefined): string => (typeof args === 'string' ? args : JSON.stringify(args ?? {}));

const settled = (frame: Frame, settle: Settle, { open }: State): readonly Told[] => {
  const { cell, at } = frame;
  const { op, ok, failure } = settle;
  const started = open.get(`${cell}/${op}`);
  if (started === undefined) return [];
  open.delete(`${cell}/${op}`);
  const { begin, model } = started;
  const ms = at - started.at;
  if (model !== undefined) return [modelEnd(cell, settle, { model, ms })];
  if (begin.birth !== undefined) return childEnd(cell, settle, { birth: begin.birth, ms });
  const tool = toolOf(begin.name);
  if (tool === undefined) return [];
  const value = ok ? (settle.value as ToolValue | null) : null;
  const bytes = value === null ? 0 : (value.output?.bytes ?? utf8Bytes(value.text));
  const output = value?.output?.name ?? null;
  return [{ type: 'tool-end', cell, op, tool, ok, ms, bytes, output, error: errorOf(failure) }];
};

const modelEnd = (
  cell: CellId,
  settle: Settle,
  { model, ms }: { readonly model: string; readonly ms: number },
): Told => {
  const { op, ok, cost, uncertain, failure } = settle;
  const parts = ok ? (settle.value as unknown as Reply).parts : [];
  return {
    type: 'model-end',
    cell,
    op,
    ok,
    model,
    inputTokens: cost?.usage.inputTokens ?? 0,
    outputTokens: cost?.usage.outputTokens ?? 0,
    usd: cost === undefined ? 0 : cost.nanoUsd === null ? null : cost.nanoUsd / 1e9,
    uncertain: uncertain?.tokens ?? 0,
    ms,
    calls: parts.filter(({ type }) => type === 'call').length,
    error: errorOf(failure),
  };
};

const childEnd = (
  cell: CellId,
  { op, ended, failure }: Settle,
  { birth, ms }: { readonly birth: Birth; readonly ms: number },
): readonly Told[] => {
  const status = ended?.outcome.status ?? (failure?.code === 'cancelled' ? 'cancelled' : 'failed');
  const end: Told = { type: 'child-end', cell, op, child: birth.cell, childAgent: birth.agent, status, ms };
  return ended === undefined ? [end] : [sessionEnd(ended.cell, ended.outcome), end];
};

/** Each crossing once: as its sender's ledger tells it, or, from outside, its receiver's. */
const crossings = (frame: Frame): readonly Told[] =>
  (frame.links ?? []).flatMap(({ cell, entries }) =>
    entries.filter(({ way, other }) => way === 'out' || other === 'outside').map((entry) => crossing(cell, entry)),
  );

const crossing = (cell: CellId, { way, kind, other, grant, bytes, sha256, verdict }: LedgerEntry): Told => {
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
