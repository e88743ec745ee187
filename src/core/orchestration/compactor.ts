// The cell that summarises another cell's old turns: a child like any other, one level down.
import { utf8Bytes } from '#base';
import type { Agent, ChildOperation, PendingOperation } from '#contracts';
import { dataFrame } from '#core/rules';
import type { Session } from '#core/session';
import { childRequest, depthFailure, goalBytesMax } from './agent-tool.ts';

/** Null if no child can be started: at the depth limit, without a spawn left, or if the text is too long. */
export const beginCompactor = (
  agent: Agent,
  { cell }: Session,
  text: string,
): PendingOperation<ChildOperation> | null => {
  const content = dataFrame("Summarise the agent's work so far:", text);
  if (depthFailure(cell) !== null || utf8Bytes(content) > goalBytesMax) return null;
  const about = { step: cell.nextUncalledStep, tool: 'agent:spawn', why: 'compaction' };
  const begun = cell.runtime.beginChild(childRequest(cell, agent, content, { about }));
  if ('code' in begun) return null;
  cell.countUncalledStep();
  return begun;
};
