// Which marks for approval hold for a tool. Definitions, sessions and the audit ask the same functions.
//
//   marks-only-add. Marks are joined, never taken away: whatever is added to a set of marks, each tool that was marked still is,
//       and one that was marked for all arguments still is for all of them.
import type { ApprovalMark, ApprovalMarks, ApprovalRule } from '#contracts';

/** A tool by the name that models see; for a tool of a source, also the source and the source's own name for it. */
type MarkableTool = { readonly name: string; readonly source?: string; readonly own?: string };

/**
 * The mark of a tool; undefined: it needs no approval. `marks`: those of the agent's definition. If the tool and its server are
 * both marked, the rule is that of the tool, and the mark depends on the arguments only if both do.
 */
export const approvalMark = (
  marks: ApprovalMarks | undefined,
  { name, source, own = name }: MarkableTool,
): ApprovalMark | undefined => {
  if (marks === undefined) return undefined;
  if (source === undefined) return markOf(marks, name);
  const ofTool = markOf(marks, `${source}/${own}`);
  const ofServer = markOf(marks, source);
  if (ofTool === undefined || ofServer === undefined) return ofTool ?? ofServer;
  const rule = ruleOf(ofTool);
  return joinMarks(ofTool, Object.keys(rule).length > 0 ? rule : ruleOf(ofServer), ofServer);
};

const markOf = (marks: ApprovalMarks, name: string): ApprovalMark | undefined =>
  Object.hasOwn(marks, name) ? marks[name] : undefined;

/** All marks of both. For a tool that both mark, the rule of `more` wins, unless it says nothing. Sorted by name. */
export const addMarks = (marks: ApprovalMarks, more: ApprovalMarks): ApprovalMarks => {
  const names = [...new Set([...Object.keys(marks), ...Object.keys(more)])].sort();
  return Object.freeze(
    Object.fromEntries(
      names.map((name) => {
        const [one, other] = [markOf(marks, name), markOf(more, name)];
        const rule = ruleOf(other ?? {});
        return [name, joinMarks(one, Object.keys(rule).length > 0 ? rule : ruleOf(one ?? {}), other)];
      }),
    ),
  );
};

/** Unconditional if one of them is. */
const joinMarks = (
  one: ApprovalMark | undefined,
  rule: ApprovalRule,
  other: ApprovalMark | undefined,
): ApprovalMark => {
  const isConditional = (one ?? other)?.when !== undefined && (other ?? one)?.when !== undefined;
  return Object.freeze({ ...rule, ...(isConditional ? { when: 'arguments' } : {}) });
};

/** The names in `by` sorted, each once, so that their order makes no difference. */
const ruleOf = ({ by, need, not }: ApprovalMark): ApprovalRule => ({
  ...(by === undefined ? {} : { by: Object.freeze([...new Set(by)].sort()) }),
  ...(need === undefined ? {} : { need }),
  ...(not === undefined ? {} : { not }),
});

/** What all of these rules ask for together. If nobody is named in all of them, nobody may answer. */
export const strictestRule = (rules: readonly ApprovalRule[]): ApprovalRule => {
  const lists = rules.flatMap(({ by }) => (by === undefined ? [] : [by]));
  const need = Math.max(0, ...rules.map((rule) => rule.need ?? 0));
  return ruleOf({
    ...(lists.length === 0 ? {} : { by: lists.reduce((one, other) => one.filter((name) => other.includes(name))) }),
    ...(need === 0 ? {} : { need }),
    ...(rules.some(({ not }) => not !== undefined) ? { not: 'asker' } : {}),
  });
};
