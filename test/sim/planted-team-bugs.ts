// Bugs to plant in teams. Each is a small mistake that could happen in a hurry.
import type { Bug } from './planted-bugs.ts';

/** Whether the run was resumed after a crash. */
const resumed = '(this.#world as any).resumed';

/** A session does not know: the run tells it. */
const tellResumed = {
  probe: 'run-root',
  put: '$(whole)\n    (ports as any).resumed = this.recorded !== null && !this.follower.onlyRepeats;',
};

const bug = (name: string, probe: string, put: string): Bug => ({ name, edits: [{ probe, put }] });

const bugWhenResumed = (name: string, probe: string, put: string): Bug => ({
  name,
  edits: [tellResumed, { probe, put }],
});

export const teamBugs: readonly Bug[] = [
  // Dependencies.
  bug(
    'a task starts when its first dependency has completed',
    'task-tell-dependent',
    `if ($(test)) $(consequent)
    else if ($(alternate.test.left) >= 0 && dependent.status === 'pending') $(alternate.consequent)`,
  ),
  bug(
    'a failure blocks direct dependents but not indirect ones',
    'task-dependent-ended',
    "if ($(test) && $(test.arguments.0) !== 'blocked') $(consequent)",
  ),
  bug(
    'a task is skipped as soon as one of its dependencies was skipped',
    'task-not-needed',
    'if ($(test.left) && $(test.right.callee.object).some($(test.right.arguments.0))) $(consequent)',
  ),
  bug('a skipped task blocks its dependents', 'task-blocks-nobody', 'if ($(test.left)) $(consequent)'),

  // Order and capacity.
  bug(
    'between tasks of different members, list order beats priority',
    'task-less-urgent',
    'if ($(test.left) || ($(test.right.left) && task.order > best.order)) $(consequent)',
  ),
  bug(
    'a task that finally failed frees its place twice',
    'team-task-failed',
    'if ($(test)) return void this.#running--;',
  ),
  bug(
    'a member at its capacity gets an unassigned task',
    'task-roomiest',
    'if (best === undefined || $(test)) $(consequent)',
  ),

  // Retries.
  bug(
    'a task gets one retry too many',
    'task-tries-left',
    'if ($(test.left) <= $(test.right) + ($(test.right) > 0 ? 1 : 0)) $(consequent)',
  ),
  bug('nothing is retried after the pause', 'team-try-again', "if ($(test.left) === 'ready') $(consequent)"),

  // Messages.
  bug('a retried task does not get its messages', 'team-mail-shown-again', 'if ($(test)) return [];'),
  bug('a message goes to two tasks', 'team-mail-taken', 'if (messages.length > 1) $(whole)'),
  bug('messages wait for a blocked task', 'task-unstarted', "$(left) && status !== 'skipped'"),

  // Resumed teams, and the coordinator's prompts.
  bugWhenResumed(
    'a resumed team ignores tasks that were added before',
    'team-take-tasks',
    `if ($(test)) { if (!${resumed}) $(consequent) } else $(alternate)`,
  ),
  bugWhenResumed(
    'a resumed team shows no earlier results',
    'team-results-for-task',
    `return $(argument).filter((task) => !${resumed} || task.attempts > 1);`,
  ),
  bug(
    'the answering coordinator is not shown the last result',
    'team-results-for-answer',
    `const $(declarations.0.id) = $(declarations.0.init).slice(0, 9)
      .filter((_, index, all) => index === 0 || index < all.length - 1);`,
  ),
  bug(
    'a team does not list blocked tasks as missing',
    'team-missing',
    "$(whole).filter(({ status }) => status !== 'blocked')",
  ),
  bug('ready tasks are forgotten when the rest is skipped', 'task-skip-rest', 'if ($(test.left)) $(consequent)'),
];
