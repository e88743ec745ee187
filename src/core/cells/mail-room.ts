// The run's side of mail: what a cell asks for is data, and is decided here, where everybody is known.
//
//   mail-sender-set-by-run. So neither a model nor a session can forge it.
//   mail-tells-reachable-names. A cell learns of others only what the settlement says: the names of those that it may write
//       to, and nothing else.
//   mail-decided-synchronously. What is sent crosses in the frame of the post.
import { CloisterError, encodeMessage, isoTime, utf8Bytes } from '#base';
import type { CellId, Json } from '#base';
import type {
  Agent,
  ChainRead,
  CrossingEnd,
  DeadLetter,
  DeadReason,
  Mail,
  PostRequest,
  ReceiveResult,
  Settlement,
  SpawnedChild,
  ReceiveRequest,
} from '#contracts';
import { mailRefusals, mailToolSuccess, mailToolValue, sessionHandle } from '#core/bus';
import type { LookupResult, MailFilter, Member } from '#core/bus';
import type { CrossingRequest, Door } from '#core/crossings';
import { isTopic } from '#core/registry';
import type { MailDelivery } from './mail-delivery.ts';

/** The cell that asks, and its run. */
export type MailRequester = {
  readonly cellId: CellId;
  readonly parent: CellId | null;
  readonly agent: Agent;
  readonly spawnedChildren: readonly SpawnedChild[];
  readonly run: {
    readonly mail: MailDelivery;
    readonly door: Door;
    readonly nextFrame: number;
  };
};

/** Decides a post. Whatever it sends has crossed when this returns. */
export const decidePost = (cell: MailRequester, request: PostRequest, at: number): Settlement<Json> => {
  try {
    return { at, ok: true, value: postValue(cell, request, at) };
  } catch (error) {
    if (error instanceof CloisterError) return { at, ok: false, failure: error.failure };
    return { at, ok: false, failure: { code: 'defect', detail: error instanceof Error ? error.message : undefined } };
  }
};

const postValue = (cell: MailRequester, request: PostRequest, at: number): Json => {
  switch (request.kind) {
    case 'record':
      return request.value;
    case 'send':
      return send(cell, request, at);
    case 'publish':
      return publish(cell, request, at);
    case 'subscribe':
      return subscribe(cell, request.topic);
    case 'answer':
      return answer(cell, request, at);
    case 'close-children':
      return closeChildren(cell, request);
    case 'list-children':
      return mailToolValue(mailToolSuccess({ agents: listChildren(cell) }));
    case 'report-end':
      return reportEnd(request);
    default:
      return request satisfies never;
  }
};

/** What a receive waits for, or the value that it settles with at once. */
export const decideWanted = (
  cell: MailRequester,
  wanted: ReceiveRequest,
): MailFilter | 'idle below' | { readonly settle: ReceiveResult } => {
  switch (wanted.kind) {
    case 'any':
      return { channel: 'any', max: wanted.max, ...(wanted.oneWork === true ? { oneWork: true } : {}) };
    case 'messages':
      return wantedMessages(cell, wanted);
    case 'broadcasts':
      return wantedBroadcasts(selfOf(cell), wanted);
    case 'idle-below':
      return 'idle below';
    case 'deferred':
      return { settle: { messages: [], deferred: wanted.messages } };
    default:
      return wanted satisfies never;
  }
};

const selfOf = ({ cellId, run }: MailRequester): Member => {
  const self = run.mail.directory.get(cellId);
  if (self === undefined) throw new CloisterError('defect', 'A cell without an address tried to send mail.');
  return self;
};

type Draft = Extract<PostRequest, { kind: 'send' }>;

const send = (cell: MailRequester, draft: Draft, at: number): Json => {
  const { id, to: name, text, correlation, expiresMs } = draft;
  const self = selfOf(cell);
  const lookup = cell.run.mail.directory.lookup(self, name);
  if (lookup.found === null && lookup.hidden !== undefined) recordRefusal(cell, lookup.hidden, text, at);
  if (lookup.found === null)
    return mailToolValue(/* probe: mail-not-found */ mailRefusals.notFound(name, lookup), {
      id,
      dead: [{ to: name.slice(0, 80), reason: deadReason(lookup) }],
    });
  const recipient = lookup.as ?? lookup.found.name;
  const chain = chainTo(draft.reads, lookup.found.cell, id);
  const message = { id, type: 'message', text, correlation, expiresMs, chain, recipient: lookup.as } as const;
  const reason = sendTo(cell, lookup.found, message, at);
  if (reason !== null)
    return mailToolValue(mailRefusals.undelivered(recipient, reason), { id, dead: [{ to: recipient, reason }] });
  return {
    text: JSON.stringify(mailToolSuccess({ message_id: id, recipient, status: 'queued' })),
    to: lookup.found.cell,
  };
};

