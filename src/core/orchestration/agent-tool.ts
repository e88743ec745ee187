// A sub-agent as a tool: one call starts one child, one level down.
//
//   The child gets its goal and what its definition asks for, and nothing else from its caller; `reason` goes to the log only.
import { utf8Bytes } from '#base';
import type { Failure, Json, JsonObject } from '#base';
import { decodeEnvelope } from '#contracts';
import type { Agent, ChildRequest, ChildResultRef, Envelope, OwnOperation, Settlement, Source } from '#contracts';
import { agentIdentity } from '#core/cells';
import type { Cell } from '#core/memory';
import { exceedsPreview, outputName } from '#core/rules';
import { callAbout, failingChain, failingStep } from '#core/session';
import type { CallEnd, ChildStart, Session, ToolCall, ToolRunner } from '#core/session';
import { givenAtStart } from './share.ts';
import { agentToolSchema, callOptionNames } from './agent-tool-schema.ts';
import { absentTool, readRestriction, restrictAgent, withinDepth } from './started-agent.ts';
import type { Restriction } from './started-agent.ts';

export const goalBytesMax = 1_000_000;

export const agentTool = (agent: Agent): ToolRunner => ({
  schema: agentToolSchema(agent),
  createChain: (call, args, session) => {
    const request = readCall(agent, args);
    const absent = absentTool(agent, request);
    if (absent !== null) return failingChain(call, session, 'tool_arguments', absent);
    const nth = session.cell.nextOutputNumber(agent.signature.modelToolName);
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
    agent.signature.input.format === 'json'
      ? JSON.stringify(/* probe: child-json-goal */ input)
      : typeof args['prompt'] === 'string'
        ? args['prompt']
        : '';
  return { goal, reason, ...readRestriction({ timeout_ms, tools }) };
};

const childEnd = (agent: Agent, session: Session, nth: number, settled: Settlement<unknown>, no: number): CallEnd => {
  const result = readChildResult(session, settled);
  const shownMax = session.cell.shownBytesMax;
  if (result !== null && exceedsPreview(result.envelope.output, shownMax))
    session.cell.storeOutput(outputName(agent.signature.modelToolName, nth, 'txt'), { text: result.envelope.output });
  const of: Source[] = [{ from: 'operation', no }, ...(result === null ? [] : [result.source])];
  return {
    show: { rule: 'child-result@1', of, with: [shownMax, nth] },
    ...(hasAnswered(result?.envelope)
      ? { present: [agent.signature.toolName] }
      : { missing: [agent.signature.toolName] }),
  };
};

type ChildResult = { readonly envelope: Envelope; readonly source: Extract<Source, { from: 'crossing' }> };

/** The result that crossed back; null if the crossing was refused. */
export const readChildResult = ({ cell }: Session, settled: Settlement<unknown>): ChildResult | null => {
  if (!settled.ok) return null;
  const { crossing } = settled.value as ChildResultRef;
  const content = cell.runtime.received.at(crossing)?.content;
  return content === undefined
    ? null
    : { envelope: decodeEnvelope(content), source: { from: 'crossing', seq: crossing } };
};

/** Only a completed child has answered. Any other is listed as missing, even if it returned some text. */
export const hasAnswered = (envelope: Envelope | undefined): boolean => envelope?.status === 'completed';

/** Asks for the child. A refusal is recorded as a step that fails. */
export const beginChild = (
  call: ToolCall,
  agent: Agent,
  request: ChildGoal,
  session: Session,
): OwnOperation | ChildStart => {
  const { cell } = session;
  const goal = cell.runtime.amendedGoal(request.goal);
  const refusal = refuseChild(agent, goal, session);
  const step = cell.nextStepNumber();
  // The operator is told which agent was meant, and so the path to it; the model is not.
  const refused = (failure: Failure): OwnOperation =>
    failingStep(call, session, failure, { step, ...callAbout(call), agent: agent.name });
  if (refusal !== null) return refused(refusal);
  const child = childRequest(cell, agent, /* probe: child-goal */ goal, {
    ...givenAtStart(agent, session),
    groupTokens: session.ports.world.groupTokens?.(agent),
    about: {
      step,
      ...callAbout(call, 'agent:spawn'),
      ...(typeof request.reason === 'string' ? { reason: request.reason } : {}),
    },
  });
  return { child, refused };
};

/** What every request for a child says. It never asks for more levels than its caller has. */
export const childRequest = (
  cell: Cell,
  agent: Agent,
  goal: string | null,
  more: Omit<ChildRequest, 'agent' | 'goal'>,
): ChildRequest => {
  // probe: child-request
  return { agent: withinDepth(agent, cell.agent), goal, ...more };
};

/** Null if the cell may call agents. Spawning has a limit of its own. */
export const depthFailure = ({ runtime, agent }: Cell): Failure | null =>
  runtime.depth < agent.caps.depth ? null : { code: 'depth_reached', detail: `The limit is ${agent.caps.depth}.` };

const refuseChild = (agent: Agent, goal: string, session: Session): Failure | null => {
  const { cell } = session;
  if (goal.trim() === '') return { code: 'goal_empty' };
  if (utf8Bytes(goal) > goalBytesMax) return { code: 'goal_too_large', detail: `The limit is ${goalBytesMax} bytes.` };
  const depthProblem = depthFailure(cell);
  if (depthProblem !== null) return depthProblem;
  // Without the path: this cell must not learn the names of its ancestors.
  if (cell.runtime.ancestry.includes(agentIdentity(agent))) return { code: 'cycle_refused' };
  // Checked again without `reason`: the tool accepts more than the agent does.
  const problems = inputProblems(agent, goal, session);
  return problems.length === 0 ? null : { code: 'tool_arguments', detail: `${problems.slice(0, 5).join('; ')}.` };
};

/** Checks a goal against the agent's input schema. */
export const inputProblems = (
  { signature: { input } }: Agent,
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
