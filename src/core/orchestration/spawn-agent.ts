// Agents that start other agents while they run, and do not wait for them.
//
//   H1. Every limit is looked at and taken in one stretch without waiting: the begin frame of the child is the reservation.
//   H2. What is refused costs nothing: no cell, no id, no spawn is counted.
//   H3. Which agents, how many, how deep and how often comes from the definition; a call can only ask for less.
import { isName, isoTime, nearestName, sha256, utf8Bytes } from '#base';
import type { CellId, Json, JsonObject } from '#base';
import type {
  Agent,
  ChildOperation,
  Envelope,
  PendingOperation,
  ShareName,
  SpawnIdentity,
  SpawnRules,
  Validate,
} from '#contracts';
import { isTopic } from '#core/registry';
import { requestShutdown, shutdownGraceMs, mailBytesMax, mailSchemas, stepAbout } from '#core/session';
import type { ToolCall, ToolCallChain, Session, SpawnedChild, ToolRunner } from '#core/session';
import { createChild, problemsOf } from './agent-tool.ts';
import { withDepth, withShare } from './define-agent.ts';
import { withoutRequestTools } from './request-tools.ts';
import { postChain, mailToolValue } from './mail-tools.ts';
import { mailToolError, mailToolSuccess } from './mail-tool-replies.ts';
import type { MailToolReply } from './mail-tool-replies.ts';
import { noteSmallerWindow, shareWith } from './share.ts';
import { agentFromTemplate } from './spawn-template.ts';

/** What a caller may be told of a cell besides its name. */
export const sessionHandle = (cell: CellId): string => `s-${sha256(cell).slice(0, 12)}`;

const spawnAgent: ToolRunner['chain'] = (call, args, session) => {
  let decided: Decision | undefined;
  return {
    begin: [
      () => {
        decided = decideSpawn(args, session);
        return 'child' in decided ? { ...decided.child, about: { agent: decided.as.name } } : null;
      },
      () => ({
        do: 'post',
        name: `tool:${call.name}`,
        about: stepAbout(session, call),
        decide: () =>
          mailToolValue(decided === undefined || 'told' in decided ? (decided?.told ?? unready) : toldOf(decided)),
      }),
    ],
    after: (_place, _settled, no) => ({ end: { show: { rule: 'tool-result@1', of: [{ from: 'operation', no }] } } }),
  };
};

const unready = mailToolError('SPAWN_FAILED', 'It could not be started.', 'Try again.');

type Decision = { readonly child: ChildOperation; readonly as: SpawnIdentity } | { readonly told: MailToolReply };

const toldOf = ({ child, as }: Extract<Decision, { child: unknown }>): MailToolReply =>
  mailToolSuccess({
    sub_agent_id: as.name,
    session_id: sessionHandle(child.cell),
    status: child.goal === null ? 'spawned' : 'running',
    subscribed_topics: as.topics,
  });

/** What may be asked for, in the order in which it is looked at. */
const decideSpawn = (args: JsonObject, session: Session): Decision => {
  const rules = session.cell.agent.spawns;
  if (rules === null) return { told: mailToolError('NOT_ALLOWED', 'You may start no agents.', 'Do it yourself.') };
  const found = findAgent(args, session, rules);
  if ('told' in found) return found;
  const told = wrongRequest(args, found.agent, session) ?? limitReached(session, rules);
  return told === null ? bearSpawned(args, found.agent, session) : { told };
};

const findAgent = (
  args: JsonObject,
  session: Session,
  rules: SpawnRules,
): { readonly agent: Agent } | { readonly told: MailToolReply } => {
  const { agent: self } = session.cell;
  const name = textOf(args['agent_id']);
  const shared = args['share'] === undefined ? undefined : (args['share'] as readonly ShareName[]);
  if (shared?.some((one) => !rules.share.includes(one)) === true)
    return {
      told: mailToolError(
        'NOT_ALLOWED',
        'You may not share that.',
        `You may share: ${rules.share.join(', ') || 'nothing'}.`,
      ),
    };
  const chosen =
    args['template'] === undefined
      ? byName(name, self, rules)
      : agentFromTemplate(name, args['template'] as JsonObject, self, rules);
  if ('told' in chosen) return chosen;
  const agent = withDepth(chosen.agent, rules.depth);
  return { agent: shared === undefined || shared.length === 0 ? agent : withShare(agent, shared) };
};

const byName = (
  name: string,
  self: Agent,
  rules: SpawnRules,
): { readonly agent: Agent } | { readonly told: MailToolReply } => {
  if ((name === 'self' || name === self.name) && rules.self) return { agent: withoutRequestTools(self) };
  const agent = self.spawnable.find((one) => one.name === name);
  if (agent !== undefined) return { agent };
  const known = [...rules.agents, ...(rules.self ? ['self'] : [])];
  const meant = nearestName(name, known);
  return {
    told: mailToolError(
      'AGENT_NOT_FOUND',
      `There is no agent ${JSON.stringify(name.slice(0, 80))} that you may start.`,
      `${meant === null ? '' : `Did you mean "${meant}"? `}You may start: ${known.join(', ') || 'none'}.`,
    ),
  };
};

