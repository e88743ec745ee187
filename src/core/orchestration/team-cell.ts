// Creates a cell of a team: one that plans, works on a task, or answers. Everything it gets crosses when it is created.
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
import { recordedVersions, truncateHandover } from '#core/rules';
import { teamTextsByVersion } from '#core/tasks';
import type { TeamTexts } from '#core/tasks';
import { createChild, depthFailure } from './agent-tool.ts';

export type TeamChildInput = {
  readonly part: TeamPart;
  /** Written by the runtime; null for a task, whose text is the goal. */
  readonly goal: string | null;
  readonly task?: Task;
  readonly results?: readonly Task[];
  readonly messages?: readonly TeamMessage[];
  readonly check?: (value: Json) => readonly string[];
  /** The smallest window among the agents currently in this agent's budget group. */
  readonly groupTokens?: number | undefined;
  /** Spawns that must be left after this one. */
  readonly spawnsReserved?: number;
};

/** In the version that the run uses. */
export const teamTextsOf = ({ runtime }: Cell): TeamTexts =>
  teamTextsByVersion[recordedVersions(runtime.liveRun.format).teamTexts]!;

/** The operation that starts the cell, or why it cannot start. The crossings are recorded in its begin frame. */
export const createTeamChild = (cell: Cell, agent: Agent, input: TeamChildInput): ChildOperation | Failure => {
  const { part, task, results = [], messages = [], check } = input;
  // probe: team-part-goal
  const goal = input.goal ?? teamTextsOf(cell).taskGoal(task!.title, task!.description);
  const tooDeep = depthFailure(cell);
  if (tooDeep !== null) return tooDeep;
  const created = createChild(agent, cell.runtime.amendedGoal(goal), cell, input.spawnsReserved);
  if ('code' in created) return created;
  const { child, door } = created;
  const scope: MemoryScope = part.part === 'task' ? part.scope : 'all';
  const grants = [...door.grants, ...teamGrants(cell.runtime.cellId, child.cell, scope)];
  const widerDoor = {
    ...door,
    grants: cell.runtime.liveRun.amendments.grants(agent.name, grants, cell.runtime.nextFrame),
  };
  for (const one of results) crossResult(one, child.cell, cell, widerDoor);
  for (const message of messages) crossMessage(message, child.cell, cell, widerDoor);
  const about = {
    step: cell.nextUncalledStep(),
    tool: 'agent:spawn',
    ...(part.part === 'task' ? { task: part.task, title: task!.title } : { part: part.part }),
  };
  const groupTokens = cell.runtime.liveRun.recorded?.cells.get(child.cell)?.birth.groupTokens ?? input.groupTokens;
  return { ...child, grants: widerDoor.grants, task: part, check, about, groupTokens };
};

/** What the operator's team definition allows: results, with the scope as grant name, and messages of the team. */
const teamGrants = (from: CellId, to: CellId, scope: MemoryScope): readonly Grant[] => [
  { name: scope, kind: 'dependency', from, to },
  { name: 'message', kind: 'message', from, to },
];

const crossResult = ({ id, title, assignee, result }: Task, to: CellId, { runtime }: Cell, door: Door): void => {
  const { text, leftOut } = truncateHandover(result ?? '');
  const head: DependencyHead = { task: id, title, assignee, ...(leftOut === undefined ? {} : { leftOut }) };
  cross({ kind: 'dependency', from: runtime.cellId, to, content: encodeMessage(head, text), labels: [] }, door);
};

const crossMessage = (
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
    chain: id,
  };
  cross({ kind: 'message', from: runtime.cellId, to, content: encodeMessage(head, content), labels: [] }, door);
};
