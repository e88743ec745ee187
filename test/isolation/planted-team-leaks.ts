// Leaks between the tasks of a team: each an edit of the runtime that shows a cell more than its task gives it.
import type { Edit } from '../planted/plant.ts';

export type TeamLeak = { readonly name: string; readonly edits: readonly Edit[] };

const leak = (name: string, ...edits: readonly (readonly [probe: string, put: string])[]): TeamLeak => ({
  name,
  edits: edits.map(([probe, put]) => ({ probe, put })),
});

export const teamLeaks: readonly TeamLeak[] = [
  leak('every task is handed all results', [
    'team-results-in-scope',
    'const $(declarations.0.id) = $(declarations.0.init.consequent);',
  ]),
  leak('a task is handed the results of those that wait for the same', [
    'team-results-in-scope',
    `const own = $(declarations.0.init.alternate);
    const beside = own.flatMap((one) => this.queue.dependentsOf(one.id));
    const $(declarations.0.id) = $(declarations.0.init.test) ? $(declarations.0.init.consequent) : [...new Set([...own, ...beside])];`,
  ]),
  leak('a task is handed what its dependencies depend on', [
    'team-results-in-scope',
    `const own = $(declarations.0.init.alternate);
    const above = own.flatMap((one) => this.queue.dependenciesOf(one.id));
    const $(declarations.0.id) = $(declarations.0.init.test) ? $(declarations.0.init.consequent) : [...new Set([...own, ...above])];`,
  ]),
  leak('results come in the order of their length', [
    'team-results-for-task',
    'return $(argument).sort((one, other) => one.result!.length - other.result!.length);',
  ]),
  leak('the goal of the team is in the prompts of its tasks', [
    'team-part-goal',
    `const team = JSON.parse(cell.runtime.arrivals.at(0)?.content ?? '{}').goal;
  const $(declarations.0.id) = $(declarations.0.init.left) ?? $(declarations.0.init.right) + (team ?? '');`,
  ]),
  leak('a message is shown to every task of its reader', ['team-mail-taken', '']),
  leak(
    'a message is shown to whoever comes first',
    [
      'team-mail-waiting',
      'const $(declarations.0.id) = [...$(declarations.0.init.left.callee.object).values()].flat();',
    ],
    ['team-mail-taken', '$(expression.callee.object).clear();'],
  ),
  leak('a message overtakes an earlier task of its reader', ['team-mail-first-only', '']),
  leak('a task that is tried again is shown mail that came meanwhile', [
    'team-mail-shown-again',
    'if ($(test)) return [...($(consequent.argument)), ...(this.#waiting.get(assignee) ?? [])];',
  ]),
  leak('who plans is shown the instructions of the members', [
    'plan-roster',
    '...$(argument.callee)((member) => `${($(argument.arguments.0))(member)} ${oneLine(member.prompt)}`)',
  ]),
  leak('a task that is tried again is told why it failed', [
    'task-tries-left',
    'if ($(test)) task.description += ` Before: ${reason.text}`;\n    $(whole)',
  ]),
  leak(
    'a plan may ask for all results whether it may or not',
    ['plan-scope', '...$(argument.consequent)'],
    ['plan-limits', 'const $(declarations.0.id) = { ...$(declarations.0.init), allowAll: true };'],
  ),
  leak('a title can name another as the one who did it', ['task-plain-title', '$(callee.object)']),
  leak(
    'what a failed task said before is handed on',
    [
      'team-results-for-task',
      'return $(argument.callee)((task) => ($(argument.arguments.0))(task) || task.result !== null);',
    ],
    [
      'team-task-failed',
      `if (!('code' in envelope)) (this.queue.get(id) as { result: string | null }).result = envelope.output || null;
    $(whole)`,
    ],
  ),
  leak('a task is told how many others are at work', [
    'team-task-goal',
    '$(key): `# Task: ${task.title}\\n\\n${task.description}\\n\\n${this.#running}`',
  ]),
  leak('a member is told the instructions of the others', [
    'team-members',
    `$(key): $(value.callee)(
      agents.map((agent) => completeDefinition({ ...withReadOutput(agent), prompt: agents.map(({ prompt }) => prompt).join('\\n') })),
    )`,
  ]),
  leak('names of handed results count those of the whole team', [
    'dependency-number',
    'const $(declarations.0.id) = $(declarations.0.init) + cell.runtime.liveRun.nextFrame;',
  ]),
];
