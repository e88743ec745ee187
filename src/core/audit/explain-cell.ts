// Explains why a cell's model saw what it saw: each segment of each prompt, rebuilt, with the trail to its origin.
import { CloisterError } from '#base';
import type { CellId } from '#base';
import type { Explanation, ExplainedSegment, Frame } from '#contracts';
import { partText } from './part-text.ts';
import { applyAttempt, cellSources, startPrompt } from './rebuild-prompt.ts';
import { readFrame, startRecords } from './records.ts';
import { buildTrail } from './trail.ts';

type ShownAttempt = Explanation['attempts'][number];

/** `find`: a text to search for in each segment. */
export const explainCell = (frames: readonly Frame[], cell: CellId, find?: string): Explanation => {
  const records = startRecords();
  const prompt = startPrompt();
  const attempts: ShownAttempt[] = [];
  for (const frame of frames) {
    readFrame(records, frame);
    const cellRecords = records.cells.get(cell);
    const { attempt, record } = frame;
    if (attempt === undefined || record.type !== 'begin' || frame.cell !== cell || cellRecords === undefined) continue;
    applyAttempt(prompt, attempt, cellSources(records, cellRecords));
    const { turn, model, bytes } = attempt;
    attempts.push({ op: record.op, turn, model, bytes, segments: [...prompt.view] });
  }
  const cellRecords = records.cells.get(cell);
  const run = frames[0]?.run;
  if (cellRecords === undefined || run === undefined) throw new CloisterError('cell_unknown', `"${cell}".`);
  const segments = [...prompt.segments.values()].map(({ record, part }): ExplainedSegment => {
    const text = part === undefined ? '' : partText(part);
    return {
      id: record.id,
      origin: record.origin,
      bytes: record.bytes,
      shownIn: [],
      text,
      found: find === undefined || find === '' ? [] : findOffsets(find, text),
      trail: buildTrail(record.id, { prompt, cell: cellRecords, records }),
    };
  });
  const { agent } = cellRecords.birth;
  return { run, cell, agent, find: find ?? null, attempts, segments: withShownIn(segments, attempts) };
};

const withShownIn = (
  segments: readonly ExplainedSegment[],
  attempts: readonly ShownAttempt[],
): readonly ExplainedSegment[] => {
  const shownIn = new Map<number, number[]>(segments.map(({ id }) => [id, []]));
  for (const { op, segments: ids } of attempts) for (const id of ids) shownIn.get(id)?.push(op);
  return segments.map((segment) => ({ ...segment, shownIn: shownIn.get(segment.id) ?? [] }));
};

const findOffsets = (find: string, text: string): readonly number[] => {
  const offsets: number[] = [];
  for (let at = text.indexOf(find); at >= 0; at = text.indexOf(find, at + find.length)) offsets.push(at);
  return offsets;
};
