// Checks limits from the log: whether the limit that an outcome names can have ended its cell.
import { limitBehind } from '#base';
import type { ErrorCode, Failure, LimitName } from '#base';
import type { Frame, Outcome } from '#contracts';
import { resolveLimits } from '#core/registry';
import type { CellLimits } from '#core/registry';
import { problemLocation } from './problems.ts';
import type { AuditProblems } from './problems.ts';
import { replyParts } from './records.ts';
import type { CellRecords, OperationRecord, RunRecords } from './records.ts';

export const verifyLimits =
  (records: RunRecords, problems: AuditProblems) =>
  (frame: Frame): void => {
    const { record } = frame;
    const ended =
      record.type === 'close'
        ? { cell: frame.cell, outcome: record.outcome }
        : record.type === 'settle' && record.ended;
    if (!ended) return;
    const cell = records.cells.get(ended.cell);
    const definition = cell && records.definitions.get(cell.birth.digest);
    // A team fails as one of its cells did.
    if (cell === undefined || definition === undefined || definition.team !== undefined) return;
    const fault = limitFault(ended.outcome, cell, resolveLimits(definition, cell.birth.parent === null));
    if (fault !== null) problems.add('outcome-limit', problemLocation(frame, ended.cell), fault);
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
  timeout_ms: (cell, limits) => sumOf(cell, ({ settle }) => settle?.ms ?? 0) >= limits.timeout_ms,
  mailTimeout: (cell, limits) => sumOf(cell, waitedMs) >= limits.mailTimeout,
  maxToolTurns: (cell, limits) =>
    [...cell.operations.values()].some(({ attempt }) => (attempt?.turn ?? 0) > limits.maxToolTurns),
  llmTimeout: (cell) => [...cell.operations.values()].some(({ settle }) => settle?.failure?.code === 'model_timeout'),
  contextTokensMax: (_cell, limits) => limits.contextTokensMax > 0,
  maxHops: (cell) => cell.birth.spawned !== undefined || cell.own.steps > 0,
  answersPerMinute: (cell) => cell.birth.spawned !== undefined || cell.own.steps > 0,
  // Those of a caller may have been used up, and a caller's timeout ends its children too. Accounts are checked by themselves.
  budget: () => true,
  deadline: () => true,
};

const sumOf = ({ operations }: CellRecords, ms: (operation: OperationRecord) => number): number =>
  [...operations.values()].reduce((sum, operation) => sum + ms(operation), 0);

const waitedMs = ({ begin, beganAt, settle, settledAt }: OperationRecord): number =>
  begin.do === 'receive' && settle !== undefined ? settledAt - beganAt : 0;

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
