// What a cell says at its end is the newest text that its model wrote: not more, not less, nobody else's. A team has no model.
import type { ModelReply } from '#contracts';
import { factsOf } from './facts.ts';
import type { CellFacts } from './facts.ts';
import type { Judge } from './judge.ts';
import { teamsOf } from './team-walk.ts';

export const outcomes: Judge = {
  name: 'output = newest text',
  look: ({ runs }, say) => {
    let checks = 0;
    for (const run of runs)
      for (const cell of factsOf(run).cells.values()) {
        if (cell.outcome === null || teamsOf(run).has(cell.birth.agent)) continue;
        checks++;
        // What may not be handed out is withheld.
        const text = cell.outcome.failure?.code === 'crossing_refused' ? '' : newestText(cell);
        if (cell.outcome.output !== text)
          say(`${cell.birth.cell} to say ${JSON.stringify(text)}`, JSON.stringify(cell.outcome.output));
      }
    return checks;
  },
};

/** Of the replies that could be used; the empty text when there is none. */
const newestText = ({ operations }: CellFacts): string => {
  for (const { attempt, settle } of operations.toReversed()) {
    if (attempt === undefined || settle?.ok !== true) continue;
    const { parts, finish } = settle.value as unknown as ModelReply;
    const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
    if (text.trim() !== '' && finish !== 'error' && finish !== 'content-filter') return text;
  }
  return '';
};
