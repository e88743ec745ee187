// Starts a run: open the root cell, cross the goal in, run the session, cross the result out, close.
import { CloisterError, omitUndefined } from '#base';
import type { CellId } from '#base';
import { decodeTeamGoal } from '#contracts';
import type {
  Agent,
  Birth,
  Budget,
  ConversationRef,
  Crossed,
  Frame,
  History,
  InheritedFiles,
  PassedOverModel,
  CrossingRefusal,
  SharedMessage,
  SpawnIdentity,
  StoredAttachment,
  RunPorts,
} from '#contracts';
import { answerReserve, earliestDeadline, lowerCaps, partyOf, readRecordedRun, releaseFrames } from '#core/cells';
import type { RecordedRun } from '#core/cells';
import { changedAgent } from './changed-agents.ts';
import { withOutputFormat } from './define-agent.ts';
import { lostTools, withRecordedTools } from './request-tools.ts';
import { Run } from './run.ts';
import type { RootCellSeed } from './run.ts';

/** What a run gets besides its goal: its conversation, history and caller. */
type RunInput = {
  readonly conversation?: ConversationRef | undefined;
  /** The caller's own instructions: system text of the root, after its own. */
  readonly system?: readonly string[] | undefined;
  readonly history?: History | undefined;
  /** Files that come with its goal. Their bytes are in the store. */
  readonly attachments?: readonly StoredAttachment[] | undefined;
  /** What its agent's turn before left to it. */
  readonly files?: InheritedFiles | undefined;
  /** A resident receives mail until it is asked to shut down. It may start without a goal. */
  readonly resident?: { readonly topics?: readonly string[] } | undefined;
  /** The caller, when served over a headend. */
  readonly caller?: string | undefined;
  /** Of a request that may come twice. */
  readonly requestHash?: string | undefined;
};

export const startRun = (
  agent: Agent,
  goal: string | null,
  budget: Budget | undefined,
  world: RunPorts,
  { conversation, system = [], history, attachments = [], files, resident, caller, requestHash }: RunInput = {},
): Run => {
  const at = world.clock.now();
  const run = new Run(world, at);
  const cell = `${agent.name}-${world.ids.random()}` as CellId;
  const birth = rootBirth(
    agent,
    cell,
    budget === undefined ? agent.caps.budget : { ...agent.caps.budget, ...omitUndefined(budget) },
    {
      at,
      groupTokens: world.groupTokens?.(agent),
      passedOver: world.resources.passedOver?.(agent),
      goal,
      spawned: resident && { name: agent.name, workflow: null, topics: resident.topics ?? [] },
    },
  );
  run.door.admit(partyOf({ ...birth, agent }));
  const enter = <K extends 'goal' | 'share' | 'history' | 'file' | 'attachment'>(
    kind: K,
    content: string,
  ): Crossed<K> | CrossingRefusal =>
    run.door.cross({ kind, from: 'outside', to: cell, content }, { at, frame: run.nextFrame });
  const passed = goal === null ? null : enter('goal', /* probe: run-goal */ run.redactFor(agent)?.text(goal) ?? goal);
  if (system.length > 0) enter('share', callerSystem(system));
  if (history !== undefined) enter('history', JSON.stringify(history));
  // After the history: they stand before the goal.
  for (const attachment of attachments) enter('attachment', JSON.stringify(attachment));
  if (files !== undefined) enter('file', JSON.stringify(files));
  const { started, ownVariables: env } = world;
  const record = {
    type: 'open',
    recordedBy: run.recordedBy,
    birth,
    ...omitUndefined({ started, conversation, caller, requestHash, env }),
  } as const;
  const frame = run.write(cell, at, record, { childAgent: agent });
  const crossed = passed === null || 'refused' in passed ? null : passed;
  return run.open({ agent, birth, createdAt: at, goal: crossed, frame });
};

/** Each text is a message of its own. */
const callerSystem = (texts: readonly string[]): string =>
  JSON.stringify(texts.map((text) => ({ category: 'SYSTEM', text }) satisfies SharedMessage));

