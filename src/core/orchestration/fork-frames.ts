// The log that a fork begins with: what it keeps of another run, and what is changed from there on.
//
//   K1. What is kept is a prefix of the log, up to the operation that is named, and the settlements of steps that were
//       under way there: they were asked before the change, so they are as they were.
//   K2. An amendment only takes away or replaces what the operator named: no grant is added.
//   K3. The definitions stay as they were recorded; the amendment is a record of its own.
import { CloisterError } from '#base';
import type { CellId, RunId } from '#base';
import type { Amendment, AgentDefinition, ForkOptions, Frame, FrameRecord, GrantName } from '#contracts';
import { Ledger } from '#core/crossings';
import { readRecordedRun } from '#core/cells';
import type { RecordedCell, RecordedRun } from '#core/cells';
import { framesHash } from './frames-hash.ts';

type BeginFrame = Frame & { readonly record: Extract<FrameRecord, { type: 'begin' | 'post' }> };

/** Where a run is cut: before this frame, in the work of this agent. */
type Cut = { readonly at: string; readonly frame: number; readonly agent: string; readonly child: boolean };

/** Throws `fork_invalid` for a place or a change that cannot be. */
export const forkFrames = (
  frames: readonly Frame[],
  options: ForkOptions,
  { run, now }: { readonly run: RunId; readonly now: number },
): readonly Frame[] => {
  const recorded = readRecordedRun(frames);
  const cut = cutAt(recorded, options.at);
  if (recorded.cancelled !== null && recorded.cancelled.no < cut.frame)
    throw invalid('The run had been cancelled before that.');
  const amendment = amendmentOf(recorded, options, cut);
  const kept = [...frames.slice(0, cut.frame), ...underWay(frames, cut.frame)];
  const from = { run: frames[0]!.run, frames: kept.length, hash: framesHash(kept), at: cut.at, forkedAt: now };
  const isRoot = cut.at === recorded.root.birth.cell;
  const begun = isRoot && amendment.goal !== undefined ? [withGoal(kept[0]!, amendment.goal), ...kept.slice(1)] : kept;
  // As late as what it keeps: the time since then counts as downtime.
  const at = kept.reduce((latest, frame) => Math.max(latest, frame.at), 0);
  const fork: Frame = {
    run,
    no: kept.length,
    at,
    cell: recorded.root.birth.cell,
    record: { type: 'fork', from, amendment },
  };
  return [...begun.map((frame, no): Frame => ({ ...frame, run, no })), fork];
};

const cutAt = (recorded: RecordedRun, at: string): Cut => {
  const slash = at.lastIndexOf('/');
  const cell = recorded.cells.get((slash < 0 ? at : at.slice(0, slash)) as CellId);
  if (cell === undefined) throw invalid(`It has no cell "${at}". Its cells: ${[...recorded.cells.keys()].join(', ')}.`);
  if (slash < 0) return cutAtBirth(recorded, cell);
  const op = at.slice(slash + 1);
  const begun = /^\d{1,9}$/u.test(op) ? cell.begins.get(Number(op)) : undefined;
  if (begun === undefined) throw invalid(`There is no operation ${op}: ${operationsOf(cell)}.`);
  return cutBefore(cell, firstAttempt(cell, begun));
};

const cutAtBirth = ({ cells, root }: RecordedRun, cell: RecordedCell): Cut => {
  const { birth } = cell;
  if (cell === root) return { at: birth.cell, frame: 1, agent: birth.agent, child: true };
  const parent = birth.parent === null ? undefined : cells.get(birth.parent);
  const begun = [...(parent?.begins.values() ?? [])].find(({ record }) => birthIn(record)?.cell === birth.cell);
  if (parent === undefined || begun === undefined) throw invalid(`The log does not say how ${birth.cell} began.`);
  return cutBefore(parent, begun);
};

const cutBefore = ({ birth }: RecordedCell, { no, record }: BeginFrame): Cut => ({
  at: `${birth.cell}/${record.op}`,
  frame: no,
  agent: birthIn(record)?.agent ?? birth.agent,
  child: birthIn(record) !== undefined,
});

const birthIn = (record: BeginFrame['record']) => (record.type === 'begin' ? record.birth : undefined);

/** A turn is asked as a whole: of several attempts at it none is kept. */
const firstAttempt = (cell: RecordedCell, begun: BeginFrame): BeginFrame => {
  const turn = begun.attempt?.turn;
  if (turn === undefined) return begun;
  return [...cell.begins.values()].find(({ attempt }) => attempt?.turn === turn) ?? begun;
};

