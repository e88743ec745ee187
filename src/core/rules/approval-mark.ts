// Which mark applies to a tool.
import type { ApprovalMark, ApprovalMarks } from '#contracts';

type MarkedTool = { readonly name: string; readonly source?: string; readonly own?: string };

/** The mark of a tool, by its own name or by the server that it is from; undefined: it is not marked. */
export const approvalMark = (marks: ApprovalMarks | undefined, tool: MarkedTool): ApprovalMark | undefined => {
  if (marks === undefined) return undefined;
  const exact = marks[tool.source === undefined ? tool.name : `${tool.source}/${tool.own}`];
  const all = tool.source === undefined ? undefined : marks[tool.source];
  if (exact === undefined || all === undefined) return exact ?? all;
  const { when: _when, ...rule } = exact;
  return exact.when === undefined || all.when === undefined ? rule : exact;
};
