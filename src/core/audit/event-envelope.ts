// Who says what to whom: the same on every event.
import type { CellId } from '#base';
import type { DurableEvent, CrossingEnd } from '#contracts';

type Envelope = Pick<DurableEvent, 'agent_id' | 'recipient_id' | 'message_type' | 'correlation_id'>;

/** An event as its frame tells it. */
export type EventBody = DurableEvent extends infer E
  ? E extends DurableEvent
    ? Omit<E, 'id' | 'run' | 'agent' | 'at' | keyof Envelope>
    : never
  : never;

export const eventEnvelope = (told: EventBody, nameOf: (cell: CellId) => string): Envelope => {
  const named = (end: CrossingEnd): string => (end === 'outside' ? 'person' : nameOf(end));
  switch (told.type) {
    case 'crossing':
    case 'crossing-refused':
      return {
        agent_id: named(told.from),
        recipient_id: named(told.to),
        message_type: told.kind,
        correlation_id: null,
      };
    case 'mail':
      return {
        agent_id: told.sender ?? 'person',
        recipient_id: told.recipient,
        message_type: told.kind,
        correlation_id: told.message,
      };
    case 'task':
      return {
        agent_id: nameOf(told.cell),
        recipient_id: told.assignee,
        message_type: told.type,
        correlation_id: told.task,
      };
    default:
      return {
        agent_id: nameOf(told.cell),
        recipient_id: null,
        message_type: told.type,
        correlation_id: 'op' in told ? String(told.op) : null,
      };
  }
};
