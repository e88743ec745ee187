// What each model was really sent is what the audit's own code makes of the definition, the cell's operations and what
// was granted to cross into it.
import { attemptThen, cellOf, lengthThen } from './facts.ts';
import type { Judge } from './judge.ts';
import { shownIn } from './prompt-parts.ts';

export const prompts: Judge = {
  name: 'prompt = f(definition, operations, crossings)',
  look: (history, say) => {
    for (const call of history.modelCalls) {
      const cell = cellOf(history, call);
      const attempt = cell && attemptThen(cell, lengthThen(history, cell.run, call.onDisk));
      if (cell === undefined || attempt === undefined) {
        say('a request whose task crossed into a cell', `"${call.goal}" at ${call.at} ms`);
        continue;
      }
      const shown = shownIn(cell.run).get(`${cell.birth.cell}/${attempt.begin.op}`);
      if (shown?.prompt !== call.prompt)
        say(`the prompt ${shown?.prompt}`, differently(call.prompt, shown?.prompt ?? ''));
      if (shown?.tools !== call.tools) say(`the tools ${shown?.tools}`, differently(call.tools, shown?.tools ?? ''));
    }
    return history.modelCalls.length;
  },
};

const differently = (text: string, from: string): string => {
  let at = 0;
  while (at < text.length && text[at] === from[at]) at++;
  return `from character ${at} on: ${text.slice(Math.max(0, at - 40), at + 200)}`;
};
