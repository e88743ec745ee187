// Adds new context to the cell's window: at creation, and before each request.
import { showReceived } from '#core/memory';
import type { Session } from './state.ts';

export const showNewContext = (session: Session, when: 'at creation' | 'by now'): void => {
  const { cell, window } = session;
  const context = cell.runtime.received.addedContext(when);
  for (const crossing of context.slice(session.shownContextCount)) {
    // Notes about similar children have the same text, so each is shown once.
    if (crossing.kind !== 'note' || !session.shownNotes.includes(crossing.content))
      showReceived(window, crossing, cell.agent.name);
    if (crossing.kind === 'note') session.shownNotes = [...session.shownNotes, crossing.content];
  }
  session.shownContextCount = context.length;
};
