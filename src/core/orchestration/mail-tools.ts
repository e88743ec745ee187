// The tools by which agents talk: each is one operation, and what it says to its model is fixed words and its own.
//
//   G1. What others do shows only where they were granted to be written to: a full box, an end, an answer.
//   G2. What a topic reaches, and whom, is told to nobody.
import { utf8Bytes } from '#base';
import type { Json, JsonObject } from '#base';
import type { DeadLetter, PostOperation, ReceiveResult, ReceiveOperation } from '#contracts';
import { shownBytesMax } from '#core/cells';
import type { Cell, Member } from '#core/cells';
import { cross } from '#core/crossings';
import { isTopic } from '#core/registry';
import { exceedsPreview, outputName, receivedText } from '#core/rules';
import {
  crossingAt,
  mailLoopFailure,
  mailBytesMax,
  mailSchemas,
  newMailId,
  readMail,
  senderIdentity,
  sendTo,
  stepAbout,
  stepChain,
} from '#core/session';
import type { ToolCall, ToolCallChain, Session, ToolRunner } from '#core/session';
import { mailRefusals, mailToolSuccess } from './mail-tool-replies.ts';
import type { MailToolReply } from './mail-tool-replies.ts';

type ChainOf = (call: ToolCall, args: JsonObject, session: Session) => ReturnType<ToolRunner['chain']>;

/** One record, and its words as the tool's result. */
export const postChain = (call: ToolCall, session: Session, decide: PostOperation['decide']): ToolCallChain =>
  stepChain({ do: 'post', name: `tool:${call.name}`, about: stepAbout(session, call), decide });

/** What a post keeps besides the words that its model is shown. */
type Kept = {
  readonly id?: string;
  readonly dead?: readonly DeadLetter[];
  readonly subscribed?: string;
  /** Ends of children that these words tell: they need not be read as mail. */
  readonly told?: readonly number[];
};

export const mailToolValue = (told: MailToolReply, kept: Kept = {}): Json => ({ text: JSON.stringify(told), ...kept });

const sendMessage: ChainOf = (call, args, session) => {
  const { cell } = session;
  const [name, message, replyTo] = [textOf(args['to']), textOf(args['message']), args['reply_to']];
  const id = newMailId(session);
  const hops = session.hops + 1;
  const wrong = wrongMessage(message);
  if (wrong !== null) return postChain(call, session, () => mailToolValue(wrong));
  const loop = mailLoopFailure(session, [name], hops);
  if (loop !== null) return { stop: loop };
  const expires = args['expires_ms'];
  const draft = {
    id,
    type: 'message',
    text: message,
    hops,
    ...(typeof expires === 'number' ? { expiresMs: expires } : {}),
  } as const;
  const correlation = typeof replyTo === 'string' ? replyTo.slice(0, 80) : null;
  const chain = postChain(call, session, (at) => {
    const self = senderIdentity(cell);
    const looked = cell.runtime.liveRun.post.directory.lookup(self, name);
    if (looked.found === null && looked.hidden !== undefined) refuseAt(cell, looked.hidden, message, at);
    if (looked.found === null)
      return mailToolValue(/* probe: mail-not-found */ mailRefusals.notFound(name, looked), {
        id,
        dead: [{ to: name.slice(0, 80), reason: deadFor(looked) }],
      });
    const recipient = looked.as ?? looked.found.name;
    const reason = sendTo(cell, looked.found, { ...draft, correlation, recipient: looked.as }, at);
    if (reason !== null)
      return mailToolValue(mailRefusals.undelivered(recipient, reason), { id, dead: [{ to: recipient, reason }] });
    return {
      text: JSON.stringify(mailToolSuccess({ message_id: id, recipient, status: 'queued' })),
      to: looked.found.cell,
    };
  });
  return withEnd(chain, (settled) => {
    const to = (settled as { readonly to?: string } | null)?.to;
    if (to !== undefined) session.writtenTo = [...session.writtenTo, to as never];
  });
};

const deadFor = ({ why, hidden }: { readonly why: string; readonly hidden?: Member }): DeadLetter['reason'] => {
  if (hidden !== undefined) return 'refused';
  return why === 'ended' ? 'ended' : 'unknown';
};

/** For the ledgers of both: its sender is told no more than if there were nobody. */
const refuseAt = ({ runtime }: Cell, to: Member, content: string, at: number): void => {
  const door = { grants: [], ledger: runtime.liveRun.ledger, at };
  cross({ kind: 'message', from: runtime.cellId, to: to.cell, content, labels: [] }, door);
};

/** The same chain, told of its value. */
const withEnd = (chain: ToolCallChain, onValue: (value: Json) => void): ToolCallChain => ({
  begin: chain.begin,
  after: (place, settled, no) => {
    if (settled.ok) onValue(settled.value);
    return chain.after(place, settled, no);
  },
});

const wrongMessage = (message: string): MailToolReply | null => {
  if (message.trim() === '') return mailRefusals.invalid('The message is empty.', 'Say something.');
  const bytes = utf8Bytes(message);
  return bytes > mailBytesMax
    ? mailRefusals.invalid(
        `The message has ${bytes} bytes; ${mailBytesMax} are allowed.`,
        'Send less, or a part at a time.',
      )
    : null;
};

const subscribe: ChainOf = (call, args, session) =>
  postChain(call, session, () => {
    const self = senderIdentity(session.cell);
    const topic = textOf(args['topic']);
    if (!isTopic(topic)) return mailToolValue(mailRefusals.topic(topic, 'is no name of a topic', self.topics.hear));
    if (!self.topics.hear.includes(topic))
      return mailToolValue(mailRefusals.topic(topic, 'is not yours to hear', self.topics.hear));
    session.cell.runtime.liveRun.post.directory.subscribe(self, topic);
    return mailToolValue(mailToolSuccess({ topic, subscribed_topics: [...self.heard] }), { subscribed: topic });
  });

