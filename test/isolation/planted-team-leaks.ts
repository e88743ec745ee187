// Leaks between the tasks of a team: each an edit of the runtime that shows a cell more than its task gives it.
import type { Edit } from '../planted/plant.ts';

export type TeamLeak = {
  readonly name: string;
  readonly edits: readonly Edit[];
  /** What finds it: the comparison of pairs unless given. */
  readonly entry?: string;
};

const leak = (name: string, ...edits: readonly (readonly [probe: string, put: string])[]): TeamLeak => ({
  name,
  edits: edits.map(([probe, put]) => ({ probe, put })),
});

/** Puts words under a wrong name. */
const misattribution = (...[name, ...edits]: Parameters<typeof leak>): TeamLeak => ({
  ...leak(name, ...edits),
  entry: 'test/isolation/check-attribution.ts',
});

export const teamLeaks: readonly TeamLeak[] = [
  leak('every task gets all results', [
    'team-results-in-scope',
    'const $(declarations.0.id) = $(declarations.0.init.consequent);',
  ]),
  leak('a task gets the results of tasks with the same dependencies', [
    'team-results-in-scope',
    `const own = $(declarations.0.init.alternate);
    const beside = own.flatMap((one) => this.queue.dependentsOf(one.id));
    const $(declarations.0.id) = $(declarations.0.init.test) ? $(declarations.0.init.consequent) : [...new Set([...own, ...beside])];`,
  ]),
  leak('a task gets the results of indirect dependencies', [
    'team-results-in-scope',
    `const own = $(declarations.0.init.alternate);
    const above = own.flatMap((one) => this.queue.dependenciesOf(one.id));
    const $(declarations.0.id) = $(declarations.0.init.test) ? $(declarations.0.init.consequent) : [...new Set([...own, ...above])];`,
  ]),
  leak('results are sorted by length', [
    'team-results-for-task',
    'return $(argument).sort((one, other) => one.result!.length - other.result!.length);',
  ]),
  leak('task prompts contain the goal of the team', [
    'team-part-goal',
    `const team = JSON.parse(cell.runtime.received.at(0)?.content ?? '{}').goal;
  const $(declarations.0.id) = $(declarations.0.init.left) ?? $(declarations.0.init.right) + (team ?? '');`,
  ]),
  leak('a message is shown to every task of its recipient', ['team-mail-taken', '']),
  leak(
    'a message is shown to the first task that starts',
    [
      'team-mail-waiting',
      'const $(declarations.0.id) = [...$(declarations.0.init.left.callee.object).values()].flat();',
    ],
    ['team-mail-taken', '$(expression.callee.object).clear();'],
  ),
  leak('a message skips an earlier task of its recipient', ['team-mail-first-only', '']),
  leak('a retried task is shown mail that came in the meantime', [
    'team-mail-shown-again',
    'if ($(test)) return [...($(consequent.argument)), ...(this.#waiting.get(assignee) ?? [])];',
  ]),
  leak('the planning coordinator is shown the instructions of the members', [
    'plan-roster',
    '...$(argument.callee)((member) => `${($(argument.arguments.0))(member)} ${oneLine(member.prompt)}`)',
  ]),
  leak('a retried task is told why it failed', [
    'task-tries-left',
    'if ($(test)) task.description += ` Before: ${reason.text}`;\n    $(whole)',
  ]),
  leak(
    'a plan can ask for all results without permission',
    ['plan-scope', '...$(argument.consequent)'],
    ['plan-limits', 'const $(declarations.0.id) = { ...$(declarations.0.init), allowAll: true };'],
  ),
  leak('a title can name another author', ['task-plain-title', '$(callee.object)']),
  leak(
    'the output of a failed task is passed on',
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
  leak('a task is told how many others are running', [
    'team-task-goal',
    '$(key): `# Task: ${task.title}\\n\\n${task.description}\\n\\n${this.#running}`',
  ]),
  leak('a member is told the instructions of the others', [
    'team-members',
    `$(key): $(value.callee)(
      agents.map((agent) => completeDefinition({ ...withReadOutput(agent), prompt: agents.map(({ prompt }) => prompt).join('\\n') })),
    )`,
  ]),
  leak('the names of passed results are numbered across the team', [
    'dependency-number',
    'const $(declarations.0.id) = $(declarations.0.init) + ((session.ports.world as any).planted = ((session.ports.world as any).planted ?? 0) + 1);',
  ]),
  misattribution('findings with a common source become one', ['finding-key', 'key: sources[0] ?? ($(value))']),
  misattribution('findings that differ only in case or compatibility forms become one', [
    'normalise-text',
    "$(whole).normalize('NFKC').toLowerCase()",
  ]),
  misattribution('the note of a common source quotes it', ['same-source-note', 'note: `${$(value)} ${line.text}`']),
  misattribution(
    'only line feeds end a line of an answer',
    ['answer-line-break', "'\\n'"],
    [
      'frame-line',
      "const $(declarations.0.id) = (line: FrameLine) => 'note' in line ? `(${line.note})` : `| ${line.data}`;",
    ],
  ),
];