/** An agent that takes JSON is asked in JSON. */
const askedWrongly = (agent: Agent, message: string, validate: Validate): readonly string[] => {
  if (agent.input.format === 'text') return [];
  try {
    JSON.parse(message);
  } catch {
    return ['it takes one JSON value'];
  }
  return problemsOf(agent, message, validate);
};

const metadataMax = 20;

const wrongRequest = (args: JsonObject, agent: Agent, { ports }: Session): MailToolReply | null => {
  const { initial_message: message, workflow_id: workflow, auto_subscribe: topics = [], metadata = {} } = args;
  if (typeof workflow === 'string' && !isName(workflow))
    return mailToolError(
      'NOT_ALLOWED',
      'workflow_id: letters, digits, dot, dash and underscore.',
      'Choose another one.',
    );
  if (typeof message === 'string' && message.trim() === '')
    return mailToolError('INVALID_MESSAGE', 'initial_message is empty.', 'Leave it out, or say what to do.');
  if (typeof message === 'string' && utf8Bytes(message) > mailBytesMax)
    return mailToolError('INVALID_MESSAGE', `initial_message may have ${mailBytesMax} bytes.`, 'Say less.');
  const problems = typeof message === 'string' ? askedWrongly(agent, message, ports.world.validate) : [];
  if (problems.length > 0)
    return mailToolError(
      'INVALID_MESSAGE',
      `initial_message: ${problems.slice(0, 5).join('; ')}.`,
      'Send what it takes.',
    );
  const wrong = (topics as readonly string[]).find((topic) => !isTopic(topic) || !agent.topics.hear.includes(topic));
  if (wrong !== undefined)
    return mailToolError(
      'NOT_ALLOWED',
      `${agent.name} may not hear ${JSON.stringify(wrong.slice(0, 80))}.`,
      `It may hear: ${agent.topics.hear.join(', ') || 'nothing'}.`,
    );
  const notes = Object.entries(metadata as JsonObject);
  return notes.length > metadataMax ||
    notes.some(([key, note]) => key.length > 100 || JSON.stringify(note).length > 500)
    ? mailToolError('NOT_ALLOWED', `metadata: at most ${metadataMax} notes of 500 characters.`, 'Keep fewer.')
    : null;
};

const limitReached = (session: Session, rules: SpawnRules): MailToolReply | null => {
  const { runtime } = session.cell;
  const { now } = runtime;
  if (runtime.depth >= rules.depth)
    return mailToolError('SPAWN_DEPTH', `Agents may be nested ${rules.depth} levels deep.`, 'Do it yourself.');
  const living = runtime.unended(session.spawned.map(({ pending }) => pending)).length;
  if (living >= rules.children)
    return mailToolError(
      'SPAWN_LIMIT',
      `You have ${living} agents at work; ${rules.children} are allowed.`,
      'Shut one down first.',
    );
  session.spawnedAt = session.spawnedAt.filter((at) => at > now - 60_000);
  if (session.spawnedAt.length >= rules.perMinute)
    return mailToolError(
      'SPAWN_RATE',
      `You may start ${rules.perMinute} agents a minute.`,
      'Wait a little, then try again.',
    );
  return null;
};

const bearSpawned = (args: JsonObject, agent: Agent, session: Session): Decision => {
  const { runtime } = session.cell;
  const message = args['initial_message'];
  const born = createChild(agent, typeof message === 'string' ? message : null, session.cell);
  if ('code' in born)
    return {
      told:
        born.code === 'budget_refused'
          ? mailToolError('SPAWN_LIMIT', 'No more agents may be started.', 'Do the rest yourself.')
          : mailToolError('NOT_ALLOWED', 'What you asked of it was not handed over.', 'Do it yourself.'),
    };
  // probe: spawn-count-recent
  session.spawnedAt = [...session.spawnedAt, runtime.now];
  const as = spawnedAs(args, agent, { session, cell: born.child.cell });
  const share = shareWith(agent, born.child.cell, session, born.door);
  noteSmallerWindow(agent, born.child.cell, session, born.door);
  const recorded = runtime.liveRun.recorded?.cells.get(born.child.cell)?.birth;
  const groupTokens = recorded?.groupTokens ?? session.ports.world.groupTokens?.(agent);
  return { child: { ...born.child, spawned: as, share, groupTokens }, as };
};

type SpawnedCell = { readonly session: Session; readonly cell: CellId };

