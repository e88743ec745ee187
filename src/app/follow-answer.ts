// Finds the answer to one message from outside in the frames of its run.
import type { CellId, ErrorCode } from '#base';
import { decodeMail } from '#contracts';
import type { Answer, DeadLetter, Frame, Mail, Status } from '#contracts';
import { followMessageStates } from '#core/events';
import type { FrameFold } from './frame-reader.ts';

/** Why no answer will come. */
type NoAnswerReason = { readonly noAnswer: string };

export type AnswerFold = FrameFold<Answer | NoAnswerReason> & {
  /** Whether the log has the message. */
  readonly isMessageKnown: boolean;
};

/** `message`: the message id; null: the message that the run was spawned with. */
export const followAnswer = (message: string | null): AnswerFold => {
  const mail = followMessageStates();
  let [reader, isRead]: [CellId | null, boolean] = [null, false];
  return {
    get isMessageKnown() {
      return reader !== null;
    },
    next: (frame) => {
      const { record } = frame;
      const answer = findAnswer(frame, message, isRead && frame.cell === reader);
      if (answer !== null) return [answer];
      if (record.type === 'open' && message === null) reader = record.birth.cell;
      if (frame.cell === reader && (isRead || message === null) && isWithheld(frame))
        return [{ noAnswer: 'The answer was refused and did not leave the run.' }];
      const own = mail.next(frame).find(({ id }) => id === message);
      if (own !== undefined) {
        reader = own.to === 'outside' ? reader : (own.to ?? reader);
        isRead ||= own.state === 'read';
        if (own.message_type === 'broadcast') return [{ noAnswer: 'Messages published on a topic are not answered.' }];
        if (own.state === 'dead')
          return [{ noAnswer: `${own.recipient_id} did not read the message (${own.reason}).` }];
      }
      const isOver = record.type === 'settle' && record.ended !== undefined && record.ended.cell === reader;
      return isOver ? [{ noAnswer: 'The agent ended without answering the message.' }] : [];
    },
  };
};

const findAnswer = (frame: Frame, message: string | null, isNext: boolean): Answer | null => {
  const { record, contents = [], at } = frame;
  if (record.type !== 'post' || record.name !== 'mail:answer') return null;
  const messages = contents
    .filter(({ kind, to }) => kind === 'message' && to === 'outside')
    .map(({ content }) => decodeMail(content));
  const found =
    messages.find(({ correlation_id: of }) => of === message) ??
    (isNext ? messages.find((one) => one.message_type === 'answer') : undefined);
  return found === undefined ? null : readAnswer(found, record, at);
};

/** A message to the outside, from the record with which it was sent. */
export const readAnswer = (
  { id, correlation_id, agent_id, text }: Mail,
  record: Extract<Frame['record'], { type: 'post' }>,
  at: number,
): Answer => {
  const { status, error = null } = (record.about ?? {}) as { status: Status; error?: ErrorCode };
  // Without an answer, the text is one that the runtime wrote; here the error code replaces it.
  const isAnswered = status === 'completed' || status === 'partial';
  return { id, correlation_id, agent_id: agent_id ?? '', status, text: isAnswered ? text : '', error, at };
};

const isWithheld = ({ record }: Frame): boolean =>
  record.type === 'post' &&
  record.name === 'mail:answer' &&
  ((record.value ?? {}) as { dead?: readonly DeadLetter[] }).dead?.some(({ to }) => to === 'outside') === true;
