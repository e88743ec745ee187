// The first frames of a fork: what it keeps of another run, and what changes after that point.
//
//   fork-keeps-prefix. Up to the named operation, and the settlements of steps that were in flight there. Those steps began
//       before the change, so their results stay.
//   fork-only-removes. An amendment only removes or replaces what the operator named. It never adds a grant.
//   fork-keeps-definitions. As they were recorded; the amendment is a separate record.
import { CloisterError, isSameJson, omitUndefined, unknownKind } from '#base';
import type { CellId, RunId } from '#base';
import { budgetOfRoot } from '#contracts';
import type {
  Agent,
  Amendment,
  AgentDefinition,
  BeginKind,
  Birth,
  Budget,
  ForkOptions,
  Frame,
  RecordOf,
  GrantName,
} from '#contracts';
import { replaceContent } from '#core/crossings';
import { lowerCaps, readRecordedRun } from '#core/cells';
import type { RecordedCell, RecordedRun } from '#core/cells';
import { checkBudget } from './check-agent.ts';
import { findAllowedAgent } from './find-allowed-agent.ts';
import { framesHash } from './frames-hash.ts';
import { rootLimits } from './run-agent.ts';

type BeginFrame = Frame & { readonly record: RecordOf<'begin' | 'post'> };

/** Where a run is cut: before this frame, in a cell of this agent. */
type Cut = { readonly at: string; readonly frame: number; readonly agent: string; readonly child: boolean };

type ForkPorts = {
  readonly run: RunId;
  readonly now: number;
  /** Removes secrets from a goal for this agent. */
  readonly redact: (agent: string, goal: string) => string;
  readonly findAgent: (name: string) => Agent | undefined;
};

/** Throws `fork_invalid` if the position or the change is not possible. */
export const forkFrames = (
  frames: readonly Frame[],
  options: ForkOptions,
  { run, now, redact, findAgent }: ForkPorts,
): readonly Frame[] => {
  const recorded = readRecordedRun(frames);
  const cut = cutAt(recorded, options.at);
  if (recorded.cancelled !== null && recorded.cancelled.no < cut.frame)
    throw invalid('The run was cancelled before that point.');
  checkBudget(options.budget);
  const isRoot = cut.at === recorded.root.birth.cell;
  if (options.budget !== undefined && !isRoot)
    throw invalid(`The budget can only be changed where the run starts: at ${recorded.root.birth.cell}.`);
  const birth = { ...recorded.root.birth, ...limitsOf(frames[0]!, recorded.root.birth, options.budget, findAgent) };
  if (!isWithinBudget(frames[0]!, birth, options.budgetMax))
    throw invalid(
      options.budget === undefined
        ? 'A fork keeps the budget of its run, which is above yours. Fork where the run starts, with another budget.'
        : 'The budget is above yours.',
    );
  const allowed = findAllowedAgent(frames.slice(0, cut.frame));
  if (allowed !== null)
    throw invalid(
      `A person allowed ${allowed.agent} to work for that run, and it was at work there. Fork at ${allowed.cell}, where a person is asked again.`,
    );
  const amendment = withoutSecrets(amendmentOf(recorded, options, cut), redact);
  const kept = [...frames.slice(0, cut.frame), ...settledAfterCut(frames, cut.frame)];
  const from = { run: frames[0]!.run, frames: kept.length, hash: framesHash(kept), at: cut.at, forkedAt: now };
  const asked = isRoot && amendment.goal !== undefined ? withGoal(kept[0]!, amendment.goal) : kept[0]!;
  const prefix = [options.budget === undefined ? asked : withBirth(asked, birth), ...kept.slice(1)];
  // The time of the last kept frame: the time since then counts as downtime.
  const at = kept.reduce((latest, frame) => Math.max(latest, frame.at), 0);
  const fork: Frame = {
    run,
    no: kept.length,
    at,
    cell: recorded.root.birth.cell,
    record: { type: 'fork', from, amendment, ...omitUndefined({ caller: options.caller }) },
  };
  return [...prefix.map((frame, no): Frame => ({ ...frame, run, no })), fork];
};