/** A twin is told apart by a part of its own id: nobody is numbered. */
const spawnedAs = (args: JsonObject, agent: Agent, { session, cell }: SpawnedCell): SpawnIdentity => {
  const workflow = typeof args['workflow_id'] === 'string' ? args['workflow_id'] : null;
  const plain = workflow === null ? agent.name : `${workflow}:${agent.name}`;
  // One of its own kind must be told apart from itself too.
  const isTaken = agent.name === session.cell.agent.name || session.spawned.some(({ as }) => as.name === plain);
  const metadata = args['metadata'] as Readonly<Record<string, string>> | undefined;
  return {
    name: isTaken ? `${plain}-${sha256(cell).slice(0, 6)}` : plain,
    workflow,
    topics: [...new Set((args['auto_subscribe'] as readonly string[] | undefined) ?? [])],
    ...(metadata === undefined ? {} : { metadata }),
  };
};

const listSpawned: ToolRunner['chain'] = (call, _args, session) =>
  postChain(call, session, () => {
    const { runtime } = session.cell;
    const { directory } = runtime.liveRun.post;
    const agents = session.spawned.map(({ pending, as, at }) => {
      const member = directory.get(pending.operation.cell);
      return {
        // probe: spawned-listed
        sub_agent_id: as.name,
        session_id: sessionHandle(pending.operation.cell),
        parent_session: sessionHandle(runtime.cellId),
        workflow_id: as.workflow,
        spawned_at: isoTime(at),
        subscriptions: [...(member?.heard ?? as.topics)],
        metadata: as.metadata ?? {},
        status: member === undefined ? 'ended' : member.box.idle ? 'waiting' : 'running',
      };
    });
    return mailToolValue(mailToolSuccess({ agents }));
  });

const shutDown: ToolRunner['chain'] = (call, args, session) => {
  const asked = textOf(args['sub_agent_id']);
  const child = session.spawned.find(
    ({ pending, as }) => as.name === asked || sessionHandle(pending.operation.cell) === asked,
  );
  if (child === undefined) return postChain(call, session, () => mailToolValue(notYours(asked, session)));
  return shuttingDown(call, session, child);
};

const notYours = (asked: string, { spawned }: Session): MailToolReply => {
  const names = spawned.map(({ as }) => as.name);
  const meant = nearestName(asked, names);
  return mailToolError(
    'AGENT_NOT_FOUND',
    `You have started no agent ${JSON.stringify(asked.slice(0, 80))}.`,
    `${meant === null ? '' : `Did you mean "${meant}"? `}You have started: ${names.join(', ') || 'none'}.`,
  );
};

/** Asked first, stopped when the time is up; its caller goes on when it is over. */
const shuttingDown = (call: ToolCall, session: Session, { pending, as }: SpawnedChild): ToolCallChain => {
  const { runtime, agent } = session.cell;
  if (pending.settled !== undefined) return postChain(call, session, () => tellEnd(as, session, pending));
  requestShutdown(session, [pending]);
  const grace = { do: 'sleep', ms: agent.spawns?.graceMs ?? shutdownGraceMs, why: 'time-out' } as const;
  let isOver = false;
  return {
    begin: [grace],
    join: [pending],
    after: (place, _settled, no) => {
      if (place === 2) return { end: { show: { rule: 'tool-result@1', of: [{ from: 'operation', no }] } } };
      if (place === 1) {
        isOver = true;
        return {
          cancel: { code: 'cancelled' },
          begin: [postOf(call, session, () => tellEnd(as, session, pending))],
        };
      }
      if (!isOver) runtime.cancel(pending);
      return {};
    },
  };
};

const postOf = (call: ToolCall, session: Session, decide: () => Json) =>
  ({ do: 'post', name: `tool:${call.name}`, about: stepAbout(session, call), decide }) as const;

/** Told here, its end need not be read as mail too. */
const tellEnd = (as: SpawnIdentity, { cell }: Session, { settled }: PendingOperation<ChildOperation>): Json => {
  const seq = settled?.ok === true ? settled.value.crossing : null;
  const content = seq === null ? undefined : cell.runtime.arrivals.at(seq)?.content;
  const status = content === undefined ? 'cancelled' : (JSON.parse(content) as Envelope).status;
  if (seq !== null) cell.runtime.liveRun.post.directory.get(cell.runtime.cellId)?.box.remove([seq]);
  return mailToolValue(mailToolSuccess({ sub_agent_id: as.name, status }), seq === null ? {} : { told: [seq] });
};

const textOf = (text: Json | undefined): string => (typeof text === 'string' ? text : '');

const spawning = { spawn_agent: spawnAgent, list_spawned_agents: listSpawned, shutdown_agent: shutDown };

export const spawnAgentTool = (name: keyof typeof spawning): ToolRunner => ({
  schema: mailSchemas[name],
  chain: spawning[name],
});

export const isSpawning = (name: string): name is keyof typeof spawning => Object.hasOwn(spawning, name);
