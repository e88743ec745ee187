// A sub-agent as a tool: one call starts one child, one level down.
//
//   T1. The child gets its goal and nothing else from its caller; `reason` goes to the log only.
//   T2. The child's caps and deadline come from definitions: its own and its ancestors'.
import { utf8Bytes } from '#base';
import type { Failure, Json, JsonObject } from '#base';
import type {
  Agent,
  Amounts,
  Budget,
  ChildOperation,
  ChildResultRef,
  Envelope,
  Operation,
  Settlement,
  Source,
} from '#contracts';
import { shownBytesMax } from '#core/cells';
import type { Cell } from '#core/cells';
import { cross, createGrants } from '#core/crossings';
import type { Door } from '#core/crossings';
import { exceedsPreview, outputName } from '#core/rules';
import { failingChain, failingStep, stepAbout } from '#core/session';
import { noteSmallerWindow, shareWith } from './share.ts';
import type { ToolCall, CallEnd, Session, ToolRunner } from '#core/session';
import { agentToolSchema, callOptionNames } from './agent-tool-schema.ts';
import { answerReserve } from './answer-reserve.ts';
import { absentTool, readRestriction, restrictAgent, withinDepth } from './started-agent.ts';
import type { Restriction } from './started-agent.ts';

export const goalBytesMax = 1_000_000;

export const agentTool = (agent: Agent): ToolRunner => ({
  schema: agentToolSchema(agent),
  createChain: (call, args, session) => {
    const request = readCall(agent, args);
    const absent = absentTool(agent, request);
    if (absent !== null) return failingChain(call, session, 'tool_arguments', absent);
    const nth = session.cell.nextOutputNumber(agent.modelToolName);
    const started = restrictAgent(agent, request);
    return {
      begin: [() => beginChild(call, started, request, session)],
      onSettled: (_place, settled, no) => ({ end: childEnd(agent, session, nth, settled, no) }),
    };
  },
});

/** The child sees `goal` only; `reason` is for the log. */
export type ChildGoal = { readonly goal: string; readonly reason: Json | undefined };

/** The goal is the prompt text, or the object that matches the agent's schema. The rest are options of the call. */
const readCall = (agent: Agent, args: JsonObject): ChildGoal & Restriction => {
  const names = callOptionNames(agent);
  const entries = Object.entries(args);
  const { reason, timeout_ms, tools } = Object.fromEntries(entries.filter(([name]) => names.includes(name)));
  const input = Object.fromEntries(entries.filter(([name]) => !names.includes(name)));
  const goal =
    agent.input.format === 'json'
      ? JSON.stringify(/* probe: child-json-goal */ input)
      : typeof args['prompt'] === 'string'
        ? args['prompt']
        : '';
  return { goal, reason, ...readRestriction({ timeout_ms, tools }) };
};

const childEnd = (agent: Agent, session: Session, nth: number, settled: Settlement<unknown>, no: number): CallEnd => {
  const result = readChildResult(session, settled);
  const shownMax = shownBytesMax(session.cell.limits);
  if (result !== null && exceedsPreview(result.envelope.output, shownMax))
    session.cell.storeOutput(outputName(agent.modelToolName, nth, 'txt'), { text: result.envelope.output });
  const of: Source[] = [{ from: 'operation', no }, ...(result === null ? [] : [result.source])];
  return {
    show: { rule: 'child-result@1', of, with: [shownMax, nth] },
    ...(hasAnswered(result?.envelope) ? { present: [agent.toolName] } : { missing: [agent.toolName] }),
  };
};

export type ChildResult = { readonly envelope: Envelope; readonly source: Extract<Source, { from: 'crossing' }> };

/** The result that crossed back; null if the crossing was refused. */
export const readChildResult = ({ cell }: Session, settled: Settlement<unknown>): ChildResult | null => {
  if (!settled.ok) return null;
  const { crossing } = settled.value as ChildResultRef;
  const content = cell.runtime.receivedCrossings.at(crossing)?.content;
  return content === undefined
    ? null
    : { envelope: JSON.parse(content) as Envelope, source: { from: 'crossing', seq: crossing } };
};

/** Only a completed child has answered. Any other is listed as missing, even if it returned some text. */
export const hasAnswered = (envelope: Envelope | undefined): boolean => envelope?.status === 'completed';

/** Crosses the goal and creates the operation that starts the child. A refusal becomes a step that fails. */
export const beginChild = (call: ToolCall, agent: Agent, request: ChildGoal, session: Session): Operation => {
  const { runtime } = session.cell;
  const goal = runtime.amendedGoal(request.goal);
  const refusal = refuseChild(agent, goal, session);
  if (refusal !== null) return refusedStart(call, agent, session, refusal);
  const created = createChild(agent, /* probe: child-goal */ goal, session.cell);
  if ('code' in created) return refusedStart(call, agent, session, created);
  const { child, door } = created;
  const about: JsonObject = {
    ...stepAbout(session, call, 'agent:spawn'),
    ...(typeof request.reason === 'string' ? { reason: request.reason } : {}),
  };
  const share = shareWith(agent, child.cell, session, door);
  noteSmallerWindow(agent, child.cell, session, door);
  const recorded = runtime.liveRun.recorded?.cells.get(child.cell)?.birth;
  const groupTokens = recorded?.groupTokens ?? session.ports.world.groupTokens?.(agent);
  return { ...child, share, groupTokens, about };
};

