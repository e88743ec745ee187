// A sub-agent as a tool: one call begins one child, one level down.
//
//   T1. The child is given its goal and nothing else of the caller; `reason` goes to the log only.
//   T2. Its caps and deadline come from definitions: its own and its ancestors'.
import { isObject, utf8Bytes } from '#base';
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
  ToolSchema,
  Validate,
} from '#contracts';
import { shownBytesMax } from '#core/cells';
import type { Cell } from '#core/cells';
import { cross, grantsOf } from '#core/crossings';
import type { Door } from '#core/crossings';
import { exceedsPreview, outputName } from '#core/rules';
import { failingStep, stepAbout } from '#core/session';
import { noteSmallerWindow, shareWith } from './share.ts';
import type { ToolCall, CallEnd, Session, ToolRunner } from '#core/session';
import { refersToRoot } from './embed-schema.ts';
import { answerReserve } from './answer-reserve.ts';

export const depthMax = 3;
export const goalBytesMax = 1_000_000;

export const agentToolSchema = (agent: Agent): ToolSchema => ({
  name: agent.toolName,
  description: agent.description,
  inputSchema: agent.input.format === 'json' ? jsonInputSchema(agent.input.schema ?? {}) : textInputSchema,
});

const reason = { type: 'string', description: 'Why you ask, for the log; the agent does not see it.' };

const textInputSchema: JsonObject = {
  type: 'object',
  properties: { prompt: { type: 'string', description: 'The whole task: the agent sees nothing else.' }, reason },
  required: ['prompt'],
  additionalProperties: false,
};

/** The agent's own schema, and a reason where there is room for one. */
const jsonInputSchema = (schema: JsonObject): JsonObject => ({
  ...schema,
  type: 'object',
  ...(hasRoom(schema) ? { properties: { reason, ...(schema['properties'] as JsonObject | undefined) } } : {}),
});

/** Whether `reason`, if it is sent, is part of what the agent itself is asked. */
export const ownsReason = ({ input }: Agent): boolean => input.format === 'json' && !hasRoom(input.schema ?? {});

/** Whether a property more changes nothing else: the word is free, and nothing but `properties` judges the object. */
const hasRoom = (schema: JsonObject): boolean => {
  const { properties = {}, required = [] } = schema;
  const isFree = isObject(properties) && !Object.hasOwn(properties, 'reason');
  const isAsked = Array.isArray(required) && required.includes('reason');
  return isFree && !isAsked && !judges.some((key) => schema[key] !== undefined) && !refersToRoot(schema);
};

const judges = (
  '$ref $recursiveRef $dynamicRef allOf anyOf oneOf not if const enum patternProperties propertyNames ' +
  'unevaluatedProperties maxProperties dependentRequired dependentSchemas dependencies'
).split(' ');

export const agentTool = (agent: Agent): ToolRunner => ({
  schema: agentToolSchema(agent),
  chain: (call, args, session) => {
    const nth = session.cell.nextOutput(agent.toolName);
    return {
      begin: [() => beginChild(call, agent, askedBy(agent, args), session)],
      after: (_place, settled, no) => ({ end: childEnd(agent, session, nth, settled, no) }),
    };
  },
});

/** What the child is asked, and why: only the first is for the child. */
export type ChildGoal = { readonly goal: string; readonly reason: Json | undefined };

/** The words, or the object that fits the agent's schema. */
const askedBy = (agent: Agent, args: JsonObject): ChildGoal => {
  const { reason: why, ...input } = args;
  if (agent.input.format === 'text')
    return { goal: typeof args['prompt'] === 'string' ? args['prompt'] : '', reason: why };
  if (ownsReason(agent)) return { goal: JSON.stringify(args), reason: undefined };
  return { goal: JSON.stringify(/* probe: child-json-goal */ input), reason: why };
};

const childEnd = (agent: Agent, session: Session, nth: number, settled: Settlement<unknown>, no: number): CallEnd => {
  const result = readChildResult(session, settled);
  const shownMax = shownBytesMax(session.cell.limits);
  if (result !== null && exceedsPreview(result.envelope.output, shownMax))
    session.cell.keepOutput(outputName(agent.toolName, nth, 'txt'), { text: result.envelope.output });
  const of: Source[] = [{ from: 'operation', no }, ...(result === null ? [] : [result.source])];
  return {
    show: { rule: 'child-result@1', of, with: [shownMax, nth] },
    ...(hasAnswered(result?.envelope) ? { present: [agent.toolName] } : { missing: [agent.toolName] }),
  };
};

export type ChildResult = { readonly envelope: Envelope; readonly source: Extract<Source, { from: 'crossing' }> };

/** What crossed back, or null when it was refused. */
export const readChildResult = ({ cell }: Session, settled: Settlement<unknown>): ChildResult | null => {
  if (!settled.ok) return null;
  const { crossing } = settled.value as ChildResultRef;
  const content = cell.runtime.arrivals.at(crossing)?.content;
  return content === undefined
    ? null
    : { envelope: JSON.parse(content) as Envelope, source: { from: 'crossing', seq: crossing } };
};