type RootBirthInput = {
  readonly at: number;
  readonly groupTokens: number | undefined;
  readonly passedOver: readonly PassedOverModel[] | undefined;
  readonly spawned: SpawnIdentity | undefined;
  readonly goal: string | null;
};

const rootBirth = (
  agent: Agent,
  cell: CellId,
  budget: Budget,
  { at, groupTokens, passedOver, spawned, goal }: RootBirthInput,
): Birth => {
  const { caps, deadline, floor } = rootLimits(agent, budget, { at, goal });
  return {
    cell,
    parent: null,
    agent: agent.name,
    digest: agent.digest,
    depth: 0,
    caps,
    deadline,
    ...(groupTokens === undefined ? {} : { groupTokens }),
    ...(spawned === undefined ? {} : { spawned }),
    ...(floor === undefined ? {} : { floor }),
    ...(passedOver === undefined ? {} : { passedOver }),
  };
};

/** What the root may use, until when, and what of it is kept for its answer. */
export const rootLimits = (
  agent: Agent,
  budget: Budget,
  { at, goal }: Pick<RootBirthInput, 'at' | 'goal'>,
): Pick<Birth, 'caps' | 'deadline' | 'floor'> => {
  const caps = lowerCaps(budget, {});
  const floor = answerReserve(agent, hasAnswer(agent, goal), caps);
  return { caps, deadline: earliestDeadline(budget, 0, at), ...(floor === undefined ? {} : { floor }) };
};

/** Whether the coordinator will write an answer. */
const hasAnswer = ({ team }: Agent, goal: string | null): boolean => {
  if (team === null || goal === null) return false;
  const { answer, planOnly } = decodeTeamGoal(goal);
  return answer && planOnly !== true;
};

/** An interrupted run, read from its log, and its root's agent as it is now. */
export type ResumableRun = { readonly recorded: RecordedRun; readonly agent: Agent };

/** Throws if an interrupted run cannot be resumed with these agents. */
export const checkResume = (frames: readonly Frame[], findAgent: AgentLookup): ResumableRun => {
  const recorded = readRecordedRun(frames);
  if (frames.some(({ record }) => record.type === 'close')) throw new CloisterError('run_ended');
  const agent = resolveRootAgent(recorded, findAgent);
  const lost = lostTools(agent);
  if (lost.length > 0)
    throw new CloisterError('tools_gone', `Agent "${agent.name}" was given these tools: ${lost.join(', ')}.`);
  const change = changedAgent(recorded, agent);
  if (change !== null) throw new CloisterError('replay_differs', change);
  return { recorded, agent };
};

export const resolveRootAgent = ({ root: { birth }, frames }: RecordedRun, findAgent: AgentLookup): Agent => {
  const known = findAgent(birth.agent);
  if (known === undefined) throw new CloisterError('agent_unknown', `The run belongs to agent "${birth.agent}".`);
  return applyRecordedRequest(known, birth, frames[0]!);
};

/** The caller may have requested another output format than the agent's own, or sent tools. */
const applyRecordedRequest = (agent: Agent, { digest }: Birth, { definitions }: Frame): Agent => {
  const recorded = definitions?.find((one) => one.digest === digest)?.definition;
  if (agent.digest === digest || recorded === undefined) return agent;
  const formatted = withOutputFormat(agent, recorded.output);
  const withTools = formatted.digest === digest ? formatted : withRecordedTools(formatted, recorded);
  return withTools.digest === digest ? withTools : formatted;
};

export type AgentLookup = (name: string) => Agent | undefined;

/** Resumes an interrupted run: settled operations are not repeated. */
export const resumeRun = ({ recorded, agent }: ResumableRun, world: RunPorts): Run => {
  const run = new Run(world, recorded.root.createdAt, { recorded });
  releaseFrames(recorded);
  return run.open(rootFromRecord(run, recorded, agent));
};

export const rootFromRecord = (run: Run, { root }: RecordedRun, agent: Agent): RootCellSeed => {
  const { birth, createdAt } = root;
  const first = run.recordedCrossings(birth.cell)?.get(0);
  return { agent, birth, createdAt, goal: first !== undefined && isGoal(first) ? first : null };
};

const isGoal = (crossed: Crossed): crossed is Crossed<'goal'> => crossed.kind === 'goal';