/** The operator is told which agent was meant, and so the path to it; the model is not. */
const refusedStart = (call: ToolCall, agent: Agent, session: Session, { code, detail }: Failure): Operation => {
  const step = failingStep(call, session, code, detail);
  return { ...step, about: { ...step.about, agent: agent.name } };
};

/** What every child starts with: an id, a goal that crossed, and caps and a deadline from its definition and its ancestors. */
export const createChild = (
  given: Agent,
  goal: string | null,
  cell: Cell,
  spawnsReserved = 0,
): { readonly child: ChildOperation; readonly door: Door } | Failure => {
  const { runtime } = cell;
  const agent = withinDepth(given, cell.agent);
  const id = runtime.newCellId(agent.name, spawnsReserved);
  if (id === null) return { code: 'budget_refused', detail: 'No more agents can be started.' };
  const grants = runtime.liveRun.amendments.grants(
    agent.name,
    createGrants(agent, id, runtime.cellId),
    runtime.nextFrame,
  );
  const door = { grants, ledger: runtime.liveRun.ledger, at: runtime.now };
  // probe: child-goal-crossing
  const passed =
    goal === null ? null : cross({ kind: 'goal', from: runtime.cellId, to: id, content: goal, labels: [] }, door);
  if (passed !== null && 'refused' in passed)
    return { code: 'crossing_refused', detail: `The goal was refused: ${passed.refused}.` };
  const child: ChildOperation = {
    do: 'child',
    cell: id,
    agent,
    goal: passed,
    grants,
    caps: lowerCaps(agent.budget, runtime.account.caps),
    // probe: child-deadline
    deadline: earliestDeadline(agent.budget, cell.deadline, runtime.now),
    ancestry: [...cell.ancestry, agentIdentity(agent)],
  };
  const reserve = agent.team === null ? undefined : answerReserve(agent, true, child.caps);
  return { child: reserve === undefined ? child : { ...child, floor: reserve }, door };
};

/** Two files may define agents with the same name, so a file identifies its agent. An agent defined in code has only its name. */
export const agentIdentity = ({ file, name }: Agent): string => file ?? name;

/** Null if the cell may call agents. Spawning has a limit of its own. */
export const depthFailure = ({ runtime, agent }: Cell): Failure | null =>
  runtime.depth < agent.depth ? null : { code: 'depth_reached', detail: `The limit is ${agent.depth}.` };

const refuseChild = (agent: Agent, goal: string, session: Session): Failure | null => {
  const { cell } = session;
  if (goal.trim() === '') return { code: 'goal_empty' };
  if (utf8Bytes(goal) > goalBytesMax) return { code: 'goal_too_large', detail: `The limit is ${goalBytesMax} bytes.` };
  const depthProblem = depthFailure(cell);
  if (depthProblem !== null) return depthProblem;
  // Without the path: this cell must not learn the names of its ancestors.
  if (cell.ancestry.includes(agentIdentity(agent))) return { code: 'cycle_refused' };
  // Checked again without `reason`: the tool accepts more than the agent does.
  const problems = inputProblems(agent, goal, session);
  return problems.length === 0 ? null : { code: 'tool_arguments', detail: `${problems.slice(0, 5).join('; ')}.` };
};

/** Checks a goal against the agent's input schema. */
export const inputProblems = (
  { input }: Agent,
  goal: string,
  { ports: { world }, checkSteps }: Pick<Session, 'checkSteps'> & { readonly ports: Pick<Session['ports'], 'world'> },
): readonly string[] => {
  if (input.format === 'text' || input.schema === undefined) return [];
  try {
    // probe: child-json-goal-check
    return world.validate(input.schema, JSON.parse(goal) as Json, checkSteps);
  } catch {
    return ["the agent's input schema is invalid"];
  }
};

/** The lower of the agent's own caps and its parent's. */
export const lowerCaps = (budget: Budget, parent: Amounts): Amounts => ({
  ...lowerCap('tokens', budget.tokens, parent.tokens),
  ...lowerCap('nanoUsd', budget.usd === undefined ? undefined : Math.round(budget.usd * 1e9), parent.nanoUsd),
  ...lowerCap('spawns', budget.spawns, parent.spawns),
  ...lowerCap('bytes', budget.memory, parent.bytes),
});

/** Infinity means no cap and cannot be recorded, so it is left out. */
const lowerCap = (key: keyof Amounts, own = Infinity, parent = Infinity): Amounts => {
  const least = Math.min(own, parent);
  return least === Infinity ? {} : { [key]: least };
};

export const earliestDeadline = (budget: Budget, parent: number, now: number): number => {
  const own = budget.ms === undefined ? Infinity : Math.max(1, now + budget.ms);
  const least = Math.min(own, parent === 0 ? Infinity : parent);
  return least === Infinity ? 0 : least;
};