/** Only a child that completed has answered; any other is named, if it said something or not. */
export const hasAnswered = (envelope: Envelope | undefined): boolean => envelope?.status === 'completed';

/** Crosses the goal and makes the operation that begins the child; a refusal becomes a step that fails. */
export const beginChild = (call: ToolCall, agent: Agent, asked: ChildGoal, session: Session): Operation => {
  const { runtime } = session.cell;
  const goal = runtime.goalOr(asked.goal);
  const refusal = refuseChild(agent, goal, session);
  if (refusal !== null) return failingStep(call, session, refusal.code, refusal.detail);
  const born = createChild(agent, /* probe: child-goal */ goal, session.cell);
  if ('code' in born) return failingStep(call, session, born.code, born.detail);
  const { child, door } = born;
  const about: JsonObject = {
    ...stepAbout(session, call, 'agent:spawn'),
    ...(typeof asked.reason === 'string' ? { reason: asked.reason } : {}),
  };
  const share = shareWith(agent, child.cell, session, door);
  noteSmallerWindow(agent, child.cell, session, door);
  const recorded = runtime.liveRun.recorded?.cells.get(child.cell)?.birth;
  const groupTokens = recorded?.groupTokens ?? session.ports.world.groupTokens?.(agent);
  return { ...child, share, groupTokens, about };
};

/** What every child begins with: an id, a goal that crossed, and the caps and deadline of its definition and its ancestors. */
export const createChild = (
  agent: Agent,
  goal: string | null,
  cell: Cell,
  keep = 0,
): { readonly child: ChildOperation; readonly door: Door } | Failure => {
  const { runtime } = cell;
  const id = runtime.newCellId(agent.name, keep);
  if (id === null) return { code: 'budget_refused', detail: 'No more agents may be started.' };
  const grants = runtime.liveRun.amendments.grants(agent.name, grantsOf(agent, id, runtime.cellId), runtime.nextFrame);
  const door = { grants, ledger: runtime.liveRun.ledger, at: runtime.now };
  // probe: child-goal-crossing
  const passed =
    goal === null ? null : cross({ kind: 'goal', from: runtime.cellId, to: id, content: goal, labels: [] }, door);
  if (passed !== null && 'refused' in passed)
    return { code: 'crossing_refused', detail: `The goal was not handed over: ${passed.refused}.` };
  const child: ChildOperation = {
    do: 'child',
    cell: id,
    agent,
    goal: passed?.crossed ?? null,
    grants,
    caps: capsOf(agent.budget, runtime.account.caps),
    // probe: child-deadline
    deadline: deadlineOf(agent.budget, cell.deadline, runtime.now),
    ancestry: [...cell.ancestry, identityOf(agent)],
  };
  const floor = agent.team === null ? undefined : answerReserve(agent, true, child.caps);
  return { child: floor === undefined ? child : { ...child, floor }, door };
};

/** Two files may hold agents of one name; an agent in code is its name. */
export const identityOf = ({ file, name }: Agent): string => file ?? name;

const refuseChild = (agent: Agent, goal: string, { cell, ports }: Session): Failure | null => {
  if (goal.trim() === '') return { code: 'goal_empty' };
  if (utf8Bytes(goal) > goalBytesMax) return { code: 'goal_too_large', detail: `It may have ${goalBytesMax} bytes.` };
  if (cell.runtime.depth >= depthMax) return { code: 'depth_reached', detail: `The limit is ${depthMax}.` };
  // Without the path: the names above are not this cell's to know.
  if (cell.ancestry.includes(identityOf(agent))) return { code: 'cycle_refused' };
  // Again, without the reason: what the tool takes is more than what the agent takes.
  const problems = problemsOf(agent, goal, ports.world.validate);
  return problems.length === 0 ? null : { code: 'tool_arguments', detail: `${problems.slice(0, 5).join('; ')}.` };
};

/** What is wrong with what an agent is asked, by its own schema. */
export const problemsOf = ({ input }: Agent, goal: string, validate: Validate): readonly string[] => {
  if (input.format === 'text' || input.schema === undefined) return [];
  try {
    // probe: child-json-goal-check
    return validate(input.schema, JSON.parse(goal) as Json);
  } catch {
    return ['the agent’s input schema cannot be used'];
  }
};

/** The lower of the agent's own caps and its parent's. */
export const capsOf = (budget: Budget, parent: Amounts): Amounts => ({
  ...lower('tokens', budget.tokens, parent.tokens),
  ...lower('nanoUsd', budget.usd === undefined ? undefined : Math.round(budget.usd * 1e9), parent.nanoUsd),
  ...lower('spawns', budget.spawns, parent.spawns),
  ...lower('bytes', budget.memory, parent.bytes),
});

/** Infinity is no cap, and could not be written down. */
const lower = (key: keyof Amounts, one = Infinity, other = Infinity): Amounts => {
  const least = Math.min(one, other);
  return least === Infinity ? {} : { [key]: least };
};

export const deadlineOf = (budget: Budget, parent: number, now: number): number => {
  const own = budget.ms === undefined ? Infinity : Math.max(1, now + budget.ms);
  const least = Math.min(own, parent === 0 ? Infinity : parent);
  return least === Infinity ? 0 : least;
};
