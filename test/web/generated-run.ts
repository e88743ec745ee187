// Runs as a view has them, made up from a seed: trees of any depth, births at any time, refusals, mail, questions, runs in progress.
import type { CrossingKind, DurableEvent } from '#contracts';
import { applyEvent, newRunView } from '#headends/run-view';
import type { RunView } from '#headends/run-view';

export type Shape = {
  readonly seed: number;
  /** How many cells at most, and how deep. */
  readonly cells?: number;
  readonly depth?: number;
  /** `fan-out`: children are created together. `scattered`: at any time. `sequence`: one after the other. */
  readonly births?: 'fan-out' | 'scattered' | 'sequence';
  readonly isLive?: boolean;
  readonly mail?: number;
  readonly refused?: number;
  /** Milliseconds that a request takes at most. 0: everything happens at once. */
  readonly requestMs?: number;
  readonly requests?: number;
  readonly idleMs?: number;
};

export const randomOf = (seed: number): ((below: number) => number) => {
  let state = seed | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296) * below);
  };
};

/** Since 1970, as in a log. */
const startedAt = 1_790_000_000_000;

const agents = ['lead', 'researcher', 'engineer', 'writer', 'critic', 'clerk', 'an agent with a rather long name'];
const otherKinds: readonly CrossingKind[] = [
  'share',
  'dependency',
  'message',
  'broadcast',
  'note',
  'file',
  'attachment',
  'answer',
  'tools',
  'history',
];

type Made = { readonly at: number; readonly event: Record<string, unknown> };

export const generatedEvents = (shape: Shape): readonly DurableEvent[] => {
  const { cells = 12, depth = 3, births = 'scattered', isLive = false, mail = 0, refused = 0 } = shape;
  const { requestMs = 400, requests = 3, idleMs = 0 } = shape;
  const random = randomOf(shape.seed);
  const made: Made[] = [];
  const lives: { cell: string; from: number; to: number }[] = [];
  let [count, ops] = [0, 0];
  const add = (at: number, cell: string, event: Record<string, unknown>): void =>
    void made.push({ at, event: { cell, agent: cell.split('-')[0], at, ...event } });
  const cross = (at: number, cell: string, kind: string, from: string, to: string): void => {
    const isRefused = random(1000) < refused * 1000;
    const decision = isRefused ? { reason: 'no-grant' } : { grant: kind, sha256: 'ab12' };
    const bytes = 1 + random(random(4) === 0 ? 200_000 : 900);
    add(at, cell, { type: isRefused ? 'crossing-refused' : 'crossing', kind, from, to, bytes, ...decision });
  };
  const work = (cell: string, from: number): number => {
    let at = from;
    for (let turn = 1; turn <= 1 + random(requests); turn++) {
      const op = ops++;
      const ok = random(12) > 0;
      add(at, cell, { type: 'model-start', op, turn, model: 'm', promptBytes: 100 });
      at += requestMs === 0 ? 0 : 1 + random(requestMs);
      const tokens = { inputTokens: random(5000), outputTokens: random(500), usd: 0, ms: 1 };
      add(at, cell, { type: 'model-end', op, ok, calls: 1, error: null, ...tokens });
      if (!ok) {
        add(at, cell, { type: 'wait-start', op: ops++, ms: 300 });
        at += requestMs === 0 ? 0 : 300;
      } else if (random(2) === 0) {
        add(at, cell, { type: 'tool-start', op: ops, tool: 'notes__read', args: '{}' });
        at += requestMs === 0 ? 0 : random(30);
        add(at, cell, {
          type: 'tool-end',
          op: ops++,
          tool: 'notes__read',
          ok: random(9) > 0,
          bytesOut: random(20_000),
          ms: 1,
          error: null,
        });
      }
      if (random(15) === 0)
        add(at, cell, {
          type: 'window-trim',
          op: 0,
          how: 'compacted',
          messages: 3,
          bytesBefore: 40_000,
          bytesAfter: 9000,
        });
      if (idleMs > 0 && random(3) === 0) at += idleMs;
    }
    return at;
  };
  const live = (parent: string | null, from: number, level: number): number => {
    const agent = parent === null ? 'lead' : agents[1 + random(agents.length - 1)]!;
    const cell = `${agent}-${count++}`;
    const caller = parent ?? 'outside';
    const isResident = mail > 0 && parent !== null && random(3) === 0;
    add(from, cell, {
      type: 'session-start',
      parent,
      depth: level,
      goal: isResident ? '' : 'goal',
      tool: parent === null ? null : agent,
    });
    if (!isResident) cross(from, cell, 'goal', caller, cell);
    for (let extra = random(4); extra === 0; extra = random(4))
      cross(from, cell, otherKinds[random(otherKinds.length)]!, caller, cell);
    let at = work(cell, from);
    const children = level < depth ? random(6) : 0;
    const begun = at;
    let latest = at;
    for (let child = 0; child < children; child++) {
      if (count >= cells) break;
      const birth =
        births === 'fan-out'
          ? begun + random(3)
          : births === 'sequence'
            ? latest + 1
            : begun + random(3 * requestMs + 1);
      latest = Math.max(latest, live(cell, birth, level + 1));
    }
    at = work(cell, latest);
    lives.push({ cell, from, to: at });
    if (random(20) > 0) cross(at, cell, 'result', cell, caller);
    const status = random(12) === 0 ? 'failed' : 'completed';
    const error = status === 'failed' ? { code: 'model_rate', summary: 'too many requests' } : null;
    add(at, cell, { type: 'session-end', status, error, spent: {} });
    return at;
  };
  const end = live(null, startedAt, 0);
  for (let message = 0; message < mail; message++) {
    const [from, to] = [lives[random(lives.length)]!, lives[random(lives.length)]!];
    const [early, late] = [Math.max(from.from, to.from), Math.min(from.to, to.to)];
    if (from === to || early >= late) continue;
    const at = early + random(late - early);
    const source = random(5) === 0 ? 'outside' : from.cell;
    cross(at, from.cell, otherKinds[random(otherKinds.length)]!, source, to.cell);
  }
  made.sort((a, b) => a.at - b.at);
  const cut = isLive ? startedAt + (end - startedAt) * (0.2 + random(70) / 100) : Infinity;
  const shown = made.filter(({ at }) => at <= cut);
  if (isLive && random(2) === 0) {
    const asks = lives.find(({ from, to }) => from <= cut && to > cut)?.cell;
    if (asks !== undefined) {
      const question = {
        type: 'question',
        op: ops++,
        question: 'q',
        tool: 'mail__send',
        args: {},
        sha256: 'ab',
        why: 'tool',
        need: 1,
        until: 0,
      };
      shown.push({ at: cut, event: { cell: asks, agent: asks, at: cut, ...question } });
    }
  }
  return shown.map(({ event }, at) => ({ id: `e${at}`, run: 'r', ...event }) as unknown as DurableEvent);
};