const publish: ChainOf = (call, args, session) => {
  const { cell } = session;
  const [topic, message] = [textOf(args['topic']), textOf(args['message'])];
  const id = newMailId(session);
  const hops = session.hops + 1;
  const wrong = wrongMessage(message);
  if (wrong !== null) return postChain(call, session, () => mailToolValue(wrong));
  const loop = mailLoopFailure(session, [`topic ${topic}`], hops);
  if (loop !== null) return { stop: loop };
  return postChain(call, session, (at) => {
    const self = senderIdentity(cell);
    const { say } = self.topics;
    if (!isTopic(topic)) return mailToolValue(mailRefusals.topic(topic, 'is no name of a topic', say));
    if (!say.includes(topic)) return mailToolValue(mailRefusals.topic(topic, 'is not yours to speak on', say));
    const draft = { id, type: 'broadcast', text: message, topic, correlation: null, hops } as const;
    const { directory, heardOutside } = cell.runtime.liveRun.post;
    if (heardOutside.has(topic)) sendTo(cell, 'outside', draft, at);
    const dead = directory
      .subscribersOf(topic)
      .filter((hearer) => hearer.cell !== self.cell && !directory.isSibling(self, hearer))
      .flatMap((hearer): DeadLetter[] => {
        const reason = sendTo(cell, hearer, draft, at);
        return reason === null ? [] : [{ to: hearer.name, reason, type: 'broadcast', topic }];
      });
    return mailToolValue(mailToolSuccess({ topic, message_id: id }), { id, ...(dead.length === 0 ? {} : { dead }) });
  });
};

const receiveMax = 20;

const receiveMessage: ChainOf = (call, args, session) => {
  const names = listOf(args['from']);
  const all = args['wait_for'] === 'all';
  return receiveChain(call, session, args, () => {
    const { directory } = session.cell.runtime.liveRun.post;
    const self = senderIdentity(session.cell);
    const senders: Member['cell'][] = [];
    for (const name of names ?? []) {
      const cell = ownChild(session, name) ?? directory.lookup(self, name).found?.cell;
      if (cell === undefined) return unknownSender(name, directory.lookup(self, name));
      senders.push(cell);
    }
    if (names === undefined) return { box: 'mail', max: receiveMax };
    // From those who have ended nothing comes any more: nobody waits for that.
    const isOver = (sender: Member['cell']): boolean =>
      directory.get(sender) === undefined && !self.box.unread.some(({ from }) => from === sender);
    if (senders.every(isOver)) return { settle: { messages: [], missing: names } };
    return { box: 'mail', max: receiveMax, from: senders, names, all };
  });
};

/** Those that it spawned are known to it by name also after their end: what they wrote may still lie there. */
const ownChild = ({ spawned }: Session, name: string): Member['cell'] | undefined =>
  spawned.find(({ as }) => as.name === name)?.pending.operation.cell;

const unknownSender = (
  name: string,
  looked: { readonly found?: unknown; readonly known?: readonly string[] },
): { settle: ReceiveResult } => ({
  settle: { messages: [], unknown: { name: name.slice(0, 80), known: looked.known ?? [] } },
});

const receiveBroadcast: ChainOf = (call, args, session) => {
  const topics = listOf(args['topics']);
  return receiveChain(call, session, args, () => {
    const { heard } = senderIdentity(session.cell);
    const deaf = topics?.find((topic) => !heard.has(topic));
    if (deaf !== undefined)
      return { settle: { messages: [], unknown: { name: deaf.slice(0, 80), known: [...heard], topic: true } } };
    return { box: 'topics', max: receiveMax, ...(topics === undefined ? {} : { topics }) };
  });
};

const [timeoutDefaultMs, timeoutMaxMs] = [30_000, 600_000];

const receiveChain = (
  call: ToolCall,
  session: Session,
  args: JsonObject,
  wanted: ReceiveOperation['wanted'],
): ToolCallChain => {
  const asked = args['timeout_ms'];
  const ms = typeof asked === 'number' ? Math.min(asked, timeoutMaxMs) : timeoutDefaultMs;
  const nth = session.cell.nextOutput(call.name);
  return {
    begin: [
      {
        do: 'receive',
        name: `tool:${call.name}`,
        about: stepAbout(session, call),
        wanted,
        timeoutMs: Math.max(1, Math.min(ms, session.work.untilDeadlineMs())),
      },
    ],
    after: (_place, settled, no) => {
      const seqs = settled.ok ? (settled.value as unknown as ReceiveResult).messages : [];
      readMail(session, seqs);
      const shownMax = shownBytesMax(session.cell.limits);
      const all = receivedText(seqs.map((seq) => crossingAt(session, seq)));
      if (exceedsPreview(all, shownMax)) session.cell.keepOutput(outputName(call.name, nth, 'txt'), { text: all });
      const crossings = seqs.map((seq) => ({ from: 'crossing', seq }) as const);
      return {
        end: { show: { rule: 'received@1', of: [{ from: 'operation', no }, ...crossings], with: [shownMax, nth] } },
      };
    },
  };
};

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

const listOf = (value: Json | undefined): readonly string[] | undefined =>
  Array.isArray(value) && value.length > 0 ? value.map(String) : undefined;

const talking = {
  send_message: sendMessage,
  receive_message: receiveMessage,
  subscribe,
  publish,
  receive_broadcast: receiveBroadcast,
};

export const mailTool = (name: keyof typeof talking): ToolRunner => ({
  schema: mailSchemas[name],
  chain: talking[name],
});
