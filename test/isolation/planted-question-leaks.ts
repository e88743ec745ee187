// Leaks of what people answer: each an edit of the runtime by which another cell could notice what one was told, or that it waits.
import type { Edit } from '../planted/plant.ts';

export type QuestionLeak = { readonly name: string; readonly edits: readonly Edit[] };

const leak = (name: string, ...edits: readonly (readonly [probe: string, put: string])[]): QuestionLeak => ({
  name,
  edits: edits.map(([probe, put]) => ({ probe, put })),
});

const planted = '(globalThis as any).planted';

/** How many questions wait, for whoever looks. */
const countWaiting = [
  ['question-waits', `$(whole) ${planted} = (${planted} ?? 0) + 1;`],
  ['question-waits-no-longer', `$(whole) ${planted}--;`],
] as const;

const inEveryRequest = ['model-request-fields', `$(whole), seed: ${planted}`] as const;

export const questionLeaks: readonly QuestionLeak[] = [
  leak('what a person says to a cell also crosses to its parent', [
    'answer-crosses',
    `$(whole)
    const above = (this.#run as any).getLiveCell(waiting.cell.cellId)?.parent;
    if (content !== null && above) this.#cross(above, JSON.stringify(content), at);`,
  ]),
  leak(
    'a person’s words are added to the result of the cell',
    ['ruling-record', `${planted} = answer.reason; $(whole)`],
    [
      'result-envelope',
      `export const $(declaration.declarations.0.id) = (outcome: any, caller: any) => ({
  ...($(declaration.declarations.0.init))(outcome, caller), output: outcome.output + ${planted},
});`,
    ],
  ),
  leak(
    'every request says what was answered last',
    ['ruling-verdict', `(${planted} = decided.length, $(whole))`],
    inEveryRequest,
  ),
  leak('every request says how many questions wait', ...countWaiting, inEveryRequest),
  leak('a cell is as old as it would be if others did not wait', ...countWaiting, [
    'age-waits',
    `$(whole) + 1_000 * (${planted} ?? 0)`,
  ]),
  leak('arguments that a person wrote for one call are used for the next one of any cell', [
    'approved-args',
    `if (changed !== undefined) ${planted} = changed;
    const used = changed ?? ${planted} ?? args;`,
  ]),
];
