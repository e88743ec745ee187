// Helpers for the team judges: read operations, messages and plans in a log.
import type { CellId } from '#base';
import type { Frame, Mail } from '#contracts';
import type { OperationFacts } from './facts.ts';

/** Describes an operation in a report. */
export const describeBegin = ({ begin, beganIn }: OperationFacts): string =>
  `frame ${beganIn} begins ${begin.name} ${JSON.stringify(begin.birth?.task ?? begin.about ?? null)}`;

export const contentIn = (frames: readonly Frame[], cell: CellId, seq: number): string | undefined => {
  for (const { contents = [] } of frames)
    for (const one of contents) if (one.cell === cell && one.seq === seq) return one.content;
  return undefined;
};

/** A line of JSON, then the text. */
export const parseMail = (content: string): Mail => {
  const end = content.indexOf('\n');
  return { ...(JSON.parse(content.slice(0, end)) as Omit<Mail, 'text'>), text: content.slice(end + 1) };
};

/** Parses JSON with or without a code fence. */
export const parsePlan = (text: string): unknown => JSON.parse(text.replace(/^```json\n|\n```$/gu, '')) as unknown;
