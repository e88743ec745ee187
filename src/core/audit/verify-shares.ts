// Checks that what a cell received of its caller's window was really in it. Runs after the prompts of the frame are checked.
import type { CellId } from '#base';
import type { CrossingContent, Frame, History, ShareName } from '#contracts';
import { rules } from '#core/rules';
import { partText } from './part-text.ts';
import { problemLocation } from './problems.ts';
import type { AuditProblems } from './problems.ts';
import type { PromptState } from './rebuild-prompt.ts';
import type { CellRecords, RunRecords } from './records.ts';

type FindPrompt = (cell: CellId) => PromptState | undefined;

export const verifyShares =
  (records: RunRecords, findPrompt: FindPrompt, problems: AuditProblems) =>
  (frame: Frame): void => {
    for (const content of frame.contents ?? [])
      if (content.kind === 'share' && !matchesCaller(frame, content, records, findPrompt))
        problems.add(
          'crossing-content',
          problemLocation(frame, content.cell),
          'what it was given differs from what its caller had',
        );
  };

/** When the cell is created, all shareable messages in order; later, some of them. */
const matchesCaller = (
  { record }: Frame,
  { cell, from, content }: CrossingContent,
  { cells, definitions }: RunRecords,
  findPrompt: FindPrompt,
): boolean => {
  const digest = cells.get(cell)?.birth.digest;
  const share = (digest === undefined ? undefined : definitions.get(digest)?.share) ?? [];
  const shareable = from === 'outside' ? [] : sharedMessages(findPrompt(from), share);
  if (record.type === 'begin') return content === `[${shareable.join(',')}]`;
  const shared = JSON.parse(content) as readonly unknown[];
  const callerReceived = share.includes('context') && from !== 'outside' ? callerContext(cells.get(from)) : [];
  return shared.every((message) => [...shareable, ...callerReceived].includes(JSON.stringify(message)));
};

/** The context that the caller itself received, whether its model has seen it yet or not. */
const callerContext = (caller: CellRecords | undefined): readonly string[] =>
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

/** The messages of those categories that the model was shown, as JSON, whether still in view or not. */
const sharedMessages = (prompt: PromptState | undefined, share: readonly ShareName[]): readonly string[] => {
  const wanted = share.map((name) => categories[name]);
  return [...(prompt?.segments.values() ?? [])].flatMap(({ record, part }) => {
    if (part === undefined || !('message' in part) || !wanted.includes(record.category)) return [];
    return [JSON.stringify({ category: record.category, text: partText(part) })];
  });
};
