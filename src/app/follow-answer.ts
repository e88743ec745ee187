// The answer to one message from outside, as the frames of its run tell it.
import { decodeMessage } from '#base';
import type { CellId, ErrorCode } from '#base';
import type { Answer, CrossingContent, DeadLetter, Frame, Mail, Status } from '#contracts';
import { followMail } from '#core/audit';
import type { Fold } from './frame-reader.ts';

/** Why no answer will come. */
export type NoAnswerReason = { readonly lost: string };

export type AnswerFold = Fold<Answer | NoAnswerReason> & {
  /** Whether the log has the message. */
  readonly known: boolean;
};

/** `message`: its id; null: what the run was spawned with. */
export const followAnswer = (message: string | null): AnswerFold => {
  const mail = followMail();
  let [reader, isRead]: [CellId | null, boolean] = [null, false];
  return {
    get known() {
      return reader !== null;
    },
    next: (frame) => {
      const { record } = frame;
      const answer = answerIn(frame, message, isRead && frame.cell === reader);
      if (answer !== null) return [answer];
      if (record.type === 'open' && message === null) reader = record.birth.cell;
      if (frame.cell === reader && (isRead || message === null) && isWithheld(frame))
        return [{ lost: 'Its answer was not let out.' }];
      const own = mail.next(frame).find(({ id }) => id === message);
      if (own !== undefined) {
        reader = own.to === 'outside' ? reader : (own.to ?? reader);
        isRead ||= own.state === 'read';
        if (own.message_type === 'broadcast') return [{ lost: 'What is published asks for no answer.' }];
        if (own.state === 'dead') return [{ lost: `${own.recipient_id} has not read it (${own.reason}).` }];
      }
      const isOver = record.type === 'settle' && record.ended !== undefined && record.ended.cell === reader;
      return isOver ? [{ lost: 'The agent has ended without an answer to it.' }] : [];
    },
  };
};

const answerIn = (frame: Frame, message: string | null, isNext: boolean): Answer | null => {
  const { record, contents = [], at } = frame;
  if (record.type !== 'post' || record.name !== 'mail:answer') return null;
  const said = contents.filter(({ kind, to }) => kind === 'message' && to === 'outside').map(mailIn);
  const found = said.find(({ correlation_id: of }) => of === message) ?? (isNext ? said[0] : undefined);
  if (found === undefined) return null;
  const { id, correlation_id, agent_id, text } = found;
  const { status, error = null } = (record.about ?? {}) as { status: Status; error?: ErrorCode };
  // Without an answer the runtime says so in words of its own; here the code does.
  const isAnswered = status === 'completed' || status === 'partial';
  return { id, correlation_id, agent_id: agent_id ?? '', status, text: isAnswered ? text : '', error, at };
};

const isWithheld = ({ record }: Frame): boolean =>
  record.type === 'post' &&
  record.name === 'mail:answer' &&
  ((record.value ?? {}) as { dead?: readonly DeadLetter[] }).dead?.some(({ to }) => to === 'outside') === true;

const mailIn = ({ content }: CrossingContent): Mail => decodeMessage(content) as Mail;
