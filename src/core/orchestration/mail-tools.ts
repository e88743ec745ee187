// The tools agents use to message each other. Each call is one operation, and its reply contains only fixed text and the agent's own.
//
//   G1. A reply shows the state of another agent (mailbox full, ended, answered) only if the sender may message that agent.
//   G2. A publisher never learns who receives its message.
import { utf8Bytes } from '#base';
import type { Json, JsonObject } from '#base';
import type { DeadLetter, PostOperation, ReceiveResult, ReceiveOperation } from '#contracts';
import { shownBytesMax } from '#core/cells';
import type { Cell, Member } from '#core/cells';
import { cross } from '#core/crossings';
import { isTopic } from '#core/registry';
import { bytesForEach, isLongMail, mailBody, outputName } from '#core/rules';
import {
  chainTo,
  crossingAt,
  mailLoopFailure,
  mailBytesMax,
  mailSchemas,
  newMailId,
  noteMailRead,
  senderIdentity,
  sendTo,
  stepAbout,
  stepChain,
} from '#core/session';
import type { ToolCall, ToolCallChain, Session, ToolRunner } from '#core/session';
import { mailRefusals, mailToolSuccess } from './mail-tool-replies.ts';
import type { MailToolReply } from './mail-tool-replies.ts';

type StartChain = (call: ToolCall, args: JsonObject, session: Session) => ReturnType<ToolRunner['createChain']>;

/** One recorded operation whose text is the tool's result. */
export const postChain = (call: ToolCall, session: Session, decide: PostOperation['decide']): ToolCallChain =>
  stepChain({ do: 'post', name: `tool:${call.name}`, about: stepAbout(session, call), decide });

/** What the recorded value of a post holds besides the text for the model. */
type PostValue = {
  readonly id?: string;
  readonly dead?: readonly DeadLetter[];
  readonly subscribed?: string;
  /** Crossings of child results that this reply reports, so that they are not delivered as mail too. */
  readonly told?: readonly number[];
};

export const mailToolValue = (reply: MailToolReply, facts: PostValue = {}): Json => ({
  text: JSON.stringify(reply),
  ...facts,
});

const sendMessage: StartChain = (call, args, session) => {
  const { cell } = session;
  const [name, message, replyTo] = [asText(args['to']), asText(args['message']), args['reply_to']];
  const id = newMailId(session, `to ${name.slice(0, 80)}`);
  const problem = messageProblem(message);
  if (problem !== null) return postChain(call, session, () => mailToolValue(problem));
  const loop = mailLoopFailure(session, name);
  if (loop !== null) return { stop: loop };
  const expires = args['expires_ms'];
  const draft = {
    id,
    type: 'message',
    text: message,
    ...(typeof expires === 'number' ? { expiresMs: expires } : {}),
  } as const;
  const correlation = typeof replyTo === 'string' ? replyTo.slice(0, 80) : null;
  const sending = postChain(call, session, (at) => {
    const self = senderIdentity(cell);
    const lookup = cell.runtime.liveRun.mail.directory.lookup(self, name);
    if (lookup.found === null && lookup.hidden !== undefined) recordRefusal(cell, lookup.hidden, message, at);
    if (lookup.found === null)
      return mailToolValue(/* probe: mail-not-found */ mailRefusals.notFound(name, lookup), {
        id,
        dead: [{ to: name.slice(0, 80), reason: deadReason(lookup) }],
      });
    const recipient = lookup.as ?? lookup.found.name;
    const chain = chainTo(session, lookup.found.cell, id);
    const reason = sendTo(cell, lookup.found, { ...draft, correlation, chain, recipient: lookup.as }, at);
    if (reason !== null)
      return mailToolValue(mailRefusals.undelivered(recipient, reason), { id, dead: [{ to: recipient, reason }] });
    return {
      text: JSON.stringify(mailToolSuccess({ message_id: id, recipient, status: 'queued' })),
      to: lookup.found.cell,
    };
  });
  return onChainValue(sending, (settled) => {
    const to = (settled as { readonly to?: string } | null)?.to;
    if (to !== undefined) session.recipients = [...session.recipients, to as never];
  });
};

