// The events of the messages that changed with a frame.
import { decodeMail } from '#contracts';
import type { CrossingKind, Frame } from '#contracts';
import type { EventBody } from './event-envelope.ts';
import type { MessageFold } from './mail-states.ts';

export const mailEvents = (frame: Frame, mail: MessageFold): readonly EventBody[] =>
  mail.next(frame).map((report): EventBody => {
    const { id: message, message_type: kind, from, to, agent_id: sender, recipient_id: recipient } = report;
    const { topic, correlation_id: correlation, state: is, reason } = report;
    const cell = is === 'queued' || to === null || to === 'outside' ? frame.cell : to;
    const text = is === 'queued' && (from === 'outside' || to === 'outside') ? mailText(frame, message) : null;
    const unasked = to === 'outside' && kind === 'message';
    const ends = { message, kind, from, to, sender, recipient, topic, correlation };
    return { type: 'mail', cell, ...ends, state: is, reason, text, unasked };
  });

const mailText = ({ contents = [] }: Frame, id: string): string | null =>
  contents
    .filter(({ kind, from, to }) => isMail(kind) && (from === 'outside' || to === 'outside'))
    .map(({ content }) => decodeMail(content))
    .find((mail) => mail.id === id)?.text ?? null;

const isMail = (kind: CrossingKind): boolean => kind === 'message' || kind === 'broadcast';
