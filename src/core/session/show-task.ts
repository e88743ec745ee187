// Shows a task's cell the task, the results it depends on, its messages, and nothing else.
import type { Crossed, Source, TeamPart } from '#contracts';
import { readDependency, dependencyOutputName, exceedsPreview, resultOutputName } from '#core/rules';
import type { Session } from './state.ts';
import { windowLimit, windowTokensDefault } from './window-limit.ts';

export const showTask = (session: Session, part: TeamPart): void => {
  const { cell, window } = session;
  const context = cell.runtime.received.addedContext('at creation');
  window.add({ rule: 'task@1', of: [{ from: 'crossing', seq: 0 }] }, 'DIALOG');
  const results = context.filter(({ kind }) => kind === 'dependency');
  if (part.part === 'answer') showAll(session, results);
  else showEach(session, results, part.part === 'task' && part.scope === 'all' ? 2 : 1);
  const messages = context.filter(({ kind }) => kind === 'message');
  if (messages.length > 0) window.add({ rule: 'task-messages@1', of: messages.map(sourceOf) }, 'CONTEXT');
  session.shownContextCount = context.length;
};

const sourceOf = ({ seq }: Crossed): Source => ({ from: 'crossing', seq });

/** One segment per result, so that each has its own origin and the oldest can be dropped first. */
const showEach = (session: Session, results: readonly Crossed[], heading: number): void => {
  const { cell, window } = session;
  const shownMax = Math.min(cell.shownBytesMax, bytesPerResult(session, results.length));
  for (const [index, result] of results.entries()) {
    // probe: dependency-number
    const nth = cell.nextOutputNumber('dependency');
    storeIfLong(session, result, { shownMax, name: dependencyOutputName(nth) });
    const numbers = [index === 0 ? heading : 0, shownMax, nth];
    window.add({ rule: 'dependency@1', of: [sourceOf(result)], with: numbers }, 'CONTEXT');
  }
};

/** All results in one segment, so that shared text appears once. */
const showAll = (session: Session, results: readonly Crossed[]): void => {
  const { window } = session;
  const shownMax = bytesPerResult(session, results.length);
  results.forEach((result, index) => storeIfLong(session, result, { shownMax, name: resultOutputName(index + 1) }));
  window.add({ rule: 'synthesis@1', of: results.map(sourceOf), with: [shownMax] }, 'DIALOG');
};

type OutputLimit = { readonly shownMax: number; readonly name: string };

const storeIfLong = ({ cell }: Session, { kind, content }: Crossed, { shownMax, name }: OutputLimit): void => {
  // Most results are short; a length check avoids rendering them.
  if (content.length * bytesPerCharMax <= shownMax) return;
  const { text } = readDependency({ from: 'crossing', kind, content });
  if (exceedsPreview(text, shownMax)) cell.storeOutput(name, { text });
};

/** How much of each result to show, so that all of them fit into half of the window that the definitions give. */
const bytesPerResult = (session: Session, count: number): number => {
  const [model] = session.ports.models;
  const tokens = model === undefined ? windowTokensDefault : windowLimit(session, model).tokens;
  return Math.max(bytesMin, Math.min(bytesMax, Math.floor((tokens * 2) / Math.max(1, count)) - headingBytes));
};

/** Upper bound: framing adds a mark to every line. */
const bytesPerCharMax = 3;

/** The size of the text around each result. */
const headingBytes = 160;

const [bytesMin, bytesMax] = [80, 32_000];
