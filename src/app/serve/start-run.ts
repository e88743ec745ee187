// Starts a request as a run, as a turn of one of the caller's conversations, or as a resident.
import { CloisterError, omitUndefined } from '#base';
import { callerConversationName } from '#contracts';
import type {
  AgentRequest,
  Budget,
  Caller,
  CallerRun,
  Cloister,
  ForkRequest,
  RequestedRunOptions,
  RunSession,
  RunStarter,
  ServedRun,
  TokenEntry,
  ToolDefinition,
} from '#contracts';

export type StartOptions = {
  /** Of a request that may come twice. */
  readonly only?: { readonly run: string; readonly requestHash?: string | undefined };
  readonly caller: string;
  readonly budget?: Budget;
  readonly tools?: readonly ToolDefinition[];
};

/** How a run is started, unless it is simply new. */
export type StartKind = {
  /** `budget`: what the caller may have of what it asked for. */
  readonly resume?: (cloister: Cloister, budget: Budget) => Promise<RunSession>;
  readonly only?: NonNullable<StartOptions['only']>;
  /** The signal removes it from the queue, but does not cancel the run. */
  readonly detached?: boolean;
};

/** Waits for a slot, then starts the run. */
export type StartRun = (
  caller: Caller,
  request: AgentRequest,
  signal: AbortSignal | undefined,
  kind: StartKind,
) => Promise<ServedRun>;

/** A request as its run is started, here or elsewhere. */
type PlannedRun = {
  readonly kind: 'run' | 'turn' | 'resident';
  readonly agent: string;
  readonly input: AgentRequest['input'];
  readonly options: StartOptions & Omit<RequestedRunOptions, keyof StartOptions>;
};

/** Throws if the request is invalid. */
export const plannedRun = (
  caller: Caller,
  { agent, input, context, system, history, attachments, conversation, resident, format, schema }: AgentRequest,
  options: StartOptions,
): PlannedRun => {
  const given = { ...options, ...omitUndefined({ context, /* probe: served-system */ system, attachments }) };
  const turn = conversation === undefined ? {} : { conversation: callerConversationName(caller.name, conversation) };
  if (history !== undefined && history.length > 0 && conversation !== undefined)
    throw new CloisterError(
      'request_invalid',
      'history: cannot be combined with `conversation`, which has its own history.',
    );
  const form = omitUndefined({ format, schema });
  const before = omitUndefined({ history });
  if (resident === true) {
    if (Object.keys(form).length > 0)
      throw new CloisterError(
        'request_invalid',
        'format: not allowed for a long-lived agent; omit `format` and `schema`.',
      );
    return { kind: 'resident', agent, input, options: { ...given, ...turn, ...before } };
  }
  if (conversation !== undefined) return { kind: 'turn', agent, input, options: { ...given, ...form, ...turn } };
  return { kind: 'run', agent, input, options: { ...given, ...form, ...before } };
};

/** Throws or rejects if the request is invalid. */
export const startServedRun = (
  runs: RunStarter,
  caller: Caller,
  request: AgentRequest,
  given: StartOptions,
): RunSession | Promise<RunSession> => {
  const { kind, agent, input, options } = plannedRun(caller, request, given);
  switch (kind) {
    case 'resident':
      return runs.spawn(agent, { ...options, message: input });
    case 'turn':
      return runs.runTurn(agent, input, options);
    case 'run':
      return runs.run(agent, input, options);
    default:
      return kind satisfies never;
  }
};

type PlannedStart = Required<Pick<StartKind, 'resume'>> & { readonly request: AgentRequest };

/** A run that is not long-lived needs no place among the residents, but that shows only when it continues. */
export const continuedRequest = (
  { summary: { agent, goal } }: Pick<CallerRun, 'summary'>,
  input = goal,
): AgentRequest => ({
  agent,
  input,
  resident: true,
});

/** Throws if the run has ended, or is running, here or in another process. */
export const planResume = (found: CallerRun): PlannedStart => {
  const { summary, session } = found;
  const { run, state } = summary;
  if (state === 'ended') throw new CloisterError('run_ended', `${run}.`);
  if (session !== null || state === 'running') throw new CloisterError('run_owned', `Run ${run} is running.`);
  return { request: continuedRequest(found), resume: (runs) => runs.resume(run) };
};

/**
 * Throws `fork_invalid` for another goal anywhere but at the start of the run, except for operators: a caller may speak to the agent that
 * it may use, and not to those below it.
 */
export const planFork = async (
  found: CallerRun,
  { at, goal, budget, model, withoutGrants }: ForkRequest,
  { name: caller, budget: budgetMax = {}, operator: isOperator = false }: TokenEntry,
): Promise<PlannedStart> => {
  if (goal !== undefined && !isOperator) {
    const root = (await found.report()).cells.find(({ parent }) => parent === null)?.cell;
    if (at !== root)
      throw new CloisterError(
        'fork_invalid',
        `goal: can only be changed where the run starts: at ${root ?? 'its first cell'}.`,
      );
  }
  const fork = { at, ...omitUndefined({ goal, model, withoutGrants }), budgetMax, caller };
  return {
    request: { ...continuedRequest(found, isOperator ? undefined : goal), ...omitUndefined({ budget }) },
    resume: (runs, most) =>
      runs.fork(found.summary.run, budget === undefined ? fork : { ...fork, budget: namedIn(budget, most) }),
  };
};

/** Of these amounts, those that the budget names. */
const namedIn = (budget: Budget, amounts: Budget): Budget =>
  Object.fromEntries(Object.entries(amounts).filter(([name]) => budget[name as keyof Budget] !== undefined));

/** Models and grants are the operator's. Throws `request_unsupported`. */
export const checkMayFork = ({ operator }: Caller, fork: ForkRequest): void => {
  const changed = (['model', 'withoutGrants'] as const).find((field) => fork[field] !== undefined);
  if (changed === undefined || operator === true) return;
  throw new CloisterError('request_unsupported', `${changed}: only operators change models and grants of a fork.`);
};

/**
 * Another version of a turn: a run that keeps the first record of the run, with its goal, its history and its budget, and goes on from
 * there in its place.
 */
export const retryTurn =
  ({ summary: { run, caller: owner } }: Pick<CallerRun, 'summary'>, budgetMax: Budget): StartKind['resume'] & {} =>
  async ({ checkpoints }) => {
    const { id } = await checkpoints.create(run, { atStart: true, label: 'Tried again from here' });
    try {
      const session = await checkpoints.restore(id, { ...(owner === null ? {} : { caller: owner }), budgetMax });
      if (session === null) throw new CloisterError('defect', 'The run did not start again.');
      return session;
    } finally {
      // Also if it was refused: the checkpoint is there, and the next try takes another one.
      await checkpoints.applyRetention();
    }
  };

// The budget of a request: what it asks for, but no more than its token allows.
/** Takes the smaller value of each field. Throws `budget_invalid`. */
export const budgetWithin = (requested: Budget = {}, most: Budget = {}): Budget => {
  const budget: Record<string, number> = { ...most };
  for (const [name, value] of Object.entries(requested) as [keyof Budget, number | undefined][]) {
    if (value === undefined) continue;
    // Checked before anything is reserved: a negative amount would add to the allowance.
    if (!(value >= 0)) throw new CloisterError('budget_invalid', `budget.${name}: expected a number ≥ 0.`);
    budget[name] = Math.min(value, most[name] ?? Infinity);
  }
  return budget;
};
