// Somebody outside starts an agent under a live one: a person over HTTP, or the operator's own code.
//
//   outside-spawn-by-parent-rules. The `spawns` of the agent above decide: which agents, how many, how deep, how often. The
//       agent counts for that parent.
//   outside-spawn-goal-from-outside. Nothing of the parent crosses with it, and the result goes to the parent as mail.
//   outside-spawn-from-log. What was started is an input from outside: resume and replay take it from the log and decide the
//       rest again.
import { CloisterError, utf8Bytes } from '#base';
import type { CellId, JsonObject } from '#base';
import type { Agent, Birth, Frame, OutsideSpawn, SpawnRules, StartedAgent } from '#contracts';
import { agentIdentity, earliestDeadline, lowerCaps, partyOf, spawnIdentity } from '#core/cells';
import type { LiveCell, LocalRun, OutsideSpawnPorts, StartedChild } from '#core/cells';
import { sessionHandle } from '#core/bus';
import type { MailToolReply } from '#core/bus';
import type { CrossingMoment } from '#core/crossings';
import type { Cell } from '#core/memory';
import { mailBytesMax } from '#core/session';
import type { SessionPorts } from '#core/session';
import { findSpawnable, readSpawn, requestProblem, spawnLimitProblem } from './spawn-agent.ts';
import type { Spawner } from './spawn-agent.ts';

type World = SessionPorts['world'];

/** Starts again what the log says was started, and accepts more from now on. */
export const acceptOutsideSpawns = (parent: LiveCell, cell: Cell, world: World): void => {
  if (parent.agent.children.spawns === null) return;
  const begins = parent.run.recorded?.cells.get(parent.cellId)?.begins;
  const spawner = { cell, parent, checkSteps: { left: checkStepsMax }, ports: { world } };
  for (let no = -1; begins?.has(no) === true; no--) restoreSpawn(spawner, begins.get(no)!);
  parent.outsideSpawner = { spawn: (request, run) => spawnForOutside(spawner, request, run) };
};

/** For checking the goal against the agent's schema: as many steps as a turn has. */
const checkStepsMax = 1_000_000;

/** After a crash, waits until every cell has reached the end of the log: until then, nobody knows all that was started. */
export const whenCaughtUp = async (run: LocalRun): Promise<void> => {
  const isBehind = (): boolean => run.liveCells.some(({ nextFrame }) => nextFrame < run.nextFrame);
  // Recorded operations settle without any outside event, so it is enough to let other promises go first.
  for (let turns = 0; turns < turnsMax && isBehind(); turns++) await Promise.resolve();
};

const turnsMax = 10_000_000;

/** Throws `spawn_refused`, or `cell_ended` if the agent above accepts no more. */
export const startFromOutside = (run: LocalRun, parent: LiveCell, request: OutsideSpawn): StartedAgent => {
  const { agent, outsideSpawner, halted, cellId } = parent;
  if (agent.children.spawns === null) throw refused(`NOT_ALLOWED: ${agent.name} has no \`spawns\`.`);
  const isClosing = run.usesMail && run.mail.directory.get(cellId)?.mailbox.closing === true;
  if (outsideSpawner === null || halted || isClosing)
    throw new CloisterError('cell_ended', `${agent.name} is about to end.`);
  return outsideSpawner.spawn(request, {
    time: () => run.time(),
    random: () => run.ports.ids.random(),
    redactFor: (one) => run.redactFor(one),
  });
};

/** `parent`: the run's side of the cell. */
type OutsideSpawner = Spawner & { readonly parent: LiveCell };

const spawnForOutside = (spawner: OutsideSpawner, request: OutsideSpawn, run: OutsideSpawnPorts): StartedAgent => {
  const { cell, parent } = spawner;
  const goal = readGoal(request);
  const args = spawnArgs(request, goal);
  // probe: outside-spawn-rules
  const rules = parent.agent.children.spawns!;
  const at = run.time();
  const agent = decide({ ...spawner, checkSteps: { left: checkStepsMax } }, args, rules, at);
  if (!parent.account.canSpawn(0)) throw refused('SPAWN_LIMIT: the budget allows no more agents.');
  const id = `${agent.name}-${run.random()}` as CellId;
  const redacted = goal === null ? null : redact(goal, agent, parent.agent, run);
  const { door, nextFrame } = parent.run;
  const moment = { at, frame: nextFrame };
  admitChild(agent, parent, id);
  if (goal !== null && !door.permits({ kind: 'goal', from: 'outside', to: id }, moment.frame)) {
    door.forget(id);
    throw refused(`${agent.name} accepts no goal.`);
  }
  const spawned = spawnIdentity(readSpawn(args), agent, parent, id);
  parent.beginOutside({
    ...outsideChild(agent, parent, { cell: id, goal: redacted, moment }),
    deadline: earliestDeadline(agent.caps.budget, parent.deadline, at),
    spawned,
    groupTokens: spawner.ports.world.groupTokens?.(agent),
    about: { step: cell.nextUncalledStep, tool: 'agent:spawn', agent: spawned.name, by: 'outside' },
  });
  return {
    cell: id,
    parent: parent.cellId,
    sub_agent_id: spawned.name,
    session_id: sessionHandle(id),
    status: goal === null ? 'spawned' : 'running',
    subscribed_topics: spawned.topics,
  };
};