const operationsOf = ({ birth, begins }: RecordedCell): string => {
  const names = [...begins.values()].slice(0, 40).map(({ record }) => `${record.op} ${record.name}`);
  return names.length === 0
    ? `${birth.cell} began none`
    : `${birth.cell} has ${names.join(', ')}${begins.size > 40 ? ', …' : ''}`;
};

const amendmentOf = (recorded: RecordedRun, options: ForkOptions, { agent, child, at }: Cut): Amendment => {
  const { model, goal, withoutGrants = [] } = options;
  if (goal !== undefined && !child)
    throw invalid(
      `A goal can only be changed where a cell begins: --at <cell>, or the operation that starts it; ${at} is neither.`,
    );
  if (goal !== undefined && goal.trim() === '') throw invalid('The goal is empty.');
  checkGrants(recorded, agent, withoutGrants);
  if (at === recorded.root.birth.cell && withoutGrants.includes('goal'))
    throw invalid(`The goal of ${at} was handed over when the run began: name an agent that is called after that.`);
  return {
    agent,
    ...(model === undefined ? {} : { model }),
    ...(withoutGrants.length === 0 ? {} : { withoutGrants: [...withoutGrants] }),
    ...(goal === undefined ? {} : { goal }),
  };
};

const checkGrants = ({ cells, frames }: RecordedRun, agent: string, lost: readonly GrantName[]): void => {
  if (lost.length === 0) return;
  const digests = new Set(
    [...cells.values()].filter(({ birth }) => birth.agent === agent).map(({ birth }) => birth.digest),
  );
  const definitions = frames.flatMap(({ definitions: known = [] }) =>
    known.flatMap(({ digest, definition }): AgentDefinition[] => (digests.has(digest) ? [definition] : [])),
  );
  const had = new Set(
    definitions.flatMap(({ grants, share }) => (share === undefined ? grants : [...grants, 'share' as const])),
  );
  const unknown = lost.find((name) => !had.has(name));
  if (unknown !== undefined)
    throw invalid(`"${agent}" has no grant "${unknown}"; it has ${[...had].join(', ') || 'none'}.`);
};

/** Settlements after the cut of steps that began before it, as their own work ended: not those that something stopped. */
const underWay = (frames: readonly Frame[], cut: number): readonly Frame[] => {
  const open = new Set<string>();
  for (const { cell, record } of frames.slice(0, cut)) {
    if (record.type === 'begin' && record.do === 'step') open.add(`${cell}/${record.op}`);
    if (record.type === 'settle') open.delete(`${cell}/${record.op}`);
  }
  return frames.slice(cut).filter(({ cell, record }) => {
    if (record.type !== 'settle' || !open.has(`${cell}/${record.op}`)) return false;
    return record.halted === undefined && (record.ok || !stops.includes(record.failure?.code ?? ''));
  });
};

const stops = ['cancelled', 'deadline_passed', 'indeterminate', 'store_failed'];

/** The beginning of a run with another goal from outside, and what else it was given. */
const withGoal = (open: Frame, goal: string): Frame => {
  const ledger = new Ledger();
  const content = isTeam(open) ? teamGoal(open, goal) : goal;
  for (const { kind, verdict, seq } of open.links?.[0]?.entries ?? []) {
    const grant = { name: kind, kind, from: 'outside', to: open.cell } as const;
    const was = open.contents?.find((one) => one.seq === seq)?.content ?? '';
    ledger.recordDecision(
      { kind, from: 'outside', to: open.cell, content: kind === 'goal' ? content : was, labels: [] },
      verdict === 'granted' ? { allowed: true, grant } : { allowed: false, reason: verdict },
      open.at,
    );
  }
  return { ...open, ...ledger.seal() };
};

const isTeam = ({ definitions = [] }: Frame): boolean => definitions[0]?.definition.team !== undefined;

/** The same tasks, if they were given, for another goal. */
const teamGoal = ({ contents = [] }: Frame, goal: string): string => {
  const was = contents.find(({ kind }) => kind === 'goal')?.content ?? '{}';
  return JSON.stringify({ ...(JSON.parse(was) as object), goal });
};

const invalid = (detail: string): CloisterError => new CloisterError('fork_invalid', detail);
