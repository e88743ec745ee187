// Runs the tool calls of one turn: chains of operations, a limited number in parallel. Results are in the order of the calls.
import type { Failure, Json, JsonObject } from '#base';
import type { Operation, PendingOperation, Source } from '#contracts';
import { isMadeBy } from '#core/rules';
import type { TurnReply } from './ask-model.ts';
import { failingChain } from './tool-call-chain.ts';
import type { LazyOperation, ToolCall, CallEnd, ToolCallChain, ChainStep, Session, ToolRunner } from './state.ts';
import { limitFailure } from './limits.ts';
import { withIndeterminatePolicy } from './indeterminate-calls.ts';

/** For all calls of one turn. Each check has a lower limit of its own. */
const turnStepsMax = 1_000_000;

type OpenChain = { readonly index: number; readonly chain: ToolCallChain; readonly pending: PendingOperation[] };

/** Null when every call has its result in the window; otherwise the failure that ends the session. */
export const callTools = async (session: Session, turnReply: TurnReply): Promise<Failure | null> => {
  const { cell } = session;
  const { calls, no, reply, cut } = turnReply;
  // The arguments of the last call may be incomplete, and still be JSON: packages send `{}` for arguments that never came.
  const cutCall = cut !== null && reply.parts.at(-1)?.type === 'call' ? calls.length - 1 : -1;
  const ends: CallEnd[] = [];
  const open = new Map<PendingOperation, readonly OpenChain[]>();
  let next = 0;
  let running = 0;
  let stop: Failure | null = null;
  session.checkSteps = { left: turnStepsMax };

  const begin = (chain: OpenChain, operations: readonly LazyOperation[]): void => {
    for (const lazy of operations) {
      const pending = beginOperation(session, lazy);
      // The call does not wait for a spawned agent: its end arrives as mail.
      if (pending === null || isSpawned(pending.operation)) continue;
      join(chain, [pending]);
    }
  };

  /** Several chains can wait for the same operation. */
  const join = (chain: OpenChain, joined: readonly PendingOperation[]): void => {
    for (const pending of joined) {
      chain.pending.push(pending);
      // probe: call-join
      open.set(pending, [...(open.get(pending) ?? []), chain]);
    }
  };

  const apply = (chain: OpenChain, step: ChainStep): void => {
    if (step.instead !== undefined)
      return apply({ index: chain.index, chain: step.instead, pending: [] }, step.instead);
    if (step.begin !== undefined) begin(chain, step.begin);
    if (step.join !== undefined) join(chain, step.join);
    if (step.stop !== undefined) stop = step.stop;
    const { reason, places } = step.cancel ?? {};
    if (step.cancel !== undefined)
      for (const [place, pending] of chain.pending.entries())
        if (pending.settled === undefined && (places?.includes(place) ?? true)) cell.runtime.cancel(pending, reason);
    if (step.end === undefined) return;
    ends[chain.index] = step.end;
    running--;
  };

  for (;;) {
    while (stop === null && next < calls.length && running < cell.limits.parallelToolCalls) {
      const started = startCall(session, calls[next]!, { index: next, isCut: next === cutCall });
      if ('stop' in started) stop = started.stop;
      else apply({ index: next, chain: started, pending: [] }, started);
      next++;
      running++;
    }
    if (stop !== null) for (const pending of open.keys()) cell.runtime.cancel(pending);
    if (open.size === 0) break;

    const pending = await cell.runtime.first([...open.keys()]);
    const chains = open.get(pending)!;
    open.delete(pending);
    const settled = pending.settled! as NonNullable<PendingOperation['settled']>;
    cell.record(pending.no, settled);
    session.workClock.add(settled);
    if (!settled.ok && endsRun(settled.failure)) stop = settled.failure;
    for (const chain of chains)
      if (stop === null) apply(chain, chain.chain.onSettled(chain.pending.indexOf(pending), settled, pending.no));
    stop ??= session.workClock.limitReached();
  }
  if (stop !== null) return stop;

  let nth = 0;
  for (const [part, { type }] of reply.parts.entries())
    if (type === 'call') show(session, { from: 'reply', no, part }, ends[nth++]!);
  showEdited(session, turnReply, ends);
  return null;
};

