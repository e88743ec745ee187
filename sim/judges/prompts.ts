// Every prompt that was really sent equals the one that the audit's own code rebuilds from the definition, the cell's operations
// and the crossings into it.
import { attemptOnDisk, callingCell, framesOnDisk } from './facts.ts';
import type { Judge } from './judge.ts';
import { rebuiltPrompts } from './prompt-parts.ts';

// invariant: window-changes-recorded
export const prompts: Judge = {
  name: 'prompt = f(definition, operations, crossings)',
  check: (history, report) => {
    for (const call of history.modelCalls) {
      const cell = callingCell(history, call);
      const attempt = cell && attemptOnDisk(cell, framesOnDisk(history, cell.run, call.onDisk));
      if (cell === undefined || attempt === undefined) {
        report('a request whose goal crossed into a cell', `"${call.goal}" at ${call.at} ms`);
        continue;
      }
      const shown = rebuiltPrompts(cell.run).get(`${cell.birth.cell}/${attempt.begin.op}`);
      if (shown?.prompt !== call.prompt)
        report(`the prompt ${shown?.prompt}`, describeDifference(call.prompt, shown?.prompt ?? ''));
      if (shown?.tools !== call.tools)
        report(`the tools ${shown?.tools}`, describeDifference(call.tools, shown?.tools ?? ''));
    }
    return history.modelCalls.length;
  },
};

const describeDifference = (text: string, from: string): string => {
  let at = 0;
  while (at < text.length && text[at] === from[at]) at++;
  return `from character ${at} on: ${text.slice(Math.max(0, at - 40), at + 200)}`;
};
