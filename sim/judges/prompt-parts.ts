// What each attempt of a run shows its model, made again by the audit's own code: by cell and operation.
import type { PromptPart } from '#contracts';
import { applyAttempt, sourcesOf, startPrompt } from '../../src/core/audit/rebuild-prompt.ts';
import type { Prompt } from '../../src/core/audit/rebuild-prompt.ts';
import { readFrame, startRecords } from '../../src/core/audit/records.ts';
import type { RunHistory } from '../history.ts';

type Shows = ReadonlyMap<string, Shown>;

const known = new WeakMap<RunHistory, Shows>();

export const shownIn = (run: RunHistory): Shows => {
  let shows = known.get(run);
  if (shows === undefined) known.set(run, (shows = rebuild(run)));
  return shows;
};

export type Shown = { readonly prompt: string; readonly tools: string };

const rebuild = ({ frames }: RunHistory): Shows => {
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