/** Whether a run's own budget is not above this one in any unit. */
export const isWithinBudget = ({ at }: Frame, { caps, deadline }: Birth, budgetMax: Budget = {}): boolean => {
  const isLater = budgetMax.ms !== undefined && (deadline === 0 || deadline - at > budgetMax.ms);
  return !isLater && isSameJson(lowerCaps(budgetMax, caps), caps);
};

/** Units that the budget does not name stay as they were. */
const limitsOf = (
  open: Frame,
  birth: Birth,
  budget: Budget | undefined,
  findAgent: ForkPorts['findAgent'],
): Partial<Birth> => {
  const agent = findAgent(birth.agent);
  // Without its agent, no fork can start: that is said later.
  if (budget === undefined || agent === undefined) return {};
  const goal = open.contents?.find(({ kind }) => kind === 'goal')?.content ?? null;
  return rootLimits(agent, { ...budgetOfRoot(open.at, birth), ...omitUndefined(budget) }, { at: open.at, goal });
};

const withBirth = (open: Frame, birth: Birth): Frame =>
  open.record.type === 'open' ? { ...open, record: { ...open.record, birth } } : open;

const withoutSecrets = (amendment: Amendment, redact: ForkPorts['redact']): Amendment =>
  amendment.goal === undefined ? amendment : { ...amendment, goal: redact(amendment.agent, amendment.goal) };

const cutAt = (recorded: RecordedRun, at: string): Cut => {
  const slash = at.lastIndexOf('/');
  const cell = recorded.cells.get((slash < 0 ? at : at.slice(0, slash)) as CellId);
  if (cell === undefined)
    throw invalid(`The run has no cell "${at}". Its cells: ${[...recorded.cells.keys()].join(', ')}.`);
  if (slash < 0) return cutAtCellStart(recorded, cell);
  const op = at.slice(slash + 1);
  const beginFrame = /^\d{1,9}$/u.test(op) ? cell.begins.get(Number(op)) : undefined;
  if (beginFrame === undefined) throw invalid(`There is no operation ${op}: ${operationsOf(cell)}.`);
  return cutBefore(cell, firstAttempt(cell, beginFrame));
};

const cutAtCellStart = ({ cells, root }: RecordedRun, cell: RecordedCell): Cut => {
  const { birth } = cell;
  if (cell === root) return { at: birth.cell, frame: 1, agent: birth.agent, child: true };
  const parent = birth.parent === null ? undefined : cells.get(birth.parent);
  const beginFrame = [...(parent?.begins.values() ?? [])].find(
    ({ record }) => recordedBirth(record)?.cell === birth.cell,
  );
  if (parent === undefined || beginFrame === undefined)
    throw invalid(`The log does not show how ${birth.cell} was started.`);
  return cutBefore(parent, beginFrame);
};

const cutBefore = ({ birth }: RecordedCell, { no, record }: BeginFrame): Cut => ({
  at: `${birth.cell}/${record.op}`,
  frame: no,
  agent: recordedBirth(record)?.agent ?? birth.agent,
  child: recordedBirth(record) !== undefined,
});

const recordedBirth = (record: BeginFrame['record']) => (record.type === 'begin' ? record.birth : undefined);

/** A turn is repeated as a whole: none of its earlier attempts is kept. */
const firstAttempt = (cell: RecordedCell, beginFrame: BeginFrame): BeginFrame => {
  const turn = beginFrame.attempt?.turn;
  if (turn === undefined) return beginFrame;
  return [...cell.begins.values()].find(({ attempt }) => attempt?.turn === turn) ?? beginFrame;
};

const operationsOf = ({ birth, begins }: RecordedCell): string => {
  const names = [...begins.values()].slice(0, 40).map(({ record }) => `${record.op} ${record.name}`);
  return names.length === 0
    ? `${birth.cell} has none`
    : `${birth.cell} has ${names.join(', ')}${begins.size > 40 ? ', …' : ''}`;
};

