// Is what a cell was given of its caller's window what was there. Looks after the prompts of the frame.
import type { CellId } from '#base';
import type { CrossingContent, Frame, History, ShareName } from '#contracts';
import { rules } from '#core/rules';
import { partText } from './part-text.ts';
import { problemLocation } from './problems.ts';
import type { AuditProblems } from './problems.ts';
import type { Prompt } from './rebuild-prompt.ts';
import type { CellRecords, RunRecords } from './records.ts';

type PromptOf = (cell: CellId) => Prompt | undefined;

export const verifyShares =
  (records: RunRecords, promptOf: PromptOf, problems: AuditProblems) =>
  (frame: Frame): void => {
    for (const content of frame.contents ?? [])
      if (content.kind === 'share' && !isRight(frame, content, records, promptOf))
        problems.add(
          'crossing-content',
          problemLocation(frame, content.cell),
          'what it was given is not what its caller had',
        );
  };

/** At its birth all of it, in order; later some of it. */
const isRight = (
  { record }: Frame,
  { cell, from, content }: CrossingContent,
  { cells, definitions }: RunRecords,
  promptOf: PromptOf,
): boolean => {
  const digest = cells.get(cell)?.birth.digest;
  const share = (digest === undefined ? undefined : definitions.get(digest)?.share) ?? [];
  const there = from === 'outside' ? [] : messagesIn(promptOf(from), share);
  if (record.type === 'begin') return content === `[${there.join(',')}]`;
  const given = JSON.parse(content) as readonly unknown[];
  const arrived = share.includes('context') && from !== 'outside' ? contextIn(cells.get(from)) : [];
  return given.every((message) => [...there, ...arrived].includes(JSON.stringify(message)));
};

/** What the caller itself was given to know, whether its model has seen it yet or not. */
const contextIn = (caller: CellRecords | undefined): readonly string[] =>
  [...(caller?.received.values() ?? [])].flatMap(({ entry, content = '' }) => {
    if (entry.kind !== 'history' || entry.verdict !== 'granted') return [];
    const resolved = [{ from: 'crossing', kind: entry.kind, content }] as const;
    return (JSON.parse(content) as History).entries.flatMap(({ category }, place) =>
      category === 'CONTEXT'
        ? [JSON.stringify({ category, text: partText(rules['history@1'](resolved, [place])) })]
        : [],
    );
  });

const categories: Readonly<Record<ShareName, string>> = { system: 'SYSTEM', context: 'CONTEXT' };

/** The messages of those categories that its model was shown, as JSON, still in view or not. */
const messagesIn = (prompt: Prompt | undefined, share: readonly ShareName[]): readonly string[] => {
  const wanted = share.map((name) => categories[name]);
  return [...(prompt?.segments.values() ?? [])].flatMap(({ record, part }) => {
    if (part === undefined || !('message' in part) || !wanted.includes(record.category)) return [];
    return [JSON.stringify({ category: record.category, text: partText(part) })];
  });
};
