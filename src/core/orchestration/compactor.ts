// The cell that puts old turns of another into a few words: a child like any other, one level down.
import { utf8Bytes } from '#base';
import type { Agent, ChildOperation } from '#contracts';
import { dataFrame } from '#core/rules';
import type { Session } from '#core/session';
import { createChild, depthMax, goalBytesMax } from './agent-tool.ts';

/** Null when there is no room for it: at the bottom, without a spawn left, or for too much text. */
export const beginCompactor = (agent: Agent, session: Session, text: string): ChildOperation | null => {
  const content = dataFrame('What the agent has done so far:', text);
  if (session.cell.runtime.depth >= depthMax || utf8Bytes(content) > goalBytesMax) return null;
  const born = createChild(agent, content, session.cell);
  return 'code' in born ? null : { ...born.child, about: { why: 'compaction' } };
};
