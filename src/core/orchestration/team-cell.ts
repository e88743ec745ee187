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
  TeamRules,
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

// Messages between the members of a team. Each is shown once, to the recipient's earliest task that has not started.

export class TeamMail {
  readonly #rules: TeamRules;
  readonly #waiting = new Map<string, TeamMessage[]>();
  /** The messages each task was shown: a retry is shown the same. */
  readonly #shown = new Map<string, readonly TeamMessage[]>();

  constructor(rules: TeamRules) {
    this.#rules = rules;
  }

  /** Messages that wait for a member. */
  getMessages(assignee: string): readonly TeamMessage[] {
    return this.#waiting.get(assignee) ?? [];
  }

  add({ id, agent_id: from, recipient_id: to, text: content }: Mail): void {
    if (!Object.hasOwn(this.#rules.members, to)) return;
    const waiting = this.#waiting.get(to);
    const message = { id, from, to, content };
    if (waiting === undefined) this.#waiting.set(to, [message]);
    else waiting.push(message);
  }

  /** `isFirst`: no earlier task of the member is waiting to start. */
  takeFor({ id, attempts, retries }: Task, assignee: string, isFirst: boolean): readonly TeamMessage[] {
    // probe: team-mail-shown-again
    if (attempts > 1) return this.#shown.get(id) ?? [];
    // probe: team-mail-first-only
    if (!isFirst) return [];
    // probe: team-mail-waiting
    const messages = this.#waiting.get(assignee) ?? [];
    if (messages.length === 0) return [];
    // probe: team-mail-taken
    this.#waiting.delete(assignee);
    if (retries > 0) this.#shown.set(id, messages);
    return messages;
  }
}
