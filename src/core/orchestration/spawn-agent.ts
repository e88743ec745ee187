// Lets agents start other agents without waiting for them.
//
//   spawn-checked-without-await. Limits are checked and taken without an await in between: the child's begin frame is the
//       reservation.
//   spawn-refusal-costs-nothing. No cell, no id, and no spawn is counted.
//   spawn-asks-for-less. The definition sets which agents, how many, how deep and how often; a call can only ask for less.
import { isName, nearestName, utf8Bytes } from '#base';
import type { CellId, Failure, Json, JsonObject } from '#base';
import { decodeEnvelope } from '#contracts';
import type {
  Agent,
  ChildOperation,
  ChildRequest,
  PendingOperation,
  PostRequest,
  ShareName,
  SpawnedChild,
  SpawnIdentity,
  SpawnRules,
} from '#contracts';
import { mailToolError, mailToolSuccess, sessionHandle } from '#core/bus';
import type { MailToolReply } from '#core/bus';
import { isTopic } from '#core/registry';
import { requestShutdown, shutdownGraceMs, mailBytesMax, mailSchemas, callAbout, stepAbout } from '#core/session';
import type { ToolCall, ToolCallChain, Session, SessionPorts, ToolRunner } from '#core/session';
import { childRequest, inputProblems } from './agent-tool.ts';
import { withShare } from './define-agent.ts';
import { absentTool, asSpawned, readRestriction, restrictAgent } from './started-agent.ts';
import { withoutRequestTools } from './request-tools.ts';
import { postChain, recordReply } from './mail-tools.ts';
import { givenAtStart } from './share.ts';
import { agentFromTemplate } from './spawn-template.ts';

const spawnAgent: ToolRunner['createChain'] = (call, args, session) => {
  const { cell } = session;
  let reply = couldNotStart;
  let step: number | undefined;
  return {
    begin: [
      () => {
        const decided = decideSpawn(args, session);
        step = cell.nextStepNumber();
        if ('reply' in decided) {
          reply = decided.reply;
          return null;
        }
        const child = { ...decided.child, about: { step, ...callAbout(call, 'agent:spawn') } };
        const begun = ({ cell: id, spawned }: ChildOperation): void => {
          // The start of the agent is the step; a refusal is one by itself.
          step = undefined;
          reply = spawnReply(id, spawned!, child.goal);
        };
        const refused = (failure: Failure): null => {
          reply = spawnRefusal(failure);
          return null;
        };
        return { child, begun, refused };
      },
      () => ({
        do: 'post',
        name: `tool:${call.name}`,
        about: { ...(step === undefined ? {} : { step }), ...callAbout(call) },
        request: recordReply(reply),
      }),
    ],
    onSettled: (_place, _settled, no) => ({
      end: { show: { rule: 'tool-result@1', of: [{ from: 'operation', no }] } },
    }),
  };
};

const couldNotStart = mailToolError('SPAWN_FAILED', 'The agent could not be started.', 'Retry.');

type Decision = { readonly child: ChildRequest } | { readonly reply: MailToolReply };

const spawnReply = (cell: CellId, { name, topics }: SpawnIdentity, goal: string | null): MailToolReply =>
  mailToolSuccess({
    sub_agent_id: name,
    session_id: sessionHandle(cell),
    status: goal === null ? 'spawned' : 'running',
    subscribed_topics: topics,
  });

const spawnRefusal = ({ code }: Failure): MailToolReply =>
  code === 'budget_refused'
    ? mailToolError('SPAWN_LIMIT', 'No more agents can be started.', 'Do the rest yourself.')
    : mailToolError('NOT_ALLOWED', 'The initial message was refused.', 'Do the work yourself.');

/** Checks in this order: permission, agent, request, limits. */
const decideSpawn = (args: JsonObject, session: Session): Decision => {
  const rules = session.cell.agent.children.spawns;
  if (rules === null)
    return { reply: mailToolError('NOT_ALLOWED', 'You cannot start agents.', 'Do the work yourself.') };
  const found = findSpawnable(args, session, rules);
  if ('reply' in found) return found;
  const { now } = session.cell.runtime;
  const reply = requestProblem(args, found.agent, session) ?? spawnLimitProblem(session, rules, now);
  return reply === null
    ? { child: spawnedChild(args, restrictAgent(found.agent, readRestriction(args)), session) }
    : { reply };
};

/** What a decision about a spawn needs to know about the session, or about the cell in which somebody outside starts an agent. */
export type Spawner = Pick<Session, 'cell' | 'checkSteps'> & { readonly ports: Pick<SessionPorts, 'world'> };

