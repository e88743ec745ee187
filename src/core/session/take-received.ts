// Takes what the cell was given into its window: at its birth, and before each request.
import { showReceived } from '#core/memory';
import type { Session } from './state.ts';

export const takeReceived = (session: Session, when: 'at birth' | 'by now'): void => {
  const { cell, window } = session;
  const given = cell.runtime.arrivals.given(when);
  for (const arrived of given.slice(session.givenShown)) {
    // A note about a child says the same of each of its kind: once is enough.
    if (arrived.kind !== 'note' || !session.noted.includes(arrived.content))
      showReceived(window, arrived, cell.agent.name);
    if (arrived.kind === 'note') session.noted = [...session.noted, arrived.content];
  }
  session.givenShown = given.length;
};