const deadReason = ({ why, hidden }: { readonly why: string; readonly hidden?: Member }): DeadLetter['reason'] => {
  if (hidden !== undefined) return 'refused';
  return why === 'ended' ? 'ended' : 'unknown';
};

/** Records the refusal in both ledgers. The sender gets the same reply as for an unknown name. */
const recordRefusal = ({ runtime }: Cell, to: Member, content: string, at: number): void => {
  const door = { grants: [], ledger: runtime.liveRun.ledger, at };
  cross({ kind: 'message', from: runtime.cellId, to: to.cell, content, labels: [] }, door);
};

/** The same chain; `onValue` gets its value when it succeeds. */
const onChainValue = (chain: ToolCallChain, onValue: (value: Json) => void): ToolCallChain => ({
  begin: chain.begin,
  onSettled: (place, settled, no) => {
    if (settled.ok) onValue(settled.value);
    return chain.onSettled(place, settled, no);
  },
});

const messageProblem = (message: string): MailToolReply | null => {
  if (message.trim() === '') return mailRefusals.invalid('The message is empty.', 'Write a message.');
  const bytes = utf8Bytes(message);
  return bytes > mailBytesMax
    ? mailRefusals.invalid(
        `The message has ${bytes} bytes; the limit is ${mailBytesMax}.`,
        'Shorten it, or send it in parts.',
      )
    : null;
};

const subscribe: StartChain = (call, args, session) =>
  postChain(call, session, () => {
    const self = senderIdentity(session.cell);
    const topic = asText(args['topic']);
    if (!isTopic(topic)) return mailToolValue(mailRefusals.topic(topic, 'is not a valid topic name', self.topics.hear));
    if (!self.topics.hear.includes(topic))
      return mailToolValue(mailRefusals.topic(topic, 'is not a topic you can subscribe to', self.topics.hear));
    session.cell.runtime.liveRun.mail.directory.subscribe(self, topic);
    return mailToolValue(mailToolSuccess({ topic, subscribed_topics: [...self.subscriptions] }), { subscribed: topic });
  });

const publish: StartChain = (call, args, session) => {
  const { cell } = session;
  const [topic, message] = [asText(args['topic']), asText(args['message'])];
  const id = newMailId(session, `on ${topic.slice(0, 80)}`);
  const problem = messageProblem(message);
  if (problem !== null) return postChain(call, session, () => mailToolValue(problem));
  const loop = mailLoopFailure(session, `topic ${topic}`);
  if (loop !== null) return { stop: loop };
  return postChain(call, session, (at) => {
    const self = senderIdentity(cell);
    const { say } = self.topics;
    if (!isTopic(topic)) return mailToolValue(mailRefusals.topic(topic, 'is not a valid topic name', say));
    if (!say.includes(topic)) return mailToolValue(mailRefusals.topic(topic, 'is not a topic you can publish on', say));
    const chain = chainTo(session, null, id);
    const draft = { id, type: 'broadcast', text: message, topic, correlation: null, chain } as const;
    const { directory, outsideTopics } = cell.runtime.liveRun.mail;
    if (outsideTopics.has(topic)) sendTo(cell, 'outside', draft, at);
    const dead = directory
      .subscribersOf(topic)
      .filter((subscriber) => subscriber.cell !== self.cell && !directory.isSibling(self, subscriber))
      .flatMap((subscriber): DeadLetter[] => {
        const reason = sendTo(cell, subscriber, draft, at);
        return reason === null ? [] : [{ to: subscriber.name, reason, type: 'broadcast', topic }];
      });
    return mailToolValue(mailToolSuccess({ topic, message_id: id }), { id, ...(dead.length === 0 ? {} : { dead }) });
  });
};

const receiveMax = 20;

