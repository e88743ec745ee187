// Bugs to plant in teams: each a small change that a hurried change could make.
import type { Bug } from './planted-bugs.ts';

const director = 'src/core/orchestration/director.ts';
const teamMail = 'src/core/orchestration/team-mail.ts';
const taskQueue = 'src/core/tasks/task-queue.ts';
const dependencyEnds = 'src/core/tasks/dependency-ends.ts';
const unstarted = 'src/core/tasks/unstarted-tasks.ts';

/** Gone on with after a crash. */
const resumed = '(this.#cell.home.host.recorded !== null && (this.#cell.home.host as any).replaying === null)';

const bug = (name: string, file: string, find: string, put: string): Bug => ({ name, edits: [{ file, find, put }] });

export const teamBugs: readonly Bug[] = [
  // What waits for what.
  bug(
    'a task starts when the first of those that it depends on has completed',
    taskQueue,
    'else if (--this.#waiting[place]! === 0) this.#open(dependent);',
    "else if (--this.#waiting[place]! >= 0 && dependent.status === 'pending') this.#open(dependent);",
  ),
  bug(
    'a failure blocks those right behind it, and nobody behind them',
    taskQueue,
    'if (isFinal(dependent.status)) ended.push(dependent);',
    "if (isFinal(dependent.status) && dependent.status !== 'blocked') ended.push(dependent);",
  ),
  bug(
    'a task is not needed as soon as one that it depends on was not',
    dependencyEnds,
    'if (first !== undefined && dependencies.every(isNotNeeded))',
    'if (first !== undefined && dependencies.some(isNotNeeded))',
  ),
  bug(
    'what was not needed blocks those behind it',
    dependencyEnds,
    "if (task.status === 'completed' || isNotNeeded(task)) return null;",
    "if (task.status === 'completed') return null;",
  ),

  // Who starts, and how many at once.
  bug(
    'of tasks for different members the first in the list goes first, whatever is urgent',
    taskQueue,
    'if (task === undefined || (best !== undefined && !isBefore(task, best))) continue;',
    'if (task === undefined || (best !== undefined && task.order > best.order)) continue;',
  ),
  bug(
    'a task that has failed for good makes room twice',
    director,
    "if (this.queue.fail(id, reason) === 'failed') return;",
    "if (this.queue.fail(id, reason) === 'failed') return void this.#running--;",
  ),
  bug(
    'a member that is at its limit is given a task that names nobody',
    taskQueue,
    'if (room > most) [best, most] = [name, room];',
    'if (best === undefined || room > most) [best, most] = [name, room];',
  ),

  // Tries.
  bug(
    'a task is tried once too often',
    taskQueue,
    'if (task.attempts <= task.retries) {',
    'if (task.attempts <= task.retries + (task.retries > 0 ? 1 : 0)) {',
  ),
  bug(
    'the pause before another try ends, and nothing is tried',
    director,
    "if (this.queue.get(id)?.status === 'pending') this.queue.again(id);",
    "if (this.queue.get(id)?.status === 'ready') this.queue.again(id);",
  ),

  // Messages.
  bug(
    'a task that is tried again is not shown its messages',
    teamMail,
    'if (attempts > 1) return this.#shown.get(id) ?? [];',
    'if (attempts > 1) return [];',
  ),
  bug(
    'a message is handed to two tasks',
    teamMail,
    '    this.#waiting.delete(assignee);\n',
    '    if (messages.length > 1) this.#waiting.delete(assignee);\n',
  ),
  bug(
    'messages wait for a task that was blocked',
    unstarted,
    "attempts === 0 && (status === 'pending' || status === 'ready')",
    "attempts === 0 && status !== 'skipped'",
  ),

  // What a resumed team knows, and what its coordinator is shown.
  bug(
    'a resumed team takes in no tasks that were added before',
    director,
    'if (this.intake.isOne(mail)) this.#take(this.intake.open(mail.text));',
    `if (this.intake.isOne(mail)) { if (!(${resumed})) this.#take(this.intake.open(mail.text)); }`,
  ),
  bug(
    'a resumed team shows no results of before',
    director,
    "return all.filter((task) => task.status === 'completed');",
    `return all.filter((task) => task.status === 'completed' && (!${resumed} || task.attempts > 1));`,
  ),
  bug(
    'who answers is not shown the last result',
    director,
    "const results = [...this.queue.tasks()].filter(({ status }) => status === 'completed');",
    "const results = [...this.queue.tasks()].filter(({ status }) => status === 'completed').slice(0, 9).filter((_, index, all) => index === 0 || index < all.length - 1);",
  ),
  bug(
    'a team does not name what was blocked as missing',
    'src/core/tasks/task-texts.ts',
    "({ status, reason }) => status !== 'completed' && reason?.code !== 'condition'",
    "({ status, reason }) => status !== 'completed' && status !== 'blocked' && reason?.code !== 'condition'",
  ),
  bug(
    'tasks that are ready are forgotten when the rest is skipped',
    taskQueue,
    "if (task.status === 'pending' || task.status === 'ready') this.#end(task, 'skipped', shared);",
    "if (task.status === 'pending') this.#end(task, 'skipped', shared);",
  ),
];
