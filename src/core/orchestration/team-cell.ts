// Creates a cell of a team: one that plans, works on a task, or answers. Everything it gets crosses when it is created.
import { encodeMessage } from '#base';
import type { Failure } from '#base';
import type {
  Agent,
  ChildGift,
  ChildOperation,
  ChildRequest,
  DependencyHead,
  Mail,
  PendingOperation,
  Task,
  TeamMessage,
  TeamPart,
} from '#contracts';
import type { Cell } from '#core/memory';
import { recordedVersions, truncateHandover } from '#core/rules';
import { teamTextsByVersion } from '#core/tasks';
import type { TeamTexts } from '#core/tasks';
import { childRequest, depthFailure } from './agent-tool.ts';

export type TeamChildInput = Pick<ChildRequest, 'check' | 'groupTokens' | 'spawnsReserved'> & {
  readonly part: TeamPart;
  /** Written by the runtime; null for a task, whose text is the goal. */
  readonly goal: string | null;
  readonly task?: Task;
  readonly results?: readonly Task[];
  readonly messages?: readonly TeamMessage[];
};

/** In the version that the run uses. */
export const teamTextsOf = ({ runtime }: Cell): TeamTexts =>
  teamTextsByVersion[recordedVersions(runtime.format).teamTexts]!;

/** Starts the cell, or says why it cannot start. */
export const beginTeamChild = (
  cell: Cell,
  agent: Agent,
  { task, results = [], messages = [], part, goal: text, ...more }: TeamChildInput,
): PendingOperation<ChildOperation> | Failure => {
  // probe: team-part-goal
  const goal = text ?? teamTextsOf(cell).taskGoal(task!.title, task!.description);
  const tooDeep = depthFailure(cell);
  if (tooDeep !== null) return tooDeep;
  const { runtime } = cell;
  const begun = runtime.beginChild(
    childRequest(cell, agent, runtime.amendedGoal(goal), {
      ...more,
      part,
      gives: [...results.map(resultGift), ...messages.map((message) => messageGift(message, runtime.now))],
      about: {
        step: cell.nextUncalledStep,
        tool: 'agent:spawn',
        ...(part.part === 'task' ? { task: part.task, title: task!.title } : { part: part.part }),
      },
    }),
  );
  if (!('code' in begun)) cell.countUncalledStep();
  return begun;
};

const resultGift = ({ id, title, assignee, result }: Task): ChildGift => {
  const { text, leftOut } = truncateHandover(result ?? '');
  const head: DependencyHead = { task: id, title, assignee, ...(leftOut === undefined ? {} : { leftOut }) };
  return { kind: 'dependency', content: encodeMessage(head, text) };
};

const messageGift = ({ id, from, to: recipient, content }: TeamMessage, at: number): ChildGift => {
  const head: Omit<Mail, 'text'> = {
    id,
    message_type: 'message',
    agent_id: from,
    recipient_id: recipient,
    correlation_id: null,
    at,
    chain: id,
  };
  return { kind: 'message', content: encodeMessage(head, content) };
};
