// Bugs to plant in teams: each a small change that a hurried change could make.
import type { Bug } from './planted-bugs.ts';

/** Gone on with after a crash. */
const resumed =
  '(this.#cell.runtime.liveRun.recorded !== null && (this.#cell.runtime.liveRun as any).replaying === null)';

const bug = (name: string, probe: string, put: string): Bug => ({ name, edits: [{ probe, put }] });

export const teamBugs: readonly Bug[] = [
  // What waits for what.
  bug(
    'a task starts when the first of those that it depends on has completed',
    'task-tell-dependent',
    `if ($(test)) $(consequent)
    else if ($(alternate.test.left) >= 0 && dependent.status === 'pending') $(alternate.consequent)`,
  ),
  bug(
    'a failure blocks those right behind it, and nobody behind them',
    'task-dependent-ended',
    "if ($(test) && $(test.arguments.0) !== 'blocked') $(consequent)",
  ),
  bug(
    'a task is not needed as soon as one that it depends on was not',
    'task-not-needed',
    'if ($(test.left) && $(test.right.callee.object).some($(test.right.arguments.0))) $(consequent)',
  ),
  bug('what was not needed blocks those behind it', 'task-blocks-nobody', 'if ($(test.left)) $(consequent)'),

  // Who starts, and how many at once.
  bug(
    'of tasks for different members the first in the list goes first, whatever is urgent',
    'task-less-urgent',
    'if ($(test.left) || ($(test.right.left) && task.order > best.order)) $(consequent)',
  ),
  bug(
    'a task that has failed for good makes room twice',
    'team-task-failed',
    'if ($(test)) return void this.#running--;',
  ),
  bug(
    'a member that is at its limit is given a task that names nobody',
    'task-roomiest',
    'if (best === undefined || $(test)) $(consequent)',
  ),

  // Tries.
  bug(
    'a task is tried once too often',
    'task-tries-left',
    'if ($(test.left) <= $(test.right) + ($(test.right) > 0 ? 1 : 0)) $(consequent)',
  ),
  bug(
    'the pause before another try ends, and nothing is tried',
    'team-try-again',
    "if ($(test.left) === 'ready') $(consequent)",
  ),

  // Messages.
  bug('a task that is tried again is not shown its messages', 'team-mail-shown-again', 'if ($(test)) return [];'),
  bug('a message is handed to two tasks', 'team-mail-taken', 'if (messages.length > 1) $(whole)'),
  bug('messages wait for a task that was blocked', 'task-unstarted', "$(left) && status !== 'skipped'"),

  // What a resumed team knows, and what its coordinator is shown.
  bug(
    'a resumed team takes in no tasks that were added before',
    'team-take-tasks',
    `if ($(test)) { if (!${resumed}) $(consequent) } else $(alternate)`,
  ),
  bug(
    'a resumed team shows no results of before',
    'team-results-for-task',
    `return $(argument).filter((task) => !${resumed} || task.attempts > 1);`,
  ),
  bug(
    'who answers is not shown the last result',
    'team-results-for-answer',
    `const $(declarations.0.id) = $(declarations.0.init).slice(0, 9)
      .filter((_, index, all) => index === 0 || index < all.length - 1);`,
  ),
  bug(
    'a team does not name what was blocked as missing',
    'team-missing',
    "$(whole).filter(({ status }) => status !== 'blocked')",
  ),
  bug(
    'tasks that are ready are forgotten when the rest is skipped',
    'task-skip-rest',
    'if ($(test.left)) $(consequent)',
  ),
];
