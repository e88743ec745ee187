// Mail from outside to the agents of a run. The operator's own code grants it, and it is recorded like any other mail.
import { CloisterError, encodeMessage, utf8Bytes } from '#base';
import type { DeadLetter, Mail, Origin, RouteChoice, RoutedMessages, RunCommand, Segment, TeamRules } from '#contracts';
import type { LiveCell, LocalRun, Member } from '#core/cells';
import { fillDate, isMadeBy } from '#core/rules';
import { findMember } from './live-agents.ts';

/** Sends a message from outside to one agent, or to the subscribers of a topic. Returns its id. */
export const sendFromOutside = (run: LocalRun, { text, to, topic, id }: RunCommand<'send'>): string => {
  const { team } = run.root.agent;
  const known = team === null || topic !== undefined ? null : checkTeamMember(team.rules, to);
  const message = id ?? `m-${run.ports.ids.random()}`;
  if (topic !== undefined) {
    for (const member of run.mail.directory.subscribersOf(topic)) {
      const redacted = redactFor(run, member, text);
      if (member.mailbox.hasRoom('outside', utf8Bytes(redacted)))
        deliver(run, member, { id: message, text: redacted, topic });
      else
        recordDeadLetter(run, member, { id: message, to: member.name, reason: 'overflow', type: 'broadcast', topic });
    }
    return message;
  }
  // The session of a team gives the message to its member's earliest task that has not started.
  const member = findMember(run, known === null ? to : undefined);
  const redacted = redactFor(run, member, text);
  if (!member.mailbox.hasRoom('outside', utf8Bytes(redacted)))
    throw new CloisterError('mailbox_full', `${member.name} has not read its earlier messages.`);
  deliver(run, member, { id: message, text: redacted, ...(known === null ? {} : { recipient: known }) });
  return message;
};

/** Throws `mail_unknown`. */
export const checkTeamMember = ({ members }: TeamRules, name = ''): string => {
  if (Object.hasOwn(members, name)) return name;
  const known = Object.keys(members).join(', ');
  throw new CloisterError(
    'mail_unknown',
    `A team accepts messages only for its members; set \`to\` to one of: ${known}.`,
  );
};

/** Sends checked tasks to a team. The size limit of messages does not apply to them. */
export const sendTasks = (run: LocalRun, tasks: string): void => {
  const id = `m-${run.ports.ids.random()}`;
  const member = findMember(run);
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
  const content = encodeMessage(head, text);
  run.door.cross({ kind, from: 'outside', to: member.cell, content, topic }, { at, frame: run.nextFrame });
  run.write(member.cell, at, { type: 'mail', to: member.cell });
  run.mail.wake();
};

/** Throws `cell_ended`. */
export const assertTakesContext = ({ receivedCrossings, cellId }: LiveCell): void => {
  // probe: takes-context
  if (!receivedCrossings.isOpen) throw new CloisterError('cell_ended', `${cellId} makes no further request.`);
};

/** Sends chosen messages from one live cell's window to another, if both definitions list each other. Returns their number. */
export const routeTo = (run: LocalRun, from: LiveCell, to: LiveCell, choice: RouteChoice): number => {
  assertTakesContext(to);
  const { directory } = run.mail;
  const [sender, member] = [directory.get(from.cellId), directory.get(to.cellId)];
  const parts = chooseParts(from, choice);
  if (parts.length === 0) return 0;
  const at = run.time();
  const content = JSON.stringify({
    agent_id: sender?.name ?? from.agent.name,
    recipient_id: member?.name ?? to.agent.name,
    message_type: 'context',
    parts,
  } satisfies RoutedMessages);
  const request = { kind: 'message', from: from.cellId, to: to.cellId, content } as const;
  const passed = run.door.cross(request, { at, frame: run.nextFrame });
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
  { shown, agent, run }: LiveCell,
  { categories, segments }: RouteChoice,
): RoutedMessages['parts'] => {
  const all = new Map([...(shown?.context ?? []), ...(shown?.view ?? [])].map((segment) => [segment.id, segment]));
  return [...all.values()]
    .filter(({ id, category }) => categories?.includes(category) === true || segments?.includes(id) === true)
    .sort((one, other) => one.id - other.id)
    .flatMap(({ category, part, origin }) => {
      const text =
        category === 'SYSTEM'
          ? systemText(origin, fillDate(agent.definition.prompt, run.startedAt))
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
