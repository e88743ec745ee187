// One cell of a team's run: what it is for, what it saw, how far it has come.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { Birth } from '#contracts';
import { Observer } from './observer.ts';
import type { PlayedAgent } from './team.ts';

export class TeamCellState {
  readonly birth: Birth;
  readonly part: PlayedAgent;
  /** `t3 #1`: the first try of a task; `the plan`; `the answer`; below them `t3 #1 › helper #2`. */
  readonly place: string;
  readonly parent: TeamCellState | null;
  readonly eye: Observer;
  requests = 0;
  /** What its model was shown first. */
  first: LanguageModelV4CallOptions | null = null;

  constructor(birth: Birth, part: PlayedAgent, place: string, parent: TeamCellState | null) {
    this.birth = birth;
    this.part = part;
    this.place = place;
    this.parent = parent;
    this.eye = new Observer(part.sent);
  }

  /** The task that it works on, or that it helps with. */
  get task(): string | null {
    const { task } = this.birth;
    if (task === undefined) return this.parent?.task ?? null;
    return task.part === 'task' ? task.task : null;
  }

  /** What the user of its model says first, part by part. */
  get shown(): string {
    return (this.first?.prompt ?? [])
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
  /** Of `member`: it is the coordinator. */
  readonly isCoordinator: boolean;
};
