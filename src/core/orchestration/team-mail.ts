// Messages between the members of a team. Each is shown once, to the recipient's earliest task that has not started.
import type { Mail, Task, TeamMessage, TeamRules } from '#contracts';

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
