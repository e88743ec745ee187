// A cell of a team: who plans, who works on a task, who answers. What it is given crosses with its birth.
import { encodeMessage } from '#base';
import type { CellId, Failure, Json } from '#base';
import type {
  Agent,
  ChildOperation,
  DependencyHead,
  Grant,
  Mail,
  MemoryScope,
  Task,
  TeamMessage,
  TeamPart,
} from '#contracts';
import type { Cell } from '#core/cells';
import { cross } from '#core/crossings';
import type { Door } from '#core/crossings';
import { truncateHandover, taskText } from '#core/rules';
import { createChild, depthMax } from './agent-tool.ts';

export type TeamChildInput = {
  readonly part: TeamPart;
  /** In the runtime's words; null: the task's own. */
  readonly goal: string | null;
  readonly task?: Task;
  readonly results?: readonly Task[];
  readonly messages?: readonly TeamMessage[];
  readonly check?: (value: Json) => readonly string[];
  /** The smallest window of the agents in its budget group now. */
  readonly groupTokens?: number | undefined;
  /** So many agents must still be able to be started after it. */
  readonly keep?: number;
};

/** The operation that begins it, or why it cannot begin. What crosses rides in its frame. */
export const createTeamChild = (cell: Cell, agent: Agent, given: TeamChildInput): ChildOperation | Failure => {
  const { part, task, results = [], messages = [], check } = given;
  // probe: team-part-goal
  const goal = given.goal ?? taskText(task!.title, task!.description);
  if (cell.runtime.depth >= depthMax) return { code: 'depth_reached', detail: `The limit is ${depthMax}.` };
  const born = createChild(agent, cell.runtime.goalOr(goal), cell, given.keep);
  if ('code' in born) return born;
  const { child, door } = born;
  const scope: MemoryScope = part.part === 'task' ? part.scope : 'all';
  const grants = [...door.grants, ...teamGrants(cell.runtime.cellId, child.cell, scope)];
  const wide = { ...door, grants: cell.runtime.liveRun.amendments.grants(agent.name, grants, cell.runtime.nextFrame) };
  for (const one of results) giveResult(one, child.cell, cell, wide);
  for (const message of messages) giveMessage(message, child.cell, cell, wide);
  const about = part.part === 'task' ? { task: part.task, title: task!.title } : { part: part.part };
  const groupTokens = cell.runtime.liveRun.recorded?.cells.get(child.cell)?.birth.groupTokens ?? given.groupTokens;
  return { ...child, grants: wide.grants, task: part, check, about, groupTokens };
};

/** What the operator's team file or code allows: results under the name of the scope, and mail of the team. */
const teamGrants = (from: CellId, to: CellId, scope: MemoryScope): readonly Grant[] => [
  { name: scope, kind: 'dependency', from, to },
  { name: 'message', kind: 'message', from, to },
];

const giveResult = ({ id, title, assignee, result }: Task, to: CellId, { runtime }: Cell, door: Door): void => {
  const { text, leftOut } = truncateHandover(result ?? '');
  const head: DependencyHead = { task: id, title, assignee, ...(leftOut === undefined ? {} : { leftOut }) };
  cross({ kind: 'dependency', from: runtime.cellId, to, content: encodeMessage(head, text), labels: [] }, door);
};

const giveMessage = (
  { id, from, to: recipient, content }: TeamMessage,
  to: CellId,
  { runtime }: Cell,
  door: Door,
): void => {
  const head: Omit<Mail, 'text'> = {
    id,
    message_type: 'message',
    agent_id: from,
    recipient_id: recipient,
    correlation_id: null,
    at: door.at,
    hops: 0,
  };
  cross({ kind: 'message', from: runtime.cellId, to, content: encodeMessage(head, content), labels: [] }, door);
};
