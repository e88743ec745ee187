// What the cell of a task is shown first: the task, the results that it depends on, its messages, and nothing else.
import type { Source, TeamPart } from '#contracts';
import { shownBytesMax } from '#core/cells';
import type { Arrival } from '#core/cells';
import { dependencyOf, dependencyOutput, exceedsPreview, resultOutput } from '#core/rules';
import type { Session } from './state.ts';
import { windowLimit, windowTokensDefault } from './window-limit.ts';

export const showTask = (session: Session, part: TeamPart): void => {
  const { cell, window } = session;
  const given = cell.runtime.arrivals.given('at birth');
  window.add({ rule: 'task@1', of: [{ from: 'crossing', seq: 0 }] }, 'DIALOG');
  const results = given.filter(({ kind }) => kind === 'dependency');
  if (part.part === 'answer') showAll(session, results);
  else showEach(session, results, part.part === 'task' && part.scope === 'all' ? 2 : 1);
  const messages = given.filter(({ kind }) => kind === 'message');
  if (messages.length > 0) window.add({ rule: 'task-messages@1', of: messages.map(sourceOf) }, 'CONTEXT');
  session.givenShown = given.length;
};

const sourceOf = ({ seq }: Arrival): Source => ({ from: 'crossing', seq });

/** Each by itself, so that it can be told where it came from, and the oldest can give way. */
const showEach = (session: Session, results: readonly Arrival[], heading: number): void => {
  const { cell, window } = session;
  const shownMax = Math.min(shownBytesMax(cell.limits), shareOf(session, results.length));
  for (const [index, result] of results.entries()) {
    // probe: dependency-number
    const nth = cell.nextOutput('dependency');
    keepLong(session, result, { shownMax, name: dependencyOutput(nth) });
    const numbers = [index === 0 ? heading : 0, shownMax, nth];
    window.add({ rule: 'dependency@1', of: [sourceOf(result)], with: numbers }, 'CONTEXT');
  }
};

/** All of them side by side: what they have in common is named once. */
const showAll = (session: Session, results: readonly Arrival[]): void => {
  const { window } = session;
  const shownMax = shareOf(session, results.length);
  results.forEach((result, index) => keepLong(session, result, { shownMax, name: resultOutput(index + 1) }));
  window.add({ rule: 'synthesis@1', of: results.map(sourceOf), with: [shownMax] }, 'DIALOG');
};

type Long = { readonly shownMax: number; readonly name: string };

const keepLong = ({ cell }: Session, { kind, content }: Arrival, { shownMax, name }: Long): void => {
  // Most are short: that is seen without a look at each.
  if (content.length * bytesPerCharMax <= shownMax) return;
  const { text } = dependencyOf({ from: 'crossing', kind, content });
  if (exceedsPreview(text, shownMax)) cell.keepOutput(name, { text });
};

/** Of each result so much that all of them together fit into half of the window, as far as definitions tell. */
const shareOf = (session: Session, count: number): number => {
  const [model] = session.ports.models;
  const tokens = model === undefined ? windowTokensDefault : windowLimit(session, model).tokens;
  return Math.max(bytesMin, Math.min(bytesMost, Math.floor((tokens * 2) / Math.max(1, count)) - headingBytes));
};

/** Framed, with a mark before every line. */
const bytesPerCharMax = 3;

/** What stands around each. */
const headingBytes = 160;

const [bytesMin, bytesMost] = [80, 32_000];