const deadReason = ({ why, hidden }: Extract<LookupResult, { found: null }>): DeadReason => {
  if (hidden !== undefined) return 'refused';
  return why === 'ended' ? 'ended' : 'unknown';
};

const publish = (cell: MailRequester, request: Extract<PostRequest, { kind: 'publish' }>, at: number): Json => {
  const { id, text, topic } = request;
  const self = selfOf(cell);
  const { say } = self.topics;
  if (!isTopic(topic)) return mailToolValue(mailRefusals.topic(topic, 'is not a valid topic name', say));
  if (!say.includes(topic)) return mailToolValue(mailRefusals.topic(topic, 'is not a topic you can publish on', say));
  const chain = chainTo(request.reads, null, id);
  const message = { id, type: 'broadcast', text, topic, correlation: null, chain } as const;
  const { directory, outsideTopics } = cell.run.mail;
  if (outsideTopics.has(topic)) sendTo(cell, 'outside', message, at);
  const dead = directory
    .subscribersOf(topic)
    .filter((subscriber) => subscriber.cell !== self.cell && !directory.isSibling(self, subscriber))
    .flatMap((subscriber): DeadLetter[] => {
      const reason = sendTo(cell, subscriber, message, at);
      return reason === null ? [] : [{ to: subscriber.name, reason, type: 'broadcast', topic }];
    });
  return mailToolValue(mailToolSuccess(/* probe: publish-reply */ { topic, message_id: id }), {
    id,
    ...(dead.length === 0 ? {} : { dead }),
  });
};

const subscribe = (cell: MailRequester, topic: string): Json => {
  const self = selfOf(cell);
  const { hear } = self.topics;
  if (!isTopic(topic)) return mailToolValue(mailRefusals.topic(topic, 'is not a valid topic name', hear));
  if (!hear.includes(topic))
    return mailToolValue(mailRefusals.topic(topic, 'is not a topic you can subscribe to', hear));
  const subscriptions = new Set([...self.subscriptions, topic]);
  return mailToolValue(mailToolSuccess({ topic, subscribed_topics: [...subscriptions] }), { subscribed: topic });
};

/** If the asker has ended meanwhile, the answer is recorded as undeliverable. */
const answer = (cell: MailRequester, request: Extract<PostRequest, { kind: 'answer' }>, at: number): Json => {
  const { id, to: end, type, text, correlation, reads } = request;
  const to = end === 'outside' ? ('outside' as const) : cell.run.mail.directory.get(end);
  const message = { id, type, text, correlation, chain: chainTo(reads, end, id) };
  // probe: answer-send
  const reason = to === undefined ? 'ended' : sendTo(cell, to, message, at);
  if (reason === null) return {};
  return { dead: [{ id, to: to === undefined || to === 'outside' ? end : to.name, reason, type, correlation }] };
};

/** Idle children end immediately; the others end when they have finished their current work. */
const closeChildren = (cell: MailRequester, request: Extract<PostRequest, { kind: 'close-children' }>): Json => {
  const { directory } = cell.run.mail;
  const unread = directory.get(cell.cellId)?.mailbox.unread ?? [];
  // What an agent said last is in its answer; its result only repeats it.
  const hasUnreadWords = (one: CellId): boolean => unread.some(({ from, kind }) => from === one && kind !== 'result');
  // Nobody asks the children of another to finish.
  const children = request.children.map((one) => {
    const member = directory.get(one);
    return { cell: one, mailbox: member?.parent === cell.cellId ? member.mailbox : undefined };
  });
  // Whoever still works may have more to say.
  const unheard = [
    ...children.flatMap(({ cell: one, mailbox }) => (mailbox?.idle === false || hasUnreadWords(one) ? [one] : [])),
    ...request.ended.filter(hasUnreadWords),
  ];
  return { asked: request.children, unheard };
};

const listChildren = ({ cellId, spawnedChildren, run }: MailRequester): readonly Json[] =>
  spawnedChildren.map(({ pending, identity, spawnedAt }) => {
    const member = run.mail.directory.get(pending.operation.cell);
    return {
      // probe: spawned-listed
      sub_agent_id: identity.name,
      session_id: sessionHandle(pending.operation.cell),
      parent_session: sessionHandle(cellId),
      workflow_id: identity.workflow,
      spawned_at: isoTime(spawnedAt),
      subscriptions: [...(member?.subscriptions ?? identity.topics)],
      metadata: identity.metadata ?? {},
      status: member === undefined ? 'ended' : member.mailbox.idle ? 'waiting' : 'running',
    };
  });

