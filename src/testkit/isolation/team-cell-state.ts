// One cell of a team's run: its purpose, what it saw, and its progress.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { CellId } from '#base';
import type { Birth } from '#contracts';
import { Observer } from './observer.ts';
import type { TestAgent } from './agent-tree.ts';

export class TeamCellState {
  readonly birth: Birth;
  readonly cell: CellId;
  readonly testAgent: TestAgent;
  /** `t3 #1`: the first try of a task; `the plan`; `the answer`; below them `t3 #1 › helper #2`. */
  readonly place: string;
  readonly parent: TeamCellState | null;
  readonly observer: Observer;
  requests = 0;
  /** The first request to its model. */
  firstRequest: LanguageModelV4CallOptions | null = null;

  constructor(birth: Birth, part: TestAgent, place: string, parent: TeamCellState | null) {
    this.birth = birth;
    this.cell = birth.cell;
    this.testAgent = part;
    this.place = place;
    this.parent = parent;
    this.observer = new Observer(part.sentTools);
  }

  /** The task that it works on or helps with. */
  get task(): string | null {
    const { task } = this.birth;
    if (task === undefined) return this.parent?.task ?? null;
    return task.part === 'task' ? task.task : null;
  }

  /** The user messages of the first request, part by part. */
  get shown(): string {
    return (this.firstRequest?.prompt ?? [])
      .flatMap(({ role, content }) =>
        role === 'user' ? content.map((part) => (part.type === 'text' ? part.text : `(${part.type})`)) : [],
      )
      .join('\n\n');
  }
}

/** What differs from the first run. */
export type GraphVariation = {
  readonly salt: string;
  /** A task by its id; a member by its name; null: neither. */
  readonly task: string | null;
  readonly member: string | null;
  /** Whether `member` is the coordinator. */
  readonly isCoordinator: boolean;
};
