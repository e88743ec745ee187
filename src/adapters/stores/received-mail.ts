// What a `receive` handed out, as text for a step file. The messages themselves are in earlier frames.
import { decodeEnvelope, decodeMail } from '#contracts';
import type { CrossingContent, Frame, ReceiveResult } from '#contracts';
import { firstChars } from './run-facts.ts';

/** Takes the frames of one run in order. For the end of a `receive` it returns what was received. */
type ReceivedMailFold = (frame: Frame) => string | undefined;

const textCharsMax = 2000;

export const openMailFold = (): ReceivedMailFold => {
  const unread = new Map<string, string>();
  const receives = new Set<string>();
  return ({ cell, record, contents = [] }) => {
    for (const content of contents) {
      const line = describeContent(content);
      if (line !== null) unread.set(`${content.cell}/${content.seq}`, line);
    }
    if (record.type === 'begin' && record.do === 'receive') receives.add(`${cell}/${record.op}`);
    if (record.type !== 'settle' || !receives.delete(`${cell}/${record.op}`) || !record.ok) return undefined;
    const result = record.value as unknown as ReceiveResult;
    const lines = result.messages.map((seq) => unread.get(`${cell}/${seq}`) ?? '');
    for (const seq of [...result.messages, ...(result.expired ?? [])]) unread.delete(`${cell}/${seq}`);
    return [headline(result), ...lines].join('\n');
  };
};

/** Null if it is not mail for the cell that holds it. */
const describeContent = ({ cell, to, kind, content }: CrossingContent): string | null => {
  if (cell !== to) return null;
  if (kind === 'result') {
    const { agent_id: sender = 'An agent', status, output } = decodeEnvelope(content);
    return firstChars(`${sender} has ended (${status}): ${output}`, textCharsMax);
  }
  if (kind !== 'message' && kind !== 'broadcast') return null;
  const { agent_id: sender, message_type: type, topic, text } = decodeMail(content);
  const from = `${type === 'answer' ? 'Answer' : 'Message'} from ${sender ?? 'the user'}`;
  return firstChars(`${from}${topic === undefined ? '' : ` on topic ${topic}`}: ${text}`, textCharsMax);
};

const headline = ({ messages, missing = [], unknown, timedOut }: ReceiveResult): string => {
  if (unknown !== undefined) return `Unknown ${unknown.topic === true ? 'topic' : 'agent'} "${unknown.name}".`;
  const count = `Received ${messages.length === 1 ? '1 message' : `${messages.length} messages`}`;
  const absent = missing.length === 0 ? '' : ` Nothing from: ${missing.join(', ')}.`;
  return `${count}${timedOut === true ? ' before the timeout' : ''}.${absent}`;
};
