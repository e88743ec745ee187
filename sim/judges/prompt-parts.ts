// The prompt of each attempt of a run, rebuilt by the audit's own code, by cell and operation.
import type { PromptPart } from '#contracts';
import { applyAttempt, cellSources, startPrompt } from '../../src/core/audit/rebuild-prompt.ts';
import type { PromptState } from '../../src/core/audit/rebuild-prompt.ts';
import { readFrame, startRecords } from '../../src/core/audit/records.ts';
import type { RunHistory } from '../history.ts';
import { promptJson } from '../prompt-json.ts';

type RebuiltPrompts = ReadonlyMap<string, RebuiltPrompt>;

const known = new WeakMap<RunHistory, RebuiltPrompts>();

export const rebuiltPrompts = (run: RunHistory): RebuiltPrompts => {
  let shows = known.get(run);
  if (shows === undefined) known.set(run, (shows = rebuild(run)));
  return shows;
};

export type RebuiltPrompt = { readonly prompt: string; readonly tools: string };

const rebuild = ({ frames }: RunHistory): RebuiltPrompts => {
  const records = startRecords();
  const open = new Map<string, PromptState>();
  const shown = new Map<string, RebuiltPrompt>();
  for (const frame of frames) {
    readFrame(records, frame);
    const { attempt, record } = frame;
    const cell = records.cells.get(frame.cell);
    if (attempt === undefined || record.type !== 'begin' || cell === undefined) continue;
    const prompt = open.get(frame.cell) ?? startPrompt();
    open.set(frame.cell, prompt);
    applyAttempt(prompt, attempt, cellSources(records, cell));
    shown.set(`${frame.cell}/${record.op}`, renderPrompt(prompt));
  }
  return shown;
};

const renderPrompt = ({ view, segments }: PromptState): RebuiltPrompt => {
  const parts = [...view].map((id) => segments.get(id)?.part);
  return {
    prompt: promptJson(parts.flatMap((part) => (isMessage(part) ? [part.message] : []))),
    tools: JSON.stringify(parts.flatMap((part) => (part !== undefined && 'tool' in part ? [part.tool] : []))),
  };
};

const isMessage = (part: PromptPart | undefined): part is Extract<PromptPart, { message: unknown }> =>
  part !== undefined && 'message' in part;