const readGoal = (request: OutsideSpawn): string | null => {
  const goal = request.goal ?? null;
  if (goal !== null && goal.trim() === '') throw refused('The goal is empty.');
  if (goal !== null && utf8Bytes(goal) > mailBytesMax) throw refused(`The goal exceeds ${mailBytesMax} bytes.`);
  return goal;
};

const spawnArgs = ({ agent, workflow, topics, metadata }: OutsideSpawn, goal: string | null): JsonObject => ({
  agent_id: agent,
  ...(goal === null ? {} : { initial_message: goal }),
  ...(workflow === undefined ? {} : { workflow_id: workflow }),
  ...(topics === undefined ? {} : { auto_subscribe: topics }),
  ...(metadata === undefined ? {} : { metadata }),
});

/** The same checks as for `spawn_agent`, with the run's time instead of the session's own. */
const decide = (spawner: Spawner, args: JsonObject, rules: SpawnRules, now: number): Agent => {
  const found = findSpawnable(args, spawner, rules);
  if ('reply' in found) throw refusedBy(found.reply);
  const problem = requestProblem(args, found.agent, spawner) ?? spawnLimitProblem(spawner, rules, now);
  if (problem !== null) throw refusedBy(problem);
  return found.agent;
};

const refused = (detail: string): CloisterError => new CloisterError('spawn_refused', detail);

/** The reply is worded for the agent above, so it is quoted. */
const refusedBy = (reply: MailToolReply): CloisterError => {
  const { code, message, suggestion } = reply['error'] as Readonly<Record<'code' | 'message' | 'suggestion', string>>;
  return refused(`${code}: "${message} ${suggestion}"`);
};

/** Both cells record the goal: it crosses into the one, in a frame of the other. */
const redact = (goal: string, agent: Agent, parent: Agent, run: OutsideSpawnPorts): string => {
  const forChild = run.redactFor(agent)?.text(goal) ?? goal;
  return run.redactFor(parent)?.text(forChild) ?? forChild;
};

type NewCell = { readonly cell: CellId; readonly goal: string | null; readonly moment: CrossingMoment };

const admitChild = (agent: Agent, { run, cellId: parent }: LiveCell, cell: CellId): void =>
  run.door.admit(partyOf({ cell, parent, agent, spawned: true, byOutside: true }));

const outsideChild = (
  agent: Agent,
  parent: LiveCell,
  { cell, goal, moment }: NewCell,
): Omit<StartedChild, 'deadline'> => {
  const request = { kind: 'goal', from: 'outside', to: cell, content: goal ?? '' } as const;
  const passed = goal === null ? null : parent.run.door.cross(request, moment);
  return {
    do: 'child',
    cell,
    agent,
    goal: passed === null || 'refused' in passed ? null : passed,
    caps: lowerCaps(agent.caps.budget, parent.account.caps),
    ancestry: [...parent.ancestry, agentIdentity(agent)],
  };
};

/** The deadline depends on how long the parent had waited by then, so it is taken as recorded, like the identity. */
const restoreSpawn = (spawner: OutsideSpawner, { record, no, at, contents = [] }: Frame): void => {
  const birth = record.type === 'begin' ? record.birth : undefined;
  const { parent } = spawner;
  const found =
    birth && findRecorded(birth, { ...spawner, checkSteps: { left: checkStepsMax } }, parent.agent.children.spawns!);
  // An agent that the definitions no longer have: the record is not reached, which a replay reports.
  if (record.type !== 'begin' || birth === undefined || found === undefined) return;
  const goal = contents.find(({ cell: to, kind }) => to === birth.cell && kind === 'goal')?.content ?? null;
  const { deadline, spawned, groupTokens } = birth;
  const { about } = record;
  admitChild(found, parent, birth.cell);
  parent.beginOutside({
    ...outsideChild(found, parent, { cell: birth.cell, goal, moment: { at, frame: no } }),
    deadline,
    ...(spawned === undefined ? {} : { spawned }),
    ...(groupTokens === undefined ? {} : { groupTokens }),
    ...(about === undefined ? {} : { about }),
  });
};

const findRecorded = ({ agent }: Birth, spawner: Spawner, rules: SpawnRules): Agent | undefined => {
  const found = findSpawnable({ agent_id: agent }, spawner, rules);
  return 'reply' in found ? undefined : found.agent;
};
