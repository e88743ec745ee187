// The cell that summarises another cell's old turns: a child like any other, one level down.
import { utf8Bytes } from '#base';
import type { Agent, ChildOperation } from '#contracts';
import { dataFrame } from '#core/rules';
import type { Session } from '#core/session';
import { createChild, depthFailure, goalBytesMax } from './agent-tool.ts';

/** Null if no child can be started: at the depth limit, without a spawn left, or if the text is too long. */
export const beginCompactor = (agent: Agent, session: Session, text: string): ChildOperation | null => {
  const content = dataFrame("Summarise the agent's work so far:", text);
  if (depthFailure(session.cell) !== null || utf8Bytes(content) > goalBytesMax) return null;
  const created = createChild(agent, content, session.cell);
  return 'code' in created
    ? null
    : { ...created.child, about: { step: session.cell.nextUncalledStep(), tool: 'agent:spawn', why: 'compaction' } };
};
