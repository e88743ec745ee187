// The tools agents use to message each other. Each call is one operation, and its reply contains only fixed text and the agent's own.
//
//   mail-reply-reachable-state. A reply shows the state of another agent (mailbox full, ended, answered) only if the sender
//       may message that agent.
//   publisher-learns-nobody. A publisher never learns who receives its message.
import { utf8Bytes } from '#base';
import type { Json, JsonObject } from '#base';
import type { PostRequest, ReceiveResult, ReceiveRequest } from '#contracts';
import { mailRefusals, mailToolValue } from '#core/bus';
import type { MailToolReply } from '#core/bus';
import { bytesForEach, isLongMail, mailBody, outputName } from '#core/rules';
import {
  crossingAt,
  mailLoopFailure,
  mailBytesMax,
  mailSchemas,
  newMailId,
  noteMailRead,
  stepAbout,
  stepChain,
} from '#core/session';
import type { ToolCall, ToolCallChain, Session, ToolRunner } from '#core/session';

type StartChain = (call: ToolCall, args: JsonObject, session: Session) => ReturnType<ToolRunner['createChain']>;

/** One recorded operation whose text is the tool's result. */
export const postChain = (call: ToolCall, session: Session, request: PostRequest): ToolCallChain =>
  stepChain({ do: 'post', name: `tool:${call.name}`, about: stepAbout(session, call), request });

/** A reply that concerns nobody else. */
export const recordReply = (reply: MailToolReply): PostRequest => ({ kind: 'record', value: mailToolValue(reply) });

const sendMessage: StartChain = (call, args, session) => {
  const [to, text, replyTo] = [asText(args['to']), asText(args['message']), args['reply_to']];
  const id = newMailId(session, `to ${to.slice(0, 80)}`);
  const problem = messageProblem(text);
  if (problem !== null) return postChain(call, session, recordReply(problem));
  const loop = mailLoopFailure(session, to);
  if (loop !== null) return { stop: loop };
  const expires = args['expires_ms'];
  const sending = postChain(call, session, {
    kind: 'send',
    id,
    to,
    text,
    correlation: typeof replyTo === 'string' ? replyTo.slice(0, 80) : null,
    ...(typeof expires === 'number' ? { expiresMs: expires } : {}),
    reads: session.reads,
  });
  return onChainValue(sending, (settled) => {
    const recipient = (settled as { readonly to?: string } | null)?.to;
    if (recipient !== undefined) session.recipients = [...session.recipients, recipient as never];
  });
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
  postChain(call, session, { kind: 'subscribe', topic: asText(args['topic']) });

const publish: StartChain = (call, args, session) => {
  const [topic, text] = [asText(args['topic']), asText(args['message'])];
  const id = newMailId(session, `on ${topic.slice(0, 80)}`);
  const problem = messageProblem(text);
  if (problem !== null) return postChain(call, session, recordReply(problem));
  const loop = mailLoopFailure(session, `topic ${topic}`);
  if (loop !== null) return { stop: loop };
  return postChain(call, session, { kind: 'publish', id, topic, text, reads: session.reads });
};

const receiveMax = 20;

const receiveMessage: StartChain = (call, args, session) =>
  receiveChain(call, session, args, {
    kind: 'messages',
    from: asList(args['from']),
    all: args['wait_for'] === 'all',
    max: receiveMax,
  });

const receiveBroadcast: StartChain = (call, args, session) =>
  receiveChain(call, session, args, { kind: 'broadcasts', topics: asList(args['topics']), max: receiveMax });

const [timeoutDefaultMs, timeoutMaxMs] = [30_000, 600_000];

const receiveChain = (call: ToolCall, session: Session, args: JsonObject, wanted: ReceiveRequest): ToolCallChain => {
  const requestedMs = args['timeout_ms'];
  const ms = typeof requestedMs === 'number' ? Math.min(requestedMs, timeoutMaxMs) : timeoutDefaultMs;
  const { runtime } = session.cell;
  const beganAtMs = runtime.ageMs;
  return {
    begin: [
      {
        do: 'receive',
        name: `tool:${call.name}`,
        about: stepAbout(session, call),
        wanted,
        timeoutMs: session.workClock.waitMs(ms),
      },
    ],
    onSettled: (_place, settled, no) => {
      const seqs = settled.ok ? (settled.value as unknown as ReceiveResult).messages : [];
      session.workClock.addWait({ at: runtime.now, ms: runtime.ageMs - beganAtMs });
      noteMailRead(session, seqs);
      const { cell } = session;
      const shownMax = cell.shownBytesMax;
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
