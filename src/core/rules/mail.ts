// Mail as it is shown to a model: data, with the sender set by the runtime.
import { errorCatalogue, decodeMessage } from '#base';
import type { Envelope, Mail, ReceiveResult, RoutedMessages } from '#contracts';
import { exceedsPreview, previewIfLong } from './child-result.ts';
import { dataFrame, oneLineOf } from './data-frame.ts';
import { sourceCall, failureText, sourceText, toolMessage, userMessage } from './dialog.ts';
import { outputName } from './preview.ts';
import type { ResolvedSource, Rule } from './rule.ts';

/** mail@1 of the crossing of a message that woke its reader; numbers: bytes shown at most, nth output. */
export const mail: Rule = ([crossing], [bytesMax = 0, nth = 1]) => {
  const { heading, body, isOwn } = letter(crossing);
  // What the person says is what it is for: like a goal, not like data.
  if (isOwn === true) return userMessage(previewIfLong(body, bytesMax, mailOutput(nth)));
  return userMessage(body === '' ? heading : dataFrame(heading, previewIfLong(body, bytesMax, mailOutput(nth))));
};

/** received@1 of the call, the receive and the crossings that it was handed; numbers: bytes shown at most, nth output. */
export const receivedRule: Rule = ([call, operation, ...crossings], [bytesMax = 0, nth = 1]) => {
  const { id, name } = sourceCall(call);
  if (operation?.from !== 'operation') throw new TypeError('received@1 needs an operation');
  if (!operation.settled.ok)
    return toolMessage(id, name, { type: 'error-text', value: failureText(operation.settled.failure) });
  const value = operation.settled.value as unknown as ReceiveResult;
  const all = receivedText(crossings);
  const lines = [headline(value), ...(all === '' ? [] : [previewIfLong(all, bytesMax, outputName(name, nth, 'txt'))])];
  return toolMessage(id, name, { type: value.unknown === undefined ? 'text' : 'error-text', value: lines.join('\n') });
};

/** Every message that was received, framed, one after the other. */
export const receivedText = (crossings: readonly ResolvedSource[]): string =>
  crossings
    .map(letter)
    .map(({ heading, body }) => (body === '' ? heading : dataFrame(heading, body)))
    .join('\n\n');

export const mailOutput = (nth: number): string => outputName('mail', nth, 'txt');

export const mailText = (crossing: ResolvedSource): string => letter(crossing).body;

export const isLongMail = (crossing: ResolvedSource, bytesMax: number): boolean =>
  exceedsPreview(letter(crossing).body, bytesMax);

/** routed@1 of the crossing, and the place of one part in it. */
export const routedRule: Rule = ([crossing], [place = 0]) => {
  const { agent_id: sender, parts } = JSON.parse(sourceText(crossing)) as RoutedMessages;
  const part = parts[place];
  if (part === undefined) throw new TypeError('routed@1 needs a part that is there');
  return userMessage(dataFrame(`From the window of ${oneLineOf(sender)} (${part.category.toLowerCase()}):`, part.text));
};

const headline = ({ messages, timedOut, closing, unknown, missing }: ReceiveResult): string => {
  if (unknown?.topic === true)
    return `You do not hear the topic "${oneLineOf(unknown.name)}". ${unknown.known.length === 0 ? 'You hear none: subscribe first.' : `You hear: ${unknown.known.join(', ')}.`}`;
  if (unknown !== undefined)
    return `There is nobody called "${oneLineOf(unknown.name)}" that you may write to. ${known(unknown.known)}`;
  const count =
    messages.length === 0 ? 'No messages' : messages.length === 1 ? '1 message' : `${messages.length} messages`;
  const without = missing === undefined || missing.length === 0 ? '' : ` Nothing came from: ${missing.join(', ')}.`;
  return `${count}${timedOut === true ? ' in that time' : ''}.${without}${closing === true ? ' You are asked to come to an end.' : ''}`;
};

const known = (names: readonly string[]): string =>
  names.length === 0 ? 'You may write to nobody here.' : `You may write to: ${names.join(', ')}.`;

type Letter = { readonly heading: string; readonly body: string; readonly isOwn?: boolean };

const letter = (crossing: ResolvedSource | undefined): Letter => {
  if (crossing?.from !== 'crossing') throw new TypeError('the rule needs a crossing');
  if (crossing.kind === 'result') return ended(JSON.parse(crossing.content) as Envelope & { agent_id?: string });
  const { agent_id: sender, message_type: type, topic, id, text: body } = decodeMessage(crossing.content) as Mail;
  const from = sender === null ? 'the person you work for' : oneLineOf(sender);
  if (type === 'broadcast') return { heading: `${from} on the topic ${topic} (message_id ${id}):`, body };
  const heading = `${type === 'answer' ? 'Answer' : 'Message'} from ${from} (message_id ${id}):`;
  return { heading, body, isOwn: sender === null };
};

const ended = ({ status, output, error, agent_id: sender = 'An agent' }: Envelope & { agent_id?: string }): Letter => {
  const why = error === null ? '' : ` Error (${error.class}): ${errorCatalogue[error.code].summary}`;
  return {
    heading: `${oneLineOf(sender)} has ended (message_type: result, status: ${status}).${why}`,
    body: output,
  };
};
