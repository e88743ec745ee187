// Renders mail for a model: as data, with the sender set by the runtime.
import { errorText1, limitSentence } from '#base';
import { decodeEnvelope, decodeMail, decodeRoutedMessages } from '#contracts';
import type { Envelope, ReceiveResult } from '#contracts';
import { exceedsPreview, previewIfLong, missingText, shownLines } from './child-result.ts';
import { dataFrame, toOneLine } from './data-frame.ts';
import { sourceCall, failureText, sourceText, toolMessage, userMessage } from './dialog.ts';
import { bytesForEach, outputName } from './preview.ts';
import type { ResolvedSource, Rule } from './rule.ts';

/** mail@1. Source: the crossing of a message that woke its reader. Numbers: most bytes shown, number of the output. */
export const mailRule: Rule = ([crossing], [bytesMax = 0, nth = 1]) => {
  const { heading, body, isOwn } = parseMail(crossing);
  // A message from the user is an instruction, like a goal, so it is not framed as data.
  if (isOwn === true) return userMessage(previewIfLong(body, bytesMax, mailOutputName(nth)));
  return userMessage(body === '' ? heading : dataFrame(heading, shownLines(body, bytesMax, mailOutputName(nth))));
};

/**
 * received@1. Sources: the call, the receive operation, and the crossings it returned. Numbers: most bytes shown, then the number
 * of each message's output. Each message is cut by itself: none can displace another, and a page of one holds no words of another.
 */
export const receivedRule: Rule = ([call, operation, ...crossings], [bytesMax = 0, ...numbers]) => {
  const { id, name } = sourceCall(call);
  if (operation?.from !== 'operation') throw new TypeError('received@1 needs an operation');
  if (!operation.settled.ok)
    return toolMessage(id, name, { type: 'error-text', value: failureText(operation.settled.failure) });
  const value = operation.settled.value as unknown as ReceiveResult;
  const shownMax = bytesForEach(bytesMax, crossings.length);
  const messages = crossings.map((crossing, index) => {
    const { heading, body } = parseMail(crossing);
    const output = outputName(name, numbers[index] ?? 1, 'txt');
    return body === '' ? heading : dataFrame(heading, shownLines(body, shownMax, output));
  });
  const lines = [headline(value), ...(messages.length === 0 ? [] : [messages.join('\n\n')])];
  return toolMessage(id, name, { type: value.unknown === undefined ? 'text' : 'error-text', value: lines.join('\n') });
};

/** deferred@1. Sources: the crossings of a person's messages that the session read while it worked for another. */
export const deferredRule: Rule = (crossings) => {
  const ids = crossings.map((crossing) => decodeMail(sourceText(crossing)).id);
  return userMessage(
    `Now answer the user's ${ids.length === 1 ? 'message' : 'messages'} ${ids.join(', ')}, which you read while you worked on something else.`,
  );
};

export const mailOutputName = (nth: number): string => outputName('mail', nth, 'txt');

export const mailBody = (crossing: ResolvedSource): string => parseMail(crossing).body;

export const isLongMail = (crossing: ResolvedSource, bytesMax: number): boolean =>
  exceedsPreview(parseMail(crossing).body, bytesMax);

/** routed@1. Source: the crossing. Number: index of the part in it. */
export const routedRule: Rule = ([crossing], [place = 0]) => {
  const { agent_id: sender, parts } = decodeRoutedMessages(sourceText(crossing));
  const part = parts[place];
  if (part === undefined) throw new TypeError('routed@1 needs an existing part');
  return userMessage(dataFrame(`From ${toOneLine(sender)}'s context (${part.category.toLowerCase()}):`, part.text));
};

const headline = ({ messages, timedOut, closing, unknown, missing }: ReceiveResult): string => {
  if (unknown?.topic === true)
    return `You are not subscribed to topic "${toOneLine(unknown.name)}". ${unknown.known.length === 0 ? 'You have no subscriptions; call subscribe first.' : `Your subscriptions: ${unknown.known.join(', ')}.`}`;
  if (unknown !== undefined)
    return `There is no agent named "${toOneLine(unknown.name)}" that you can message. ${reachableText(unknown.known)}`;
  const count =
    messages.length === 0 ? 'No messages' : messages.length === 1 ? '1 message' : `${messages.length} messages`;
  const absentText = missing === undefined || missing.length === 0 ? '' : ` Nothing from: ${missing.join(', ')}.`;
  return `${count}${timedOut === true ? ' before the timeout' : ''}.${absentText}${closing === true ? ' Shutdown requested: finish and stop.' : ''}`;
};

const reachableText = (names: readonly string[]): string =>
  names.length === 0 ? 'You cannot message any agent.' : `You can message: ${names.join(', ')}.`;

type ReadableMail = { readonly heading: string; readonly body: string; readonly isOwn?: boolean };

const parseMail = (crossing: ResolvedSource | undefined): ReadableMail => {
  if (crossing?.from !== 'crossing') throw new TypeError('the rule needs a crossing');
  if (crossing.kind === 'result') return readResultMail(decodeEnvelope(crossing.content));
  const { agent_id: sender, message_type: type, topic, id, text: body } = decodeMail(crossing.content);
  const from = sender === null ? 'the user' : toOneLine(sender);
  if (type === 'broadcast') return { heading: `${from} on topic ${topic} (message_id ${id}):`, body };
  const heading = `${type === 'answer' ? 'Answer' : 'Message'} from ${from} (message_id ${id}):`;
  return { heading, body, isOwn: sender === null };
};

const readResultMail = (envelope: Envelope & { agent_id?: string }): ReadableMail => {
  const { status, output, error, agent_id: sender = 'An agent' } = envelope;
  const why = error === null ? '' : ` Error (${error.class}): ${errorText1(error.code).summary}${limitSentence(error)}`;
  return {
    heading: `${toOneLine(sender)} has ended (message_type: result, status: ${status}).${why}${missingText(envelope)}`,
    body: output,
  };
};