const reportEnd = ({ name, status, seq }: Extract<PostRequest, { kind: 'report-end' }>): Json =>
  mailToolValue(mailToolSuccess({ sub_agent_id: name, status }), seq === null ? {} : { told: [seq] });

const wantedMessages = (
  cell: MailRequester,
  { from: names, all = false, max }: Extract<ReceiveRequest, { kind: 'messages' }>,
): ReturnType<typeof decideWanted> => {
  if (names === undefined) return { channel: 'mail', max };
  const { directory } = cell.run.mail;
  const self = selfOf(cell);
  const senders: CellId[] = [];
  for (const name of names) {
    const sender = ownChild(cell, name) ?? directory.lookup(self, name).found?.cell;
    if (sender === undefined) return unknownSender(name, directory.lookup(self, name));
    senders.push(sender);
  }
  // Ended agents send nothing more, so there is nothing to wait for.
  const hasEnded = (sender: CellId): boolean =>
    directory.get(sender) === undefined && !self.mailbox.unread.some(({ from }) => from === sender);
  if (senders.every(hasEnded)) return { settle: { messages: [], missing: names } };
  return { channel: 'mail', max, from: senders, names, all };
};

/** An agent knows its spawned children by name even after they ended: their messages may still be unread. */
const ownChild = ({ spawnedChildren }: MailRequester, name: string): CellId | undefined =>
  spawnedChildren.find(({ identity }) => identity.name === name)?.pending.operation.cell;

const unknownSender = (name: string, lookup: LookupResult): { readonly settle: ReceiveResult } => ({
  settle: {
    messages: [],
    unknown: { name: name.slice(0, 80), known: lookup.found === null ? lookup.known : [] },
  },
});

const wantedBroadcasts = (
  { subscriptions }: Member,
  { topics, max }: Extract<ReceiveRequest, { kind: 'broadcasts' }>,
): ReturnType<typeof decideWanted> => {
  const notSubscribed = topics?.find((topic) => !subscriptions.has(topic));
  if (notSubscribed !== undefined)
    return {
      settle: { messages: [], unknown: { name: notSubscribed.slice(0, 80), known: [...subscriptions], topic: true } },
    };
  return { channel: 'topics', max, ...(topics === undefined ? {} : { topics }) };
};

/** The chain of a message: that of the recipient's own message, or of the newest one read, or a new one. */
const chainTo = (reads: readonly ChainRead[], to: CrossingEnd | null, id: string): string => {
  const own = reads.findLast(({ from }) => from === to);
  // probe: mail-chain
  return own?.chain ?? reads.at(-1)?.chain ?? id;
};

type Message = Pick<Mail, 'id' | 'text' | 'topic' | 'chain'> & {
  readonly type: Mail['message_type'];
  readonly correlation: string | null;
  readonly expiresMs?: number | undefined;
  /** The intended recipient, if the receiving cell accepts mail on its behalf. */
  readonly recipient?: string | undefined;
};

/** Null if the message crossed; otherwise why it did not. */
const sendTo = (cell: MailRequester, to: Member | 'outside', message: Message, at: number): DeadReason | null => {
  const self = selfOf(cell);
  const kind = message.type === 'broadcast' ? 'broadcast' : 'message';
  const { id, type, text, topic, correlation, expiresMs, recipient, chain } = message;
  const head: Omit<Mail, 'text'> = {
    id,
    message_type: type,
    // probe: mail-sender
    agent_id: self.name,
    recipient_id: to === 'outside' ? 'person' : (recipient ?? to.name),
    ...(topic === undefined ? {} : { topic }),
    correlation_id: correlation,
    at,
    ...(expiresMs === undefined ? {} : { expires_at: at + expiresMs }),
    chain,
  };
  const content = encodeMessage(head, /* probe: mail-text */ text);
  // An answer always fits: there is at most one for each message that its reader sent.
  if (to !== 'outside' && type !== 'answer' && !to.mailbox.hasRoom(self.cell, utf8Bytes(content))) return 'overflow';
  const end: CrossingEnd = to === 'outside' ? to : to.cell;
  return crossMail(cell, { kind, from: self.cell, to: end, content, topic }, at);
};

/** Records the refusal in both ledgers. The sender gets the same reply as for an unknown name. */
const recordRefusal = (cell: MailRequester, to: Member, content: string, at: number): void =>
  void crossMail(cell, { kind: 'message', from: cell.cellId, to: to.cell, content }, at);

const crossMail = ({ run }: MailRequester, mail: CrossingRequest, at: number): DeadReason | null => {
  const passed = run.door.cross(mail, { at, frame: run.nextFrame });
  return 'refused' in passed ? 'refused' : null;
};
