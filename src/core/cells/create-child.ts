// The run's side of a child: draws its id and its name, crosses what it starts with, and sets its caps and its deadline.
//
//   B1. A child gets what its caller's request names, under the grants of its own definition, and nothing else.
//   B2. Its caps and its deadline come from definitions: its own and its ancestors'.
//   B3. What is refused costs nothing: no cell, and no spawn is counted.
import { sha256 } from '#base';
import type { CellId, Failure } from '#base';
import type { Agent, Amounts, Budget, ChildRequest, Grant, MemoryScope, SpawnIdentity, TeamPart } from '#contracts';
import { createGrants, cross } from '#core/crossings';
import type { Door } from '#core/crossings';
import type { Account } from './account.ts';
import { answerReserve } from './answer-reserve.ts';
import type { LocalRun } from './local-run.ts';
import type { SpawnedChild } from './spawned-children.ts';
import type { StartedChild } from './started-child.ts';

/** The cell that asks for a child. */
type Caller = {
  readonly cellId: CellId;
  readonly agent: Agent;
  readonly liveRun: LocalRun;
  readonly account: Account;
  readonly now: number;
  readonly nextFrame: number;
  readonly deadline: number;
  readonly ancestry: readonly string[];
  readonly spawnedChildren: readonly SpawnedChild[];
  newCellId(agent: string, reserve?: number): CellId | null;
};

export const createChild = (caller: Caller, request: ChildRequest): StartedChild | Failure => {
  const { agent, part, check, about } = request;
  const cell = caller.newCellId(agent.name, request.spawnsReserved);
  if (cell === null) return { code: 'budget_refused', detail: 'No more agents can be started.' };
  const door = doorBetween(caller, cell, request);
  const goal = request.goal === null ? null : crossGoal(caller, cell, request.goal, door);
  if (goal !== null && 'refused' in goal)
    return { code: 'crossing_refused', detail: `The goal was refused: ${goal.refused}.` };
  const shares = crossGifts(caller, cell, request, door);
  const spawned = request.spawn && spawnIdentity(request.spawn, agent, caller, cell);
  const caps = lowerCaps(agent.budget, caller.account.caps);
  const floor = agent.team === null ? undefined : answerReserve(agent, true, caps);
  const recorded = caller.liveRun.recorded?.cells.get(cell)?.birth;
  return {
    do: 'child',
    cell,
    agent,
    goal,
    grants: door.grants,
    caps,
    // probe: child-deadline
    deadline: earliestDeadline(agent.budget, caller.deadline, caller.now),
    ancestry: [...caller.ancestry, agentIdentity(agent)],
    groupTokens: recorded?.groupTokens ?? request.groupTokens,
    ...(floor === undefined ? {} : { floor }),
    ...(spawned === undefined ? {} : { spawned }),
    ...(shares ? { shares } : {}),
    ...(part === undefined ? {} : { task: part }),
    ...(check === undefined ? {} : { check }),
    about: spawned === undefined ? about : { ...about, agent: spawned.name },
  };
};

const doorBetween = ({ cellId, liveRun, nextFrame, now }: Caller, cell: CellId, request: ChildRequest): Door => {
  const { agent, part } = request;
  const grants = [...createGrants(agent, cell, cellId), ...(part === undefined ? [] : teamGrants(cellId, cell, part))];
  return { grants: liveRun.amendments.grants(agent.name, grants, nextFrame), ledger: liveRun.ledger, at: now };
};

/** What the operator's team definition allows: results, with the scope as grant name, and messages of the team. */
const teamGrants = (from: CellId, to: CellId, part: TeamPart): readonly Grant[] => {
  const scope: MemoryScope = part.part === 'task' ? part.scope : 'all';
  return [
    { name: scope, kind: 'dependency', from, to },
    { name: 'message', kind: 'message', from, to },
  ];
};

const crossGoal = ({ cellId: from }: Caller, to: CellId, content: string, door: Door) =>
  cross({ kind: 'goal', from, to, content, labels: [] }, door);

/** Crosses the rest. Whether a part of the caller's window crossed. */
const crossGifts = ({ cellId }: Caller, cell: CellId, { gives = [], note }: ChildRequest, door: Door): boolean => {
  let shares = false;
  for (const { kind, content } of gives) {
    const passed = cross({ kind, from: cellId, to: cell, content, labels: [] }, door);
    if (kind === 'share') shares = !('refused' in passed);
  }
  // Without the grant no note is tried: the refusal alone would reveal that there is one.
  if (note !== undefined && door.grants.some(({ kind }) => kind === 'note'))
    cross({ kind: 'note', from: cell, to: cellId, content: note, labels: [] }, door);
  return shares;
};

/** A second agent of the same name gets a suffix from its own id, not a number. */
export const spawnIdentity = (
  { workflow, topics, metadata }: Omit<SpawnIdentity, 'name'>,
  agent: Agent,
  caller: Pick<Caller, 'agent' | 'spawnedChildren'>,
  cell: CellId,
): SpawnIdentity => {
  const plain = workflow === null ? agent.name : `${workflow}:${agent.name}`;
  // A copy of the agent itself must also differ from its parent.
  const isTaken =
    agent.name === caller.agent.name || caller.spawnedChildren.some(({ identity }) => identity.name === plain);
  return {
    name: isTaken ? `${plain}-${sha256(cell).slice(0, 6)}` : plain,
    workflow,
    topics,
    ...(metadata === undefined ? {} : { metadata }),
  };
};

/** Two files may define agents with the same name, so a file identifies its agent. An agent defined in code has only its name. */
export const agentIdentity = ({ file, name }: Agent): string => file ?? name;

/** The lower of the agent's own caps and its parent's. */
export const lowerCaps = (budget: Budget, parent: Amounts): Amounts => ({
  ...lowerCap('tokens', budget.tokens, parent.tokens),
  ...lowerCap('nanoUsd', budget.usd === undefined ? undefined : Math.round(budget.usd * 1e9), parent.nanoUsd),
  ...lowerCap('spawns', budget.spawns, parent.spawns),
  ...lowerCap('bytes', budget.memory, parent.bytes),
});

/** Infinity means no cap and cannot be recorded, so it is left out. */
const lowerCap = (key: keyof Amounts, own = Infinity, parent = Infinity): Amounts => {
  const least = Math.min(own, parent);
  return least === Infinity ? {} : { [key]: least };
};

export const earliestDeadline = (budget: Budget, parent: number, now: number): number => {
  const own = budget.ms === undefined ? Infinity : Math.max(1, now + budget.ms);
  const least = Math.min(own, parent === 0 ? Infinity : parent);
  return least === Infinity ? 0 : least;
};