const amendmentOf = (recorded: RecordedRun, options: ForkOptions, { agent, child, at }: Cut): Amendment => {
  const { model, goal, withoutGrants = [] } = options;
  if (goal !== undefined && !child)
    throw invalid(
      `A goal can only be changed where a cell starts: use --at <cell>, or the operation that starts it. ${at} is neither.`,
    );
  if (goal !== undefined && goal.trim() === '') throw invalid('The goal is empty.');
  checkGrants(recorded, agent, withoutGrants);
  if (at === recorded.root.birth.cell && withoutGrants.includes('goal'))
    throw invalid(`The goal of ${at} was set before the fork point. Choose an agent that is called later.`);
  return {
    agent,
    ...(model === undefined ? {} : { model }),
    ...(withoutGrants.length === 0 ? {} : { withoutGrants: [...withoutGrants] }),
    ...(goal === undefined ? {} : { goal }),
  };
};

const checkGrants = ({ cells, frames }: RecordedRun, agent: string, withoutGrants: readonly GrantName[]): void => {
  if (withoutGrants.length === 0) return;
  const digests = new Set(
    [...cells.values()].filter(({ birth }) => birth.agent === agent).map(({ birth }) => birth.digest),
  );
  const definitions = frames.flatMap(({ definitions: known = [] }) =>
    known.flatMap(({ digest, definition }): AgentDefinition[] => (digests.has(digest) ? [definition] : [])),
  );
  const granted = new Set(
    definitions.flatMap(({ grants, share }) => (share === undefined ? grants : [...grants, 'share' as const])),
  );
  const unknown = withoutGrants.find((name) => !granted.has(name));
  if (unknown !== undefined)
    throw invalid(`"${agent}" has no grant "${unknown}"; it has ${[...granted].join(', ') || 'none'}.`);
};

/** Settlements, after the cut, of steps that began before it and ran to their own end. Steps that were stopped are not kept. */
const settledAfterCut = (frames: readonly Frame[], cut: number): readonly Frame[] => {
  const open = new Set<string>();
  for (const { cell, record } of frames.slice(0, cut)) {
    if (record.type === 'begin' && isKeptAfterCut(record.do)) open.add(`${cell}/${record.op}`);
    if (record.type === 'settle') open.delete(`${cell}/${record.op}`);
  }
  return frames.slice(cut).filter(({ cell, record }) => {
    if (record.type !== 'settle' || !open.has(`${cell}/${record.op}`)) return false;
    return record.halted === undefined && (record.ok || !stopCodes.includes(record.failure?.code ?? ''));
  });
};

/** Only a step does its work outside the run. Everything else depends on what other cells do after the cut. */
const isKeptAfterCut = (kind: BeginKind): boolean => {
  switch (kind) {
    case 'step':
      return true;
    case 'child':
    case 'sleep':
    case 'receive':
    // The answer belongs to the run that asked.
    case 'ask':
      return false;
    default:
      return unknownKind(kind, false);
  }
};

const stopCodes = ['cancelled', 'deadline_passed', 'indeterminate', 'store_failed'];

/** The first frame with another goal; everything else that crossed in it stays. */
const withGoal = (open: Frame, goal: string): Frame =>
  replaceContent(open, 'goal', isTeam(open) ? teamGoal(open, goal) : goal);

const isTeam = ({ definitions = [] }: Frame): boolean => definitions[0]?.definition.team !== undefined;

/** Another goal with the same tasks, if the request contained tasks. */
const teamGoal = ({ contents = [] }: Frame, goal: string): string => {
  const previous = contents.find(({ kind }) => kind === 'goal')?.content ?? '{}';
  return JSON.stringify({ ...(JSON.parse(previous) as object), goal });
};

const invalid = (detail: string): CloisterError => new CloisterError('fork_invalid', detail);
