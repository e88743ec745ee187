// Checks limits from the log: whether a spawned cell has no more than its parent may pass on, and whether the limit that an
// outcome names can have ended its cell.
import { limitBehind } from '#base';
import type { ErrorCode, Failure, Hash, LimitName } from '#base';
import type { Birth, Frame, Limits, Outcome } from '#contracts';
import { lowerLimits, resolveLimits, spawnCapsDefault } from '#core/registry';
import type { CellLimits } from '#core/registry';
import { problemLocation } from './problems.ts';
import type { AuditProblems } from './problems.ts';
import { endedCell, replyParts } from './records.ts';
import type { CellRecords, OperationRecord, RunRecords } from './records.ts';

const depthDefault = spawnCapsDefault.depth;

export const verifyLimits =
  (records: RunRecords, problems: AuditProblems) =>
  (frame: Frame): void => {
    const { record } = frame;
    if (record.type === 'begin' && record.birth !== undefined) verifyBirth(frame, record.birth, { records, problems });
    const ended = endedCell(frame);
    if (ended === undefined) return;
    const cell = records.cells.get(ended.cell);
    const definition = cell && records.definitions.get(cell.birth.digest);
    // A team fails as one of its cells did.
    if (cell === undefined || definition === undefined || definition.team !== undefined) return;
    const fault = limitFault(ended.outcome, cell, resolveLimits(definition.limits, cell.birth.parent === null));
    if (fault !== null) problems.add('outcome-limit', problemLocation(frame, ended.cell), fault);
  };

type CheckContext = { readonly records: RunRecords; readonly problems: AuditProblems };

const verifyBirth = (frame: Frame, birth: Birth, { records, problems }: CheckContext): void => {
  const parent = records.definitions.get(records.cells.get(frame.cell)?.birth.digest ?? ('' as Hash));
  const child = records.definitions.get(birth.digest);
  if (parent === undefined || child === undefined) return;
  const where = problemLocation(frame, birth.cell);
  if ((child.depth ?? depthDefault) > (parent.depth ?? depthDefault))
    problems.add('limit-widened', where, "it may start agents at deeper levels than its parent's");
  if (birth.spawned === undefined) return;
  const most = parent.inheritable ?? parent.limits;
  const lowered = lowerLimits(child.limits, most);
  const wider = (Object.keys(lowered) as (keyof Limits)[]).filter((key) => lowered[key] !== child.limits[key]);
  if (wider.length > 0)
    problems.add('limit-widened', where, `it has more ${wider.join(', ')} than its parent may pass on`);
};

/** Codes of failures that name their limit themselves, because there are several. */
const namingCodes: readonly ErrorCode[] = ['agent_limit', 'mail_loop', 'window_full'];

const limitFault = ({ failure }: Outcome, cell: CellRecords, limits: CellLimits): string | null => {
  if (failure === null) return null;
  if (failure.limit !== undefined && !namingCodes.includes(failure.code)) return `${failure.code} names no limit`;
  const limit = limitBehind(failure);
  if (limit === undefined) return needsName(failure) ? 'its failure does not say which limit was exceeded' : null;
  return Object.hasOwn(isPossible, limit) && isPossible[limit](cell, limits)
    ? null
    : `its limit ${limit} was not reached`;
};

const needsName = ({ code }: Failure): boolean => code === 'agent_limit' || code === 'mail_loop';

/** Necessary conditions. For a resident, which starts counting with each piece of work, its whole life is counted. */
const isPossible: Readonly<Record<LimitName, (cell: CellRecords, limits: CellLimits) => boolean>> = {
  max_steps: (cell, limits) => cell.own.steps + requestedSteps(cell.lastReply) > limits.max_steps,
  max_output_files: ({ lastReply }, limits) => limits.max_output_files < Infinity && requestedSteps(lastReply) > 0,
  max_output_size_bytes: ({ lastReply }, limits) =>
    limits.max_output_size_bytes < Infinity && requestedSteps(lastReply) > 0,
  timeout_ms: ({ sums }, limits) => sums.workedMs >= limits.timeout_ms,
  mailTimeout: ({ sums }, limits) => sums.waitedMs >= limits.mailTimeout,
  maxToolTurns: ({ sums }, limits) => sums.newestTurn > limits.maxToolTurns,
  llmTimeout: ({ sums }) => sums.modelTimedOut,
  contextTokensMax: (_cell, limits) => limits.contextTokensMax > 0,
  maxHops: (cell) => cell.birth.spawned !== undefined || cell.own.steps > 0,
  answersPerMinute: (cell) => cell.birth.spawned !== undefined || cell.own.steps > 0,
  // Those of a caller may have been used up, and a caller's timeout ends its children too. Another check covers accounts.
  budget: () => true,
  deadline: () => true,
};

/** How many steps a reply asks for: each task of `gather` is one. */
const requestedSteps = (reply: OperationRecord | undefined): number =>
  (reply === undefined ? [] : replyParts(reply)).reduce((sum, part) => {
    if (part.type !== 'call') return sum;
    return sum + (part.name === 'gather' ? gatheredTasks(part.input) : 1);
  }, 0);

const gatheredTasks = (input: string): number => {
  try {
    const { tasks } = JSON.parse(input) as { readonly tasks?: unknown };
    return Array.isArray(tasks) ? tasks.length : 1;
  } catch {
    return 1;
  }
};
