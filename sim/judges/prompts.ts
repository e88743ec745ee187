// What each model was really sent is what the audit's own code makes of the definition, the cell's operations and what
// was granted to cross into it.
import type { PromptPart } from '#contracts';
import { applyAttempt, sourcesOf, startPrompt } from '../../src/core/audit/rebuild.ts';
import type { Prompt } from '../../src/core/audit/rebuild.ts';
import { readFrame, startRecords } from '../../src/core/audit/records.ts';
import type { RunHistory } from '../history.ts';
import { attemptThen, cellOf, lengthThen } from './facts.ts';
import type { Judge } from './judge.ts';

export const prompts: Judge = {
  name: 'prompt = f(definition, operations, crossings)',
  look: (history, say) => {
    const rebuilt = new Map(history.runs.map((run) => [run, rebuild(run)]));
    for (const call of history.modelCalls) {
      const cell = cellOf(history, call);
      const attempt = cell && attemptThen(cell, lengthThen(history, cell.run, call.onDisk));
      if (cell === undefined || attempt === undefined) {
        say('a request whose task crossed into a cell', `"${call.goal}" at ${call.at} ms`);
        continue;
      }
      const shown = rebuilt.get(cell.run)?.get(`${cell.birth.cell}/${attempt.begin.op}`);
      if (shown?.prompt !== call.prompt)
        say(`the prompt ${shown?.prompt}`, differently(call.prompt, shown?.prompt ?? ''));
      if (shown?.tools !== call.tools) say(`the tools ${shown?.tools}`, differently(call.tools, shown?.tools ?? ''));
    }
    return history.modelCalls.length;
  },
};

type Shown = { readonly prompt: string; readonly tools: string };

const rebuild = ({ frames }: RunHistory): ReadonlyMap<string, Shown> => {
  const records = startRecords();
  const open = new Map<string, Prompt>();
  const shown = new Map<string, Shown>();
  for (const frame of frames) {
    readFrame(records, frame);
    const { attempt, record } = frame;
    const cell = records.cells.get(frame.cell);
    if (attempt === undefined || record.type !== 'begin' || cell === undefined) continue;
    const prompt = open.get(frame.cell) ?? startPrompt();
    open.set(frame.cell, prompt);
    applyAttempt(prompt, attempt, sourcesOf(records, cell));
    shown.set(`${frame.cell}/${record.op}`, shownBy(prompt));
  }
  return shown;
};

const shownBy = ({ view, segments }: Prompt): Shown => {
  const parts = view.map((id) => segments.get(id)?.part);
  return {
    prompt: JSON.stringify(parts.flatMap((part) => (isMessage(part) ? [part.message] : []))),
    tools: JSON.stringify(parts.flatMap((part) => (part !== undefined && 'tool' in part ? [part.tool] : []))),
  };
};

const isMessage = (part: PromptPart | undefined): part is Extract<PromptPart, { message: unknown }> =>
  part !== undefined && 'message' in part;

const differently = (text: string, from: string): string => {
  let at = 0;
  while (at < text.length && text[at] === from[at]) at++;
  return `from character ${at} on: ${text.slice(Math.max(0, at - 40), at + 200)}`;
};
