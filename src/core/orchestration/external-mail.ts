// Mail from outside to the agents of a run. The operator's own code grants it, and it is recorded like any other mail.
import { CloisterError, encodeMessage, utf8Bytes } from '#base';
import type { CellId } from '#base';
import type {
  DeadLetter,
  LiveAgent,
  Mail,
  Origin,
  RouteChoice,
  RoutedMessages,
  Segment,
  MessageTarget,
} from '#contracts';
import type { LiveCell, LocalRun, Member } from '#core/cells';
import { mayWrite, sessionHandle } from '#core/bus';
import { cross } from '#core/crossings';
import { fillDate, isMadeBy } from '#core/rules';
import { mailBytesMax } from '#core/session';

/** Delivers a message from outside to a mailbox, or to the subscribers of a topic. Returns its id. */
export const deliverFromOutside = (
  run: LocalRun,
  root: CellId,
  text: string,
  { to, topic }: MessageTarget = {},
): string => {
  checkText(text);
  const id = `m-${run.ports.ids.random()}`;
  if (topic !== undefined) {
    for (const member of run.mail.directory.subscribersOf(topic)) {
      const redacted = redactFor(run, member, text);
      if (member.mailbox.hasRoom('outside', utf8Bytes(redacted))) deliver(run, member, { id, text: redacted, topic });
      else recordDeadLetter(run, member, { id, to: member.name, reason: 'overflow', type: 'broadcast', topic });
    }
    return id;
  }
  const member = findMember(run, to, root);
  const redacted = redactFor(run, member, text);
  if (!member.mailbox.hasRoom('outside', utf8Bytes(redacted)))
    throw new CloisterError('mailbox_full', `${member.name} has not read its earlier messages.`);
  deliver(run, member, { id, text: redacted });
  return id;
};

const checkText = (text: string): void => {
  if (text.trim() === '') throw new CloisterError('mail_invalid', 'The message is empty.');
  if (utf8Bytes(text) > mailBytesMax) throw new CloisterError('mail_invalid', `The limit is ${mailBytesMax} bytes.`);
};

/** To a member of a team: the team session gives it to that member's earliest task that has not started. */
export const sendToMember = (run: LocalRun, root: CellId, text: string, recipient: string): string => {
  checkText(text);
  const id = `m-${run.ports.ids.random()}`;
  const member = findMember(run, undefined, root);
  const redacted = redactFor(run, member, text);
  if (!member.mailbox.hasRoom('outside', utf8Bytes(redacted)))
    throw new CloisterError('mailbox_full', `${member.name} has not read its earlier messages.`);
  deliver(run, member, { id, text: redacted, recipient });
  return id;
};

/** Sends checked tasks to a team. The size limit of messages does not apply to them. */
export const sendTasks = (run: LocalRun, root: CellId, tasks: string): void => {
  const id = `m-${run.ports.ids.random()}`;
  const member = findMember(run, undefined, root);
  deliver(run, member, { id, text: redactFor(run, member, tasks) });
};

/** Without what the recipient may not record: the text has no sender whose record would decide. */
const redactFor = (run: LocalRun, { cell }: Member, text: string): string =>
  run.redactFor(/* probe: mail-redact-for */ run.mail.agentOf(cell))?.text(text) ?? text;

/** A message that is not delivered is recorded, never dropped silently. */
const recordDeadLetter = (run: LocalRun, { cell }: Member, dead: DeadLetter & { readonly id: string }): void =>
  void run.write(cell, run.time(), { type: 'mail', to: cell, dead });

type ExternalMessage = Pick<Mail, 'id' | 'text' | 'topic'> & { readonly recipient?: string };

const deliver = (
  run: LocalRun,
  member: Member,
  { id, text, topic, recipient = member.name }: ExternalMessage,
): void => {
  const at = run.time();
  const kind = topic === undefined ? 'message' : 'broadcast';
  const head: Omit<Mail, 'text'> = {
    id,
    message_type: kind,
    agent_id: null,
    recipient_id: recipient,
    ...(topic === undefined ? {} : { topic }),
    correlation_id: null,
    at,
    chain: id,
  };
  const grants = [{ name: kind, kind, from: 'outside', to: member.cell } as const];
  const content = encodeMessage(head, text);
  cross({ kind, from: 'outside', to: member.cell, content, labels: [] }, { grants, ledger: run.ledger, at });
  run.mail.deliver(run.write(member.cell, at, { type: 'mail', to: member.cell }));
};

export const findMember = (run: LocalRun, name: string | undefined, root: CellId): Member => {
  const all = [...run.mail.directory.all];
  const found = all.filter(({ cell, name: known, agent }) =>
    name === undefined
      ? cell === root
      : cell === name || known === name || sessionHandle(cell) === name || agent === name,
  );
  const exact = found.filter((one) => one.cell === name || one.name === name);
  const [member, other] = exact.length > 0 ? exact : found;
  if (member !== undefined && other === undefined) return member;
  const known = all.map((one) => one.name).join(', ') || 'none';
  const matches = (exact.length > 0 ? exact : found).map((one) => `${one.name} (${sessionHandle(one.cell)})`);
  if (other !== undefined)
    throw new CloisterError('mail_ambiguous', `"${name}" matches several agents: ${matches.join(', ')}.`);
  throw new CloisterError(
    'mail_unknown',
    `No agent${name === undefined ? '' : ` named "${name.slice(0, 80)}"`} can receive messages. Available: ${known}.`,
  );
};

