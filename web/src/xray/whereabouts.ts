// Where else a text is: in which rooms' requests, in which results, in the answer; and in which rooms it is not.
import type { Explanation } from '#contracts';
import type { RunView } from '#headends/run-view';
import { crossingEndName, formatBytes } from '#headends/run-view';

export type Whereabouts = {
  /** `result to lead (365 B)`, `lead request 2`, `the answer`. */
  readonly also: readonly string[];
  /** Rooms whose model was never shown it. */
  readonly notIn: readonly string[];
};

export const findWhereabouts = (
  words: string,
  here: { readonly cell: string; readonly op: number },
  known: {
    readonly view: RunView;
    readonly explanations: readonly Explanation[];
    readonly outputOf: (cell: string) => string | undefined;
    readonly nameOf: (cell: string) => string;
  },
): Whereabouts => {
  const { view, explanations, outputOf, nameOf } = known;
  const [also, notIn]: [string[], string[]] = [[], []];
  for (const { from, to, kind, grant, bytes } of view.crossings) {
    if (kind !== 'result' || grant === null || from === 'outside' || outputOf(from)?.includes(words) !== true) continue;
    also.push(to === 'outside' ? 'the answer' : `result to ${crossingEndName(view, to)} (${formatBytes(bytes)})`);
  }
  for (const { cell, attempts, segments } of explanations) {
    const firsts = segments.flatMap(({ text, shownIn }) =>
      shownIn !== null && text.includes(words) ? [shownIn.first] : [],
    );
    const first = firsts.reduce((earliest, op) => Math.min(earliest, op), Infinity);
    const no = attempts.findIndex(({ op }) => op === first);
    if (no === -1) notIn.push(nameOf(cell));
    else if (cell !== here.cell) also.push(`${nameOf(cell)} request ${no + 1}`);
  }
  // The answer last: it is what came of it.
  return {
    also: [...also.filter((one) => one !== 'the answer'), ...also.filter((one) => one === 'the answer')],
    notIn,
  };
};
