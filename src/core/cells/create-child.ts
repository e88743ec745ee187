// The run's side of a child: draws its id and its name, crosses what it starts with, and sets its caps and its deadline.
//
//   child-gets-what-is-named. A child gets what its caller's request names, under the grants of its own definition, and
//       nothing else.
//   child-caps-from-definitions. Its caps and its deadline come from definitions: its own and its ancestors'.
//   child-refusal-costs-nothing. No cell, and no spawn is counted.
import { sha256 } from '#base';
import type { CellId, Failure } from '#base';
import type { Agent, Amounts, Budget, ChildRequest, SpawnedChild, SpawnIdentity } from '#contracts';
import type { CrossingMoment } from '#core/crossings';
import type { Account } from '#core/events';
import type { LocalRun } from './local-run.ts';
import { partyOf } from './party.ts';
import type { StartedChild } from './live-cell.ts';

/** The cell that asks for a child. */
type Caller = {
  readonly cellId: CellId;
  readonly agent: Agent;
  readonly run: LocalRun;
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
  const { cellId: from, run } = caller;
  const { door } = run;
  door.admit(partyOf({ cell, parent: from, agent, spawned: request.spawn, task: part }));
  const moment = { at: caller.now, frame: caller.nextFrame };
  // probe: child-goal-crossing
  const goal =
    request.goal === null ? null : door.cross({ kind: 'goal', from, to: cell, content: request.goal }, moment);
  if (goal !== null && 'refused' in goal) {
    door.forget(cell);
    return { code: 'crossing_refused', detail: `The goal was refused: ${goal.refused}.` };
  }
  const shares = crossGifts(caller, cell, request, moment);
  const spawned = request.spawn && spawnIdentity(request.spawn, agent, caller, cell);
  const caps = lowerCaps(agent.caps.budget, caller.account.caps);
  const floor = agent.team === null ? undefined : answerReserve(agent, true, caps);
  const recorded = run.recorded?.cells.get(cell)?.birth;
  return {
    do: 'child',
    cell,
    agent,
    goal,
    caps,
    // probe: child-deadline
    deadline: earliestDeadline(agent.caps.budget, caller.deadline, caller.now),
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

/** Crosses the rest. Whether a part of the caller's window crossed. */
const crossGifts = (
  { cellId, run: { door } }: Caller,
  cell: CellId,
  { gives = [], note }: ChildRequest,
  moment: CrossingMoment,
): boolean => {
  let shares = false;
  for (const { kind, content } of gives) {
    const passed = door.cross({ kind, from: cellId, to: cell, content }, moment);
    if (kind === 'share') shares = !('refused' in passed);
  }
  const up = { kind: 'note', from: cell, to: cellId } as const;
  // Without the grant no note is tried: the refusal alone would reveal that there is one.
  if (note !== undefined && door.permits(up, moment.frame)) door.cross({ ...up, content: note }, moment);
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

// The part of a team's budget that its tasks cannot spend, so that the coordinator can still answer when they have used up the rest.

/** The longest reply is at most a quarter of a cap; the results that it is about come on top. */
const share = 3 / 8;

/** What an answer needs at most with the default cap on replies, and at prices that are common. */
const [reserveTokensMax, reserveNanoUsdMax] = [25_000, 0.3e9];

/** Computed from the caps alone: their share, but no more than an answer needs. In dollars at least an eighth: prices differ. */
export const answerReserve = ({ team }: Agent, answers: boolean, { tokens, nanoUsd }: Amounts): Amounts | undefined => {
  if ((team?.coordinator ?? null) === null || !answers || (tokens === undefined && nanoUsd === undefined))
    return undefined;
  return {
    ...(tokens === undefined ? {} : { tokens: Math.min(reserveTokensMax, Math.floor(tokens * share)) }),
    ...(nanoUsd === undefined
      ? {}
      : { nanoUsd: Math.floor(Math.max(nanoUsd / 8, Math.min(reserveNanoUsdMax, nanoUsd * share))) }),
  };
};