/** Every live agent of the run; those that a model called can receive no messages, unless their definition says so. */
export const listAgents = (run: LocalRun, root: LiveCell): readonly LiveAgent[] => {
  const members = run.usesMail ? [...run.mail.directory.all] : [];
  const known = new Set(members.map(({ cell }) => cell));
  const called = [root, ...run.liveCells].filter(({ cellId }) => !known.has(cellId));
  return [...members.map(describeMember), ...called.map(describeCalled)];
};

/** Finds a live agent by its cell, session_id or name; otherwise by the name of its definition. */
export const findAgentCell = (agents: readonly LiveAgent[], name: string): CellId => {
  const exact = agents.filter((one) => [one.cell, one.sub_agent_id, one.session_id].includes(name));
  const found = exact.length > 0 ? exact : agents.filter(({ agent }) => agent === name);
  const [only, other] = found;
  if (only !== undefined && other === undefined) return only.cell;
  const quoted = JSON.stringify(name.slice(0, 80));
  if (only !== undefined)
    throw new CloisterError(
      'mail_ambiguous',
      `${quoted} is ambiguous; use one of: ${found.map((one) => one.session_id).join(', ')}.`,
    );
  const known = agents.map((one) => one.sub_agent_id).join(', ') || 'none';
  throw new CloisterError('mail_unknown', `No live agent is named ${quoted}. Live agents: ${known}.`);
};

const describeMember = (member: Member): LiveAgent => ({
  cell: member.cell,
  parent: member.parent,
  agent: member.agent,
  sub_agent_id: member.name,
  session_id: sessionHandle(member.cell),
  workflow_id: member.spawned?.workflow ?? null,
  subscriptions: [...member.subscriptions],
  metadata: member.spawned?.metadata ?? {},
  spawned_at: member.createdAt,
  status: member.mailbox.idle ? 'waiting' : 'running',
  mailbox: true,
});

const describeCalled = ({ cellId: cell, parent, agent: { name }, createdAt }: LiveCell): LiveAgent => ({
  cell,
  parent,
  agent: name,
  sub_agent_id: name,
  session_id: sessionHandle(cell),
  workflow_id: null,
  subscriptions: [],
  metadata: {},
  spawned_at: createdAt,
  status: 'running',
  mailbox: false,
});

/** Sends chosen messages from one live cell's window to another, if both definitions list each other. Returns their number. */
export const routeTo = (run: LocalRun, from: LiveCell, to: LiveCell, choice: RouteChoice): number => {
  const { directory } = run.mail;
  const [sender, member] = [directory.get(from.cellId), directory.get(to.cellId)];
  const allowed = sender !== undefined && member !== undefined && mayWrite(sender, member);
  const parts = chooseParts(from, choice);
  if (parts.length === 0) return 0;
  const at = run.time();
  const content = JSON.stringify({
    agent_id: sender?.name ?? from.agent.name,
    recipient_id: member?.name ?? to.agent.name,
    message_type: 'context',
    parts,
  } satisfies RoutedMessages);
  const grants = allowed ? [{ name: 'message', kind: 'message', from: from.cellId, to: to.cellId } as const] : [];
  const passed = cross(
    { kind: 'message', from: from.cellId, to: to.cellId, content, labels: [] },
    { grants, ledger: run.ledger, at },
  );
  to.receivedCrossings.addFromFrame(run.write(to.cellId, at, { type: 'give', to: to.cellId }));
  if ('refused' in passed)
    throw new CloisterError(
      'crossing_refused',
      `${from.agent.name} and ${to.agent.name} must list each other in \`messages\`.`,
    );
  return parts.length;
};

/** Context counts even if the window no longer has room for it; the rest comes from the current view. */
const chooseParts = (
  { view, agent, liveRun }: LiveCell,
  { categories, segments }: RouteChoice,
): RoutedMessages['parts'] => {
  const all = new Map([...(view?.context ?? []), ...(view?.view ?? [])].map((segment) => [segment.id, segment]));
  return [...all.values()]
    .filter(({ id, category }) => categories?.includes(category) === true || segments?.includes(id) === true)
    .sort((one, other) => one.id - other.id)
    .flatMap(({ category, part, origin }) => {
      const text =
        category === 'SYSTEM'
          ? systemText(origin, fillDate(agent.definition.prompt, liveRun.startedAt))
          : isMadeBy(origin.rule, 'note')
            ? ''
            : partText(part);
      return text === '' ? [] : [{ category, text }];
    });
};

/** Of SYSTEM, only the agent's own prompt leaves the cell. */
const systemText = ({ of }: Origin, prompt: string): string =>
  of.some((source) => source.from === 'definition' && source.path === 'prompt') ? prompt : '';

const partText = (part: Segment['part']): string => {
  if (!('message' in part)) return '';
  const { content } = part.message;
  if (typeof content === 'string') return content;
  return content
    .map((item) => {
      if (item.type === 'text') return item.text;
      if (item.type === 'tool-result' && (item.output.type === 'text' || item.output.type === 'error-text'))
        return item.output.value;
      return '';
    })
    .filter((text) => text !== '')
    .join('\n');
};
