// Leaks between the tasks of a team: each an edit of the runtime that shows a cell more than its task gives it.
import type { Edit } from '../planted/plant.ts';

const director = 'src/core/orchestration/director.ts';
const teamCell = 'src/core/orchestration/team-cell.ts';
const teamMail = 'src/core/orchestration/team-mail.ts';
const planWords = 'src/core/orchestration/plan-words.ts';
const defineTeam = 'src/core/orchestration/define-team.ts';
const taskQueue = 'src/core/tasks/task-queue.ts';
const taskRules = 'src/core/rules/tasks.ts';
const showTask = 'src/core/session/show-task.ts';

export type TeamLeak = { readonly name: string; readonly edits: readonly Edit[] };

const leak = (name: string, ...edits: readonly (readonly [file: string, find: string, put: string])[]): TeamLeak => ({
  name,
  edits: edits.map(([file, find, put]) => ({ file, find, put })),
});

const chosenResults = "const all = memoryScope === 'all' ? [...this.queue.tasks()] : this.queue.dependenciesOf(id);";
const doneResults = "return all.filter((task) => task.status === 'completed');";
const taskGoal = 'const goal = given.goal ?? taskText(task!.title, task!.description);';

export const teamLeaks: readonly TeamLeak[] = [
  leak('every task is handed all results', [
    director,
    chosenResults,
    'const all = [...this.queue.tasks()]; void memoryScope, id;',
  ]),
  leak('a task is handed the results of those that wait for the same', [
    director,
    chosenResults,
    `const own = this.queue.dependenciesOf(id);
    const beside = own.flatMap((one) => this.queue.dependentsOf(one.id));
    const all = memoryScope === 'all' ? [...this.queue.tasks()] : [...new Set([...own, ...beside])];`,
  ]),
  leak('a task is handed what its dependencies depend on', [
    director,
    chosenResults,
    `const own = this.queue.dependenciesOf(id);
    const all = memoryScope === 'all' ? [...this.queue.tasks()] : [...new Set(own.flatMap((one) => [one, ...this.queue.dependenciesOf(one.id)]))];`,
  ]),
  leak('results come in the order of their length', [
    director,
    doneResults,
    "return all.filter((task) => task.status === 'completed').sort((one, other) => one.result!.length - other.result!.length);",
  ]),
  leak('the goal of the team is in the prompts of its tasks', [
    teamCell,
    taskGoal,
    "const team = JSON.parse(cell.home.arrivals.at(0)?.content ?? '{}').goal;\n  const goal = given.goal ?? taskText(task!.title, task!.description) + (team ?? '');",
  ]),
  leak('a message is shown to every task of its reader', [teamMail, 'this.#waiting.delete(assignee);', '']),
  leak('a message is shown to whoever comes first', [
    teamMail,
    'const messages = this.#waiting.get(assignee) ?? [];\n    if (messages.length === 0) return [];\n    this.#waiting.delete(assignee);',
    'const messages = [...this.#waiting.values()].flat();\n    if (messages.length === 0) return [];\n    this.#waiting.clear();',
  ]),
  leak('a message overtakes an earlier task of its reader', [teamMail, 'if (!isFirst) return [];', 'void isFirst;']),
  leak('a task that is tried again is shown mail that came meanwhile', [
    teamMail,
    'if (attempts > 1) return this.#shown.get(id) ?? [];',
    'if (attempts > 1) return [...(this.#shown.get(id) ?? []), ...(this.#waiting.get(assignee) ?? [])];',
  ]),
  leak('who plans is shown the instructions of the members', [
    planWords,
    '...roster.map(({ name, description }) => `- ${name}: ${oneLine(description)}`)',
    '...roster.map(({ name, description, prompt }) => `- ${name}: ${oneLine(description)} ${oneLine(prompt)}`)',
  ]),
  leak('a task that is tried again is told why it failed', [
    taskQueue,
    "this.#become(task, 'pending');\n      return 'again';",
    "this.#become(task, 'pending');\n      task.description += ` Before: ${reason.text}`;\n      return 'again';",
  ]),
  leak(
    'a plan may ask for all results whether it may or not',
    [planWords, '...(planMayAskForAll ? allScope : {})', '...(void planMayAskForAll, allScope)'],
    [director, 'allowAll: planMayAskForAll };', 'allowAll: planMayAskForAll || true };'],
  ),
  leak('a title can name another as the one who did it', [taskRules, ".replace(/\\((?=\\s*by\\b)/giu, '[')", '']),
  leak(
    'what a failed task said before is handed on',
    [director, doneResults, "return all.filter((task) => task.status === 'completed' || task.result !== null);"],
    [
      director,
      "if (this.queue.fail(id, reason) === 'failed') return;",
      "if (!('code' in envelope)) (this.queue.get(id) as { result: string | null }).result = envelope.output || null;\n    if (this.queue.fail(id, reason) === 'failed') return;",
    ],
  ),
  leak('a task is told how many others are at work', [
    director,
    'goal: null,\n      task,',
    'goal: `# Task: ${task.title}\\n\\n${task.description}\\n\\n${this.#running}`,\n      task,',
  ]),
  leak('a member is told the instructions of the others', [
    defineTeam,
    'agents.flatMap((agent) => [...new Set([agent, readingOn(agent)])])',
    "agents.map((agent) => complete({ ...readingOn(agent), prompt: agents.map(({ prompt }) => prompt).join('\\n') }))",
  ]),
  leak('names of handed results count those of the whole team', [
    showTask,
    "const nth = cell.nextOutput('dependency');",
    "const nth = cell.nextOutput('dependency') + cell.home.host.nextFrame;",
  ]),
];
