// The output of a cell is exactly the latest text of its own model. A team has no model.
import type { ModelReply } from '#contracts';
import { runFacts } from './facts.ts';
import type { CellFacts } from './facts.ts';
import type { Judge } from './judge.ts';
import { teamPlans } from './team-walk.ts';

export const outcomes: Judge = {
  name: 'output = latest text',
  check: ({ runs }, report) => {
    let checks = 0;
    for (const run of runs)
      for (const cell of runFacts(run).cells.values()) {
        if (cell.outcome === null || teamPlans(run).has(cell.birth.agent)) continue;
        checks++;
        // Output that may not cross is withheld.
        const text = cell.outcome.failure?.code === 'crossing_refused' ? '' : newestText(cell);
        if (cell.outcome.output !== text)
          report(`${cell.birth.cell} to return ${JSON.stringify(text)}`, JSON.stringify(cell.outcome.output));
      }
    return checks;
  },
};

/** The latest text of the usable replies; empty if there is none. */
const newestText = ({ operations }: CellFacts): string => {
  for (const { attempt, settle } of operations.toReversed()) {
    if (attempt === undefined || settle?.ok !== true) continue;
    const { parts, finish } = settle.value as unknown as ModelReply;
    const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    if (text.trim() !== '' && finish !== 'error' && finish !== 'content-filter') return text;
  }
  return '';
};
