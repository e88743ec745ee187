// All results of a team, for the coordinator's final answer. The runtime writes it; no task sees it while the team works.
import { escapeHeadings } from './team-texts.ts';

type TaskResult = { readonly title: string; readonly assignee: string | null; readonly result: string };

/** The results of a team's tasks, for whoever writes the answer at the end. Use it to collect results in a loop of your own. */
export class SharedMemory {
  readonly #results = new Map<string, TaskResult>();

  /** A task that is written again moves to the end. */
  write(task: TaskResult & { readonly id: string }): void {
    this.#results.delete(task.id);
    this.#results.set(task.id, { title: oneLine(task.title), assignee: task.assignee, result: task.result });
  }

  /** Each result under its title and assignee, in the order written. A filter selects tasks by id. */
  getSummary(filter: { readonly taskIds?: readonly string[] | undefined } = {}): string {
    const wanted = filter.taskIds === undefined ? null : new Set(filter.taskIds);
    const parts: string[] = [];
    for (const [id, { title, assignee, result }] of this.#results)
      if (wanted === null || wanted.has(id))
        parts.push(`### ${title} (by ${assignee === null ? 'unknown' : oneLine(assignee)})\n${escapeHeadings(result)}`);
    return parts.join('\n\n');
  }
}

const oneLine = (text: string): string => text.replace(/[\s\p{Cc}\u2028\u2029]+/gu, ' ').trim();
