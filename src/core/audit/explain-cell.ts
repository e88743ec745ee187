// Why a cell's model saw what it saw: each segment of each prompt, rebuilt, with the way back to its beginnings.
import { CloisterError } from '#base';
import type { CellId } from '#base';
import type { Explanation, ExplainedSegment, Frame } from '#contracts';
import { partText } from './part-text.ts';
import { applyAttempt, sourcesOf, startPrompt } from './rebuild-prompt.ts';
import { readFrame, startRecords } from './records.ts';
import { trailOf } from './trail.ts';

type Shown = Explanation['attempts'][number];

/** `find` is looked for in the text of each segment. */
export const explainCell = (frames: readonly Frame[], cell: CellId, find?: string): Explanation => {
  const records = startRecords();
  const prompt = startPrompt();
  const attempts: Shown[] = [];
  for (const frame of frames) {
    readFrame(records, frame);
    const known = records.cells.get(cell);
    const { attempt, record } = frame;
    if (attempt === undefined || record.type !== 'begin' || frame.cell !== cell || known === undefined) continue;
    applyAttempt(prompt, attempt, sourcesOf(records, known));
    const { turn, model, bytes } = attempt;
    attempts.push({ op: record.op, turn, model, bytes, segments: [...prompt.view] });
  }
  const known = records.cells.get(cell);
  const run = frames[0]?.run;
  if (known === undefined || run === undefined) throw new CloisterError('cell_unknown', `It was called ${cell}.`);
  const segments = [...prompt.segments.values()].map(({ record, part }): ExplainedSegment => {
    const text = part === undefined ? '' : partText(part);
    return {
      id: record.id,
      origin: record.origin,
      bytes: record.bytes,
      shownIn: [],
      text,
      found: find === undefined || find === '' ? [] : offsetsOf(find, text),
      trail: trailOf(record.id, { prompt, cell: known, records }),
    };
  });
  const { agent } = known.birth;
  return { run, cell, agent, find: find ?? null, attempts, segments: withShownIn(segments, attempts) };
};

const withShownIn = (
  segments: readonly ExplainedSegment[],
  attempts: readonly Shown[],
): readonly ExplainedSegment[] => {
  const shownIn = new Map<number, number[]>(segments.map(({ id }) => [id, []]));
  for (const { op, segments: ids } of attempts) for (const id of ids) shownIn.get(id)?.push(op);
  return segments.map((segment) => ({ ...segment, shownIn: shownIn.get(segment.id) ?? [] }));
};

const offsetsOf = (find: string, text: string): readonly number[] => {
  const offsets: number[] = [];
  for (let at = text.indexOf(find); at >= 0; at = text.indexOf(find, at + find.length)) offsets.push(at);
  return offsets;
};
