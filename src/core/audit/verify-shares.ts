// Checks that what a cell received of its caller's window was really in it. Runs after the prompts of the frame are checked. What somebody
// outside shares can only be checked for its kind: instructions, never context.
import type { CellId } from '#base';
import { decodeHistory } from '#contracts';
import type { AgentDefinition, CrossingContent, Frame, SharedMessage } from '#contracts';
import { partText, rules } from '#core/rules';
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

/** When the cell is created, the caller's prompt and all its context, in order; later, some of the context. */
const matchesCaller = (
  { record }: Frame,
  { cell, from, content }: CrossingContent,
  { cells, definitions }: RunRecords,
  findPrompt: FindPrompt,
): boolean => {
  if (from === 'outside') return record.type === 'open' && holdsInstructionsOnly(content);
  const definitionOf = (of: CellRecords | undefined) =>
    of === undefined ? undefined : definitions.get(of.birth.digest);
  const share = definitionOf(cells.get(cell))?.share ?? [];
  const caller = cells.get(from);
  const shown = findPrompt(from);
  const context = share.includes('context') ? contextMessages(shown) : [];
  if (record.type === 'begin') {
    const prompt = share.includes('system') ? callerPrompt(definitionOf(caller), shown) : [];
    return content === `[${[...prompt, ...context].join(',')}]`;
  }
  const shared = JSON.parse(content) as readonly unknown[];
  const received = share.includes('context') ? callerContext(caller) : [];
  return shared.every((message) => [...context, ...received].includes(JSON.stringify(message)));
};

const holdsInstructionsOnly = (content: string): boolean =>
  (JSON.parse(content) as readonly SharedMessage[]).every(({ category, text }) => category === 'SYSTEM' && text !== '');

/** The caller's prompt alone, made by the rule that showed it to the caller's model; as data if a model wrote it. */
const callerPrompt = (definition: AgentDefinition | undefined, shown: PromptState | undefined): readonly string[] => {
  const { rule, with: numbers = [] } = shown?.segments.get(0)?.record.origin ?? {};
  if (definition === undefined || (rule !== 'system@1' && rule !== 'system@2')) return [];
  const text = partText(rules[rule]([{ from: 'definition', value: definition.prompt }], numbers));
  const category = definition.promptBy === 'model' ? 'CONTEXT' : 'SYSTEM';
  return text.trim() === '' ? [] : [JSON.stringify({ category, text })];
};

/** The context that the caller itself received, whether its model has seen it yet or not. */
const callerContext = (caller: CellRecords | undefined): readonly string[] =>
  (caller?.given ?? []).flatMap(({ entry, content = '' }) => {
    if (entry.kind !== 'history' || entry.verdict !== 'granted') return [];
    const resolved = [{ from: 'crossing', kind: entry.kind, content }] as const;
    return decodeHistory(content).entries.flatMap(({ category }, place) =>
      category === 'CONTEXT'
        ? [JSON.stringify({ category, text: partText(rules['history@1'](resolved, [place])) })]
        : [],
    );
  });

/** The CONTEXT messages that the model was shown, as JSON, whether still in view or not. */
const contextMessages = (prompt: PromptState | undefined): readonly string[] =>
  [...(prompt?.segments.values() ?? [])].flatMap((segment) => {
    if (segment.record.category !== 'CONTEXT') return [];
    const { part } = segment;
    return part !== undefined && 'message' in part
      ? [JSON.stringify({ category: 'CONTEXT', text: partText(part) })]
      : [];
  });
