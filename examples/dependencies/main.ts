// Runs a task twice: shown only the results it depends on, then shown all results. Prints the two prompts side by side.
import { readFileSync } from 'node:fs';
import { openCloister } from 'cloister';
import type { MemoryScope, TaskSpec } from 'cloister';
import { parse } from 'yaml';

const here = import.meta.dirname;
const tasks = parse(readFileSync(`${here}/tasks.yaml`, 'utf8')) as TaskSpec[];
await using cloister = await openCloister({ store: 'memory', agents: [`${here}/team.yaml`] });

/** What the task "page" was shown, and from which tasks. */
const shownTo = async (memoryScope: MemoryScope) => {
  const session = cloister.runTasks(
    'editorial',
    tasks.map((task) => (task.id === 'page' ? { ...task, memoryScope } : task)),
  );
  await session.outcome;
  const page = (await cloister.tasks(session.run)).find(({ id }) => id === 'page')!;
  const { segments } = await cloister.explain(session.run, page.cells[0]!);
  const trails = segments.flatMap(({ trail }) => trail);
  return {
    prompt: segments.flatMap(({ origin, text }) => (/^(?:system|tool)@/u.test(origin.rule) ? [] : [text])),
    from: trails.flatMap((step) => (step.type === 'task' ? [step.task] : [])),
    grants: trails.flatMap((step) => (step.type === 'crossing' && step.kind === 'dependency' ? [step.grant] : [])),
    result: page.result,
    ok: (await cloister.audit(session.run)).ok,
  };
};

const [left, right] = [await shownTo('dependencies'), await shownTo('all')];

const columns = 58;
const wrap = (text: string): string[] =>
  text.split('\n').flatMap((line) => line.match(new RegExp(`.{1,${columns}}(?:\\s|$)|\\S{${columns}}`, 'gu')) ?? ['']);
const [one, other] = [left, right].map(({ prompt }) => wrap(prompt.join('\n\n')));
console.log(`${'memoryScope: dependencies'.padEnd(columns + 2)}memoryScope: all\n`);
for (let line = 0; line < Math.max(one!.length, other!.length); line++)
  console.log(`${(one![line] ?? '').trimEnd().padEnd(columns + 2)}${(other![line] ?? '').trimEnd()}`.trimEnd());

for (const [scope, { from, grants, result, ok }] of Object.entries({ dependencies: left, all: right }))
  console.log(
    `\n${scope}: from ${from.join(', ')}, granted as ${[...new Set(grants)].join()}; audit ok: ${ok}\n  ${result}`,
  );