export const findSpawnable = (
  args: JsonObject,
  session: Spawner,
  rules: SpawnRules,
): { readonly agent: Agent } | { readonly reply: MailToolReply } => {
  const { agent: self } = session.cell;
  const name = asText(args['agent_id']);
  const shared = args['share'] === undefined ? undefined : (args['share'] as readonly ShareName[]);
  if (shared?.some((one) => !rules.share.includes(one)) === true)
    return {
      reply: mailToolError(
        'NOT_ALLOWED',
        'You cannot share that.',
        `You can share: ${rules.share.join(', ') || 'nothing'}.`,
      ),
    };
  const chosen =
    args['template'] === undefined
      ? findByName(name, self, rules)
      : agentFromTemplate(name, args['template'] as JsonObject, self, rules);
  if ('reply' in chosen) return chosen;
  const agent = asSpawned(chosen.agent, self);
  return { agent: shared === undefined || shared.length === 0 ? agent : withShare(agent, shared) };
};

const findByName = (
  name: string,
  self: Agent,
  rules: SpawnRules,
): { readonly agent: Agent } | { readonly reply: MailToolReply } => {
  if ((name === 'self' || name === self.name) && rules.self) return { agent: withoutRequestTools(self) };
  const agent = self.children.spawnable.find((one) => one.name === name);
  if (agent !== undefined) return { agent };
  const known = [...rules.agents, ...(rules.self ? ['self'] : [])];
  const suggestion = nearestName(name, known);
  return {
    reply: mailToolError(
      'AGENT_NOT_FOUND',
      `There is no agent named ${JSON.stringify(name.slice(0, 80))} that you can start.`,
      `${suggestion === null ? '' : `Did you mean "${suggestion}"? `}You can start: ${known.join(', ') || 'none'}.`,
    ),
  };
};

/** An agent with JSON input needs a JSON message. */
const initialMessageProblems = (agent: Agent, message: string, session: Spawner): readonly string[] => {
  if (agent.signature.input.format === 'text') return [];
  try {
    JSON.parse(message);
  } catch {
    return ['the agent expects one JSON value'];
  }
  return inputProblems(agent, message, session);
};

const metadataMax = 20;

export const requestProblem = (args: JsonObject, agent: Agent, session: Spawner): MailToolReply | null => {
  const { initial_message: message, workflow_id: workflow, auto_subscribe: topics = [], metadata = {} } = args;
  if (typeof workflow === 'string' && !isName(workflow))
    return mailToolError(
      'NOT_ALLOWED',
      'workflow_id must consist of letters, digits, dots, dashes and underscores.',
      'Choose another one.',
    );
  if (typeof message === 'string' && message.trim() === '')
    return mailToolError('INVALID_MESSAGE', 'initial_message is empty.', 'Omit it, or describe the task.');
  if (typeof message === 'string' && utf8Bytes(message) > mailBytesMax)
    return mailToolError('INVALID_MESSAGE', `initial_message exceeds ${mailBytesMax} bytes.`, 'Shorten it.');
  const problems = typeof message === 'string' ? initialMessageProblems(agent, message, session) : [];
  if (problems.length > 0)
    return mailToolError(
      'INVALID_MESSAGE',
      `initial_message: ${problems.slice(0, 5).join('; ')}.`,
      "Match the agent's input schema.",
    );
  const wrong = (topics as readonly string[]).find(
    (topic) => !isTopic(topic) || !agent.permissions.topics.hear.includes(topic),
  );
  if (wrong !== undefined)
    return mailToolError(
      'NOT_ALLOWED',
      `${agent.name} cannot subscribe to ${JSON.stringify(wrong.slice(0, 80))}.`,
      `It can subscribe to: ${agent.permissions.topics.hear.join(', ') || 'nothing'}.`,
    );
  const absent = absentTool(agent, readRestriction(args));
  if (absent !== null) return mailToolError('NOT_ALLOWED', absent, 'Choose from these, or omit tools.');
  const notes = Object.entries(metadata as JsonObject);
  return notes.length > metadataMax ||
    notes.some(([key, note]) => key.length > 100 || JSON.stringify(note).length > 500)
    ? mailToolError('NOT_ALLOWED', `metadata: at most ${metadataMax} entries of 500 characters.`, 'Shorten it.')
    : null;
};

