// Summarises old turns with a model in its own cell, if the agent's file asks for it.
//
//   summary-is-a-crossing. So it has an origin like everything else.
//   summary-is-optional. If it fails or is too long, code makes room instead.
import { decodeEnvelope } from '#contracts';
import type { Model, Segment } from '#contracts';
import { dropEarlierCalls, findOldTurns } from '#core/memory';
import type { Session } from './state.ts';
import { textRoom, windowLimit } from './window-limit.ts';

export const compactByModel = async (session: Session, model: Model): Promise<void> => {
  const { cell, window, ports } = session;
  const room = textRoom(session, model, windowLimit(session, model));
  dropEarlierCalls(window, room);
  const range = findOldTurns(window, room);
  if (range === null) return;
  const [first, last] = range;
  const old = window.view.slice(first, last + 1);
  const pending = ports.compact?.(session, old.map(segmentText).join('\n\n')) ?? null;
  if (pending === null) return;
  const { no, settled } = await cell.runtime.first([pending]);
  cell.record(no, settled!);
  session.workClock.add(settled!);
  if (!settled!.ok) return;
  const { crossing: seq } = settled!.value;
  const { status, output } = decodeEnvelope(cell.runtime.received.at(seq)?.content ?? 'null');
  const bytes = old.reduce((sum, segment) => sum + segment.bytes, 0);
  if (status !== 'completed' || output.trim() === '' || output.length * 2 > bytes) return;
  window.replace(first, last, { rule: 'summary@1', of: [{ from: 'crossing', seq }] }, 'DIALOG');
};

/** A segment as plain text. */
const segmentText = ({ part }: Segment): string => {
  if (!('message' in part)) return '';
  const { role, content } = part.message;
  if (typeof content === 'string') return `${role}: ${content}`;
  return content
    .map((item) => {
      if (item.type === 'text') return `${role}: ${item.text}`;
      if (item.type === 'tool-call') return `called ${item.toolName}: ${JSON.stringify(item.input)}`;
      if (item.type !== 'tool-result' || !('value' in item.output)) return '';
      const { value } = item.output;
      return `${item.toolName} returned: ${typeof value === 'string' ? value : JSON.stringify(value)}`;
    })
    .join('\n');
};
