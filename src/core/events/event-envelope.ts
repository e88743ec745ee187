// Adds sender, recipient and message type, the same on every event.
import type { CellId } from '#base';
import type { DurableEvent, CrossingEnd } from '#contracts';

type Envelope = Pick<DurableEvent, 'agent_id' | 'recipient_id' | 'message_type' | 'correlation_id'>;

/** An event before the fields common to all events are added. */
export type EventBody = DurableEvent extends infer E
  ? E extends DurableEvent
    ? Omit<E, 'id' | 'run' | 'agent' | 'at' | keyof Envelope>
    : never
  : never;

export const eventEnvelope = (event: EventBody, nameOf: (cell: CellId) => string): Envelope => {
  const endName = (end: CrossingEnd): string => (end === 'outside' ? 'person' : nameOf(end));
  switch (event.type) {
    case 'crossing':
    case 'crossing-refused':
      return {
        agent_id: endName(event.from),
        recipient_id: endName(event.to),
        message_type: event.kind,
        correlation_id: null,
      };
    case 'mail':
      return {
        agent_id: event.sender ?? 'person',
        recipient_id: event.recipient,
        message_type: event.kind,
        correlation_id: event.message,
      };
    case 'task':
      return {
        agent_id: nameOf(event.cell),
        recipient_id: event.assignee,
        message_type: event.type,
        correlation_id: event.task,
      };
    default:
      return {
        agent_id: nameOf(event.cell),
        recipient_id: null,
        message_type: event.type,
        correlation_id: 'op' in event ? String(event.op) : null,
      };
  }
};

/** a … z, za … zz, zza …: these sort in order of occurrence. */
export const suffixLetters = (index: number): string =>
  index < 25 ? String.fromCodePoint(97 + index) : `z${suffixLetters(index - 25)}`;
