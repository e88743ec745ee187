// The cell that puts old turns of another into a few words: a child like any other, one level down.
import { utf8Bytes } from '#base';
import type { Agent, ChildOperation } from '#contracts';
import { cross, grantsOf } from '#core/crossings';
import { dataFrame } from '#core/rules';
import type { Session } from '#core/session';
import { capsOf, deadlineOf, depthMax, goalBytesMax, identityOf } from './agent-tool.ts';

/** Null when there is no room for it: at the bottom, without a spawn left, or for too much text. */
export const beginCompactor = (agent: Agent, session: Session, text: string): ChildOperation | null => {
  const { cell } = session;
  const { home } = cell;
  const content = dataFrame('What the agent has done so far:', text);
  if (home.depth >= depthMax || utf8Bytes(content) > goalBytesMax) return null;
  const id = home.newCellId(agent.name);
  if (id === null) return null;
  const grants = home.host.amendments.grants(agent.name, grantsOf(agent, id, home.cellId), home.nextFrame);
  const door = { grants, ledger: home.host.ledger, at: home.now };
  const passed = cross({ kind: 'goal', from: home.cellId, to: id, content, labels: [] }, door);
  if ('refused' in passed) return null;
  return {
    do: 'child',
    cell: id,
    agent,
    goal: passed.crossed,
    grants,
    caps: capsOf(agent.budget, home.account.caps),
    deadline: deadlineOf(agent.budget, cell.deadline, home.now),
    ancestry: [...cell.ancestry, identityOf(agent)],
    about: { why: 'compaction' },
  };
};
