// A run: open the root cell, cross the goal in, run the session, cross the result out, close.
import { CloisterError, omitUndefined } from '#base';
import type { CellId } from '#base';
import type {
  Agent,
  Birth,
  Budget,
  ConversationRef,
  Crossed,
  Frame,
  History,
  CrossingRefusal,
  SpawnIdentity,
  TeamGoal,
} from '#contracts';
import { LocalRun, readRecordedRun } from '#core/cells';
import type { RecordedRun, RunChild } from '#core/cells';
import { cross, restoreCrossing, grantOf, grantsOf } from '#core/crossings';
import type { Door, CrossingPass } from '#core/crossings';
import { capsOf, deadlineOf } from './agent-tool.ts';
import { withOutputFormat } from './define-agent.ts';
import { withRecordedTools } from './request-tools.ts';
import { answerReserve } from './answer-reserve.ts';
import { RootRun, runChild } from './root-run.ts';
import type { RunHandle, Root, RunWorldPorts } from './root-run.ts';

/** What a run is given besides its goal, and the conversation that it takes a turn in. */
export type RunInput = {
  readonly conversation?: ConversationRef | undefined;
  readonly history?: History | undefined;
  /** It lives until it is asked to come to an end, and takes mail. Then it may begin without a goal. */
  readonly resident?: { readonly topics?: readonly string[] } | undefined;
  /** Who asks, where others are served. */
  readonly caller?: string | undefined;
};

export const startRun = (
  agent: Agent,
  goal: string | null,
  budget: Budget | undefined,
  world: RunWorldPorts,
  { conversation, history, resident, caller }: RunInput = {},
): RunHandle => {
  const at = world.clock.now();
  const run = new LocalRun(world, runChild as RunChild, at);
  const cell = `${agent.name}-${world.ids.random()}` as CellId;
  const birth = rootBirth(
    agent,
    cell,
    budget === undefined ? agent.budget : { ...agent.budget, ...omitUndefined(budget) },
    {
      at,
      groupTokens: world.groupTokens?.(agent),
      goal,
      spawned: resident && { name: agent.name, workflow: null, topics: resident.topics ?? [] },
    },
  );
  const grants = grantsOf(agent, cell, 'outside');
  const door = { grants, ledger: run.ledger, at };
  const passed = goal === null ? null : giveGoal(/* probe: run-goal */ world.redact?.text(goal) ?? goal, cell, door);
  if (history !== undefined) giveHistory(history, cell, { ...door, grants: [grantOf('history', cell, 'outside')] });
  const { started } = world;
  const record = { type: 'open', birth, ...omitUndefined({ started, conversation, caller }) } as const;
  const frame = run.write(cell, at, record, { born: agent });
  const crossed = passed === null || 'refused' in passed ? null : passed.crossed;
  return new RootRun(run, world, { agent, birth, bornAt: at, goal: crossed, frame });
};

const giveGoal = (content: string, cell: CellId, door: Door): CrossingPass<'goal'> | CrossingRefusal =>
  cross({ kind: 'goal', from: 'outside', to: cell, content, labels: [] }, door);

/** Who asks for the run grants it: what was said before is the caller's to hand over. */
const giveHistory = (history: History, cell: CellId, door: Door): void => {
  cross({ kind: 'history', from: 'outside', to: cell, content: JSON.stringify(history), labels: [] }, door);
};

type RootSeed = {
  readonly at: number;
  readonly groupTokens: number | undefined;
  readonly spawned: SpawnIdentity | undefined;
  readonly goal: string | null;
};

const rootBirth = (agent: Agent, cell: CellId, budget: Budget, { at, groupTokens, spawned, goal }: RootSeed): Birth => {
  const caps = capsOf(budget, {});
  const floor = answerReserve(agent, isAnswered(agent, goal), caps);
  return {
    cell,
    parent: null,
    agent: agent.name,
    digest: agent.digest,
    depth: 0,
    caps,
    deadline: deadlineOf(budget, 0, at),
    ...(groupTokens === undefined ? {} : { groupTokens }),
    ...(spawned === undefined ? {} : { spawned }),
    ...(floor === undefined ? {} : { floor }),
  };
};

/** Whether its coordinator is to answer in the end. */
const isAnswered = ({ team }: Agent, goal: string | null): boolean => {
  if (team === null || goal === null) return false;
  const { answer, planOnly } = JSON.parse(goal) as TeamGoal;
  return answer && planOnly !== true;
};

/** Throws why an interrupted run cannot go on with these agents. */
export const checkResume = (frames: readonly Frame[], agentOf: AgentOf): { recorded: RecordedRun; agent: Agent } => {
  const recorded = readRecordedRun(frames);
  if (frames.some(({ record }) => record.type === 'close')) throw new CloisterError('run_ended');
  const agent = rootAgent(recorded, agentOf);
  if (agent.given !== undefined)
    throw new CloisterError('tools_gone', `Agent "${agent.name}" was given: ${agent.given.join(', ')}.`);
  if (agent.digest !== recorded.root.birth.digest)
    throw new CloisterError('replay_differs', `The definition of "${agent.name}" has changed since.`);
  return { recorded, agent };
};

export const rootAgent = ({ root: { birth }, frames }: RecordedRun, agentOf: AgentOf): Agent => {
  const known = agentOf(birth.agent);
  if (known === undefined) throw new CloisterError('agent_unknown', `The run is of "${birth.agent}".`);
  return asAsked(known, birth, frames[0]!);
};

/** Its caller may have asked for another form of answer than the agent gives by itself, or brought tools along. */
const asAsked = (agent: Agent, { digest }: Birth, { definitions }: Frame): Agent => {
  const was = definitions?.find((one) => one.digest === digest)?.definition;
  if (agent.digest === digest || was === undefined) return agent;
  const asked = withOutputFormat(agent, was.output);
  const equipped = asked.digest === digest ? asked : withRecordedTools(asked, was.tools);
  return equipped.digest === digest ? equipped : asked;
};

export type AgentOf = (name: string) => Agent | undefined;

/** Goes on with an interrupted run: settled operations are not repeated. */
export const resumeRun = (frames: readonly Frame[], agentOf: AgentOf, world: RunWorldPorts): RunHandle => {
  const { recorded, agent } = checkResume(frames, agentOf);
  const run = new LocalRun(world, runChild as RunChild, recorded.root.bornAt, { recorded });
  return new RootRun(run, world, rootOf(recorded, agent));
};

export const rootOf = ({ root }: RecordedRun, agent: Agent): Root => {
  const { birth, bornAt, contents } = root;
  const goal = contents.get(0);
  return { agent, birth, bornAt, goal: goal === undefined ? null : (restoreCrossing(goal) as Crossed<'goal'>) };
};