const receiveMessage: StartChain = (call, args, session) => {
  const names = asList(args['from']);
  const all = args['wait_for'] === 'all';
  return receiveChain(call, session, args, () => {
    const { directory } = session.cell.runtime.liveRun.mail;
    const self = senderIdentity(session.cell);
    const senders: Member['cell'][] = [];
    for (const name of names ?? []) {
      const cell = ownChild(session, name) ?? directory.lookup(self, name).found?.cell;
      if (cell === undefined) return unknownSender(name, directory.lookup(self, name));
      senders.push(cell);
    }
    if (names === undefined) return { channel: 'mail', max: receiveMax };
    // Ended agents send nothing more, so there is nothing to wait for.
    const hasEnded = (sender: Member['cell']): boolean =>
      directory.get(sender) === undefined && !self.mailbox.unread.some(({ from }) => from === sender);
    if (senders.every(hasEnded)) return { settle: { messages: [], missing: names } };
    return { channel: 'mail', max: receiveMax, from: senders, names, all };
  });
};

/** An agent knows its spawned children by name even after they ended: their messages may still be unread. */
const ownChild = ({ cell: { runtime } }: Session, name: string): Member['cell'] | undefined =>
  runtime.spawnedChildren.find(({ identity }) => identity.name === name)?.pending.operation.cell;

const unknownSender = (
  name: string,
  lookup: { readonly found?: unknown; readonly known?: readonly string[] },
): { settle: ReceiveResult } => ({
  settle: { messages: [], unknown: { name: name.slice(0, 80), known: lookup.known ?? [] } },
});

const receiveBroadcast: StartChain = (call, args, session) => {
  const topics = asList(args['topics']);
  return receiveChain(call, session, args, () => {
    const { subscriptions } = senderIdentity(session.cell);
    const notSubscribed = topics?.find((topic) => !subscriptions.has(topic));
    if (notSubscribed !== undefined)
      return {
        settle: { messages: [], unknown: { name: notSubscribed.slice(0, 80), known: [...subscriptions], topic: true } },
      };
    return { channel: 'topics', max: receiveMax, ...(topics === undefined ? {} : { topics }) };
  });
};

const [timeoutDefaultMs, timeoutMaxMs] = [30_000, 600_000];

const receiveChain = (
  call: ToolCall,
  session: Session,
  args: JsonObject,
  wanted: ReceiveOperation['filter'],
): ToolCallChain => {
  const requestedMs = args['timeout_ms'];
  const ms = typeof requestedMs === 'number' ? Math.min(requestedMs, timeoutMaxMs) : timeoutDefaultMs;
  const { runtime } = session.cell;
  const began = { now: runtime.now, downMs: runtime.downMs };
  return {
    begin: [
      {
        do: 'receive',
        name: `tool:${call.name}`,
        about: stepAbout(session, call),
        filter: wanted,
        timeoutMs: session.workClock.waitMs(ms),
      },
    ],
    onSettled: (_place, settled, no) => {
      const seqs = settled.ok ? (settled.value as unknown as ReceiveResult).messages : [];
      const waitedMs = runtime.now - began.now - (runtime.downMs - began.downMs);
      session.workClock.addWait({ at: runtime.now, ms: waitedMs });
      noteMailRead(session, seqs);
      const { cell } = session;
      const shownMax = shownBytesMax(cell.limits);
      const numbers = seqs.map((seq) => {
        const crossing = crossingAt(session, seq);
        const nth = cell.nextOutputNumber(call.name);
        if (isLongMail(crossing, bytesForEach(shownMax, seqs.length)))
          cell.storeOutput(outputName(call.name, nth, 'txt'), { text: mailBody(crossing) });
        return nth;
      });
      const crossings = seqs.map((seq) => ({ from: 'crossing', seq }) as const);
      return {
        end: {
          show: { rule: 'received@1', of: [{ from: 'operation', no }, ...crossings], with: [shownMax, ...numbers] },
        },
      };
    },
  };
};

const asText = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

const asList = (value: Json | undefined): readonly string[] | undefined =>
  Array.isArray(value) && value.length > 0 ? value.map(String) : undefined;

const mailChains = {
  send_message: sendMessage,
  receive_message: receiveMessage,
  subscribe,
  publish,
  receive_broadcast: receiveBroadcast,
};

export const mailTool = (name: keyof typeof mailChains): ToolRunner => ({
  schema: mailSchemas[name],
  createChain: mailChains[name],
});