export const spawnLimitProblem = ({ cell }: Spawner, rules: SpawnRules, now: number): MailToolReply | null => {
  const { runtime } = cell;
  if (runtime.depth >= rules.depth)
    return mailToolError('SPAWN_DEPTH', `The nesting limit is ${rules.depth} levels.`, 'Do the work yourself.');
  // probe: spawn-live
  const liveCount = runtime.unsettled(runtime.spawnedChildren.map(({ pending }) => pending)).length;
  if (liveCount >= rules.children)
    return mailToolError(
      'SPAWN_LIMIT',
      `You have ${liveCount} running agents; the limit is ${rules.children}.`,
      'Shut one down first.',
    );
  // probe: spawn-recent
  const recent = runtime.spawnedChildren.filter(({ spawnedAt }) => spawnedAt > now - 60_000);
  if (recent.length >= rules.perMinute)
    return mailToolError(
      'SPAWN_RATE',
      `You can start at most ${rules.perMinute} agents per minute.`,
      'Wait a moment, then retry.',
    );
  return null;
};

const spawnedChild = (args: JsonObject, agent: Agent, session: Session): ChildRequest => {
  const message = args['initial_message'];
  return childRequest(session.cell, agent, typeof message === 'string' ? message : null, {
    ...givenAtStart(agent, session),
    spawn: readSpawn(args),
    groupTokens: session.ports.world.groupTokens?.(agent),
  });
};

export const readSpawn = (args: JsonObject): Omit<SpawnIdentity, 'name'> => {
  const metadata = args['metadata'] as Readonly<Record<string, string>> | undefined;
  return {
    workflow: typeof args['workflow_id'] === 'string' ? args['workflow_id'] : null,
    topics: [...new Set((args['auto_subscribe'] as readonly string[] | undefined) ?? [])],
    ...(metadata === undefined ? {} : { metadata }),
  };
};

const listSpawned: ToolRunner['createChain'] = (call, _args, session) =>
  postChain(call, session, { kind: 'list-children' });

const shutDown: ToolRunner['createChain'] = (call, args, session) => {
  const requested = asText(args['sub_agent_id']);
  const child = session.cell.runtime.spawnedChildren.find(
    ({ pending, identity }) => identity.name === requested || sessionHandle(pending.operation.cell) === requested,
  );
  if (child === undefined) return postChain(call, session, recordReply(notStarted(requested, session)));
  return shutDownChain(call, session, child);
};

const notStarted = (requested: string, { cell: { runtime } }: Session): MailToolReply => {
  const names = runtime.spawnedChildren.map(({ identity }) => identity.name);
  const suggestion = nearestName(requested, names);
  return mailToolError(
    'AGENT_NOT_FOUND',
    `You did not start an agent named ${JSON.stringify(requested.slice(0, 80))}.`,
    `${suggestion === null ? '' : `Did you mean "${suggestion}"? `}Agents you started: ${names.join(', ') || 'none'}.`,
  );
};

/** Asks the child to finish, and stops it after the grace period. The caller continues when the child has ended. */
const shutDownChain = (call: ToolCall, session: Session, { pending, identity }: SpawnedChild): ToolCallChain => {
  const { runtime, agent } = session.cell;
  if (pending.settled !== undefined) return postChain(call, session, reportEnd(identity, session, pending));
  requestShutdown(session, [pending]);
  const grace = { do: 'sleep', ms: agent.children.spawns?.graceMs ?? shutdownGraceMs, why: 'time-out' } as const;
  let isOver = false;
  return {
    begin: [grace],
    join: [pending],
    onSettled: (place, _settled, no) => {
      if (place === 2) return { end: { show: { rule: 'tool-result@1', of: [{ from: 'operation', no }] } } };
      if (place === 1) {
        isOver = true;
        return {
          cancel: { reason: { code: 'cancelled' } },
          begin: [postOperation(call, session, reportEnd(identity, session, pending))],
        };
      }
      if (!isOver) runtime.cancel(pending);
      return {};
    },
  };
};

const postOperation = (call: ToolCall, session: Session, request: PostRequest) =>
  ({ do: 'post', name: `tool:${call.name}`, about: stepAbout(session, call), request }) as const;

/** The reply reports the end of the child, so its result is no longer mail. */
const reportEnd = (
  { name }: SpawnIdentity,
  { cell }: Session,
  { settled }: PendingOperation<ChildOperation>,
): PostRequest => {
  const seq = settled?.ok === true ? settled.value.crossing : null;
  const content = seq === null ? undefined : cell.runtime.received.at(seq)?.content;
  const status = content === undefined ? 'cancelled' : decodeEnvelope(content).status;
  return { kind: 'report-end', name, status, seq };
};

const asText = (text: Json | undefined): string => (typeof text === 'string' ? text : '');

const spawnChains = { spawn_agent: spawnAgent, list_spawned_agents: listSpawned, shutdown_agent: shutDown };

export const spawnAgentTool = (name: keyof typeof spawnChains): ToolRunner => ({
  schema: mailSchemas[name],
  createChain: spawnChains[name],
});

export const isSpawnTool = (name: string): name is keyof typeof spawnChains => Object.hasOwn(spawnChains, name);