/** Null if there is nothing to begin. */
const beginOperation = ({ cell: { runtime } }: Session, lazy: LazyOperation): PendingOperation | null => {
  const operation = typeof lazy === 'function' ? lazy() : lazy;
  if (operation === null) return null;
  if (!('child' in operation)) return runtime.begin(operation);
  const begun = runtime.beginChild(operation.child);
  if ('code' in begun) {
    const instead = operation.refused(begun);
    return instead === null ? null : runtime.begin(instead);
  }
  operation.begun?.(begun.operation);
  return begun;
};

const isSpawned = (operation: Operation): boolean => operation.do === 'child' && operation.spawned !== undefined;

/** Failures after which the run itself cannot continue. */
const endsRun = ({ code }: Failure): boolean => code === 'store_failed' || code === 'replay_differs';

type CallPosition = { readonly index: number; readonly isCut: boolean };

const startCall = (
  session: Session,
  call: ToolCall,
  { index, isCut }: CallPosition,
): ToolCallChain | { readonly stop: Failure } => {
  const { cell, tools } = session;
  if (cell.steps - session.stepsAtWake >= cell.limits.max_steps) return { stop: limitFailure('max_steps') };
  if (index >= cell.limits.maxToolCallsPerTurn) return failingChain(call, session, 'tool_calls_many');
  if (isCut) return failingChain(call, session, 'tool_call_cut');
  const runner = tools.get(call.name);
  if (runner === undefined)
    return failingChain(
      call,
      session,
      'tool_unknown',
      `"${call.name.slice(0, 80)}" is not one of: ${[...tools.keys()].join(', ')}.`,
    );
  const args = parseArgs(call.input);
  if (args === null) return failingChain(call, session, 'tool_arguments', 'Expected a single JSON object.');
  const problems = argumentProblems(session, runner, args);
  if (problems.length > 0) return failingChain(call, session, 'tool_arguments', `${problems.slice(0, 5).join('; ')}.`);
  const chain = runner.createChain(call, args, session);
  return 'stop' in chain ? chain : withIndeterminatePolicy(chain, { runner, call, args, session });
};

/** Some schemas turn out to be unusable only when a value is validated. Then the call fails, not the session. */
const argumentProblems = ({ ports, checkSteps }: Session, runner: ToolRunner, args: JsonObject): readonly string[] => {
  try {
    return ports.world.validate(runner.schema.inputSchema, args, checkSteps);
  } catch {
    return ['the tool’s input schema is invalid'];
  }
};

const parseArgs = (input: string): JsonObject | null => {
  try {
    const value = JSON.parse(input === '' ? '{}' : input) as Json;
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as JsonObject) : null;
  } catch {
    return null;
  }
};

/** After the results, which must follow the calls. */
const showEdited = (session: Session, { reply, no }: TurnReply, ends: readonly CallEnd[]): void => {
  const calls = reply.parts.flatMap(({ type }, part) => (type === 'call' ? [part] : []));
  for (const [nth, { edited }] of ends.entries())
    if (edited !== undefined)
      session.window.add({ rule: 'edited@1', of: [{ from: 'reply', no, part: calls[nth]! }, edited] }, 'DIALOG');
};

const show = (
  session: Session,
  call: Source,
  { show: { rule, of, with: numbers }, missing, present }: CallEnd,
): void => {
  if (missing !== undefined || present !== undefined)
    session.missing = [...new Set([...session.missing, ...(missing ?? [])])].filter(
      (name) => present?.includes(name) !== true,
    );
  session.window.add({ rule, of: [call, ...of], ...(numbers && { with: numbers }) }, 'TOOLS');
  if (!isMadeBy(rule, 'received')) return;
  for (const source of of)
    if (source.from === 'crossing' && !session.deferred.some(({ seq }) => seq === source.seq))
      session.cell.runtime.received.forgetMail(source.seq);
};