/** A run of about so many events: a tree of cells, six below each, that work at the same time and write to each other. */
export const largeRunEvents = (events: number): readonly DurableEvent[] => {
  const random = randomOf(events);
  const made: Made[] = [];
  const cells = Math.ceil(events / 14);
  const lives: { readonly cell: string; readonly from: number; readonly to: number; readonly depth: number }[] = [];
  let ops = 0;
  for (let index = 0; index < cells; index++) {
    const parent = lives[Math.floor((index - 1) / 6)];
    const agent = parent === undefined ? 'lead' : agents[1 + random(agents.length - 1)]!;
    const cell = `${agent}-${index}`;
    const [early, late] =
      parent === undefined ? [startedAt, startedAt + 60_000 + 40 * cells] : [parent.from, parent.to];
    const from = early + (parent === undefined ? 0 : 10 + random(Math.max(1, (late - early) / 3)));
    const to = late - (parent === undefined ? 0 : 10 + random(Math.max(1, (late - early) / 3)));
    const depth = parent === undefined ? 0 : parent.depth + 1;
    lives.push({ cell, from, to, depth });
    const caller = parent?.cell ?? 'outside';
    const add = (at: number, event: Record<string, unknown>): void =>
      void made.push({ at, event: { cell, agent, at, ...event } });
    const cross = (at: number, kind: string, source: string, target: string): void => {
      const crossing = { kind, from: source, to: target, bytes: 1 + random(20_000) };
      if (random(400) === 0) add(at, { type: 'crossing-refused', ...crossing, reason: 'no-grant' });
      else add(at, { type: 'crossing', ...crossing, grant: kind, sha256: 'ab12' });
    };
    add(from, { type: 'session-start', parent: parent?.cell ?? null, depth, goal: 'goal', tool: agent });
    cross(from, 'goal', caller, cell);
    for (let request = 0; request < 3; request++) {
      const at = from + ((to - from) * (request + 0.1)) / 3;
      const end = at + Math.min(900, (to - from) / 4);
      add(at, { type: 'model-start', op: ops, turn: request + 1, model: 'm', promptBytes: 100 });
      const tokens = { inputTokens: random(5000), outputTokens: random(500), usd: 0, ms: 1 };
      add(end, { type: 'model-end', op: ops++, ok: true, calls: 1, error: null, ...tokens });
      if (request === 2) continue;
      add(end, { type: 'tool-start', op: ops, tool: 'notes__read', args: '{}' });
      add(end + 1, { type: 'tool-end', op: ops++, tool: 'notes__read', ok: true, bytesOut: 900, ms: 1, error: null });
    }
    const sibling = lives[index - 1 - random(5)];
    const shared = sibling === undefined ? [0, 0] : [Math.max(from, sibling.from), Math.min(to, sibling.to)];
    if (sibling !== undefined && index % 6 !== 1 && shared[0]! < shared[1]!)
      cross((shared[0]! + shared[1]!) / 2, 'message', cell, sibling.cell);
    cross(to, 'result', cell, caller);
    const hasFailed = random(300) === 0;
    const error = hasFailed ? { code: 'model_rate', summary: 'too many requests' } : null;
    add(to, { type: 'session-end', status: hasFailed ? 'failed' : 'completed', error, spent: {} });
  }
  made.sort((a, b) => a.at - b.at);
  return made.map(({ event }, at) => ({ id: `e${at}`, run: 'r', ...event }) as unknown as DurableEvent);
};

export const viewOfEvents = (events: readonly DurableEvent[]): RunView => {
  const view = newRunView();
  for (const event of events) applyEvent(view, event);
  return view;
};

export const generatedView = (shape: Shape): RunView => viewOfEvents(generatedEvents(shape));
