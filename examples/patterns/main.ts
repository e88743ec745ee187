// Six patterns on one engine: each is just a task graph. `npm run example -- patterns review` runs one of them.
import { openCloister, patterns } from 'cloister';
import type { TaskSpec } from 'cloister';

const { sequence, fanOut, mapOver, debate, reviewUntil, route } = patterns;
const task = (assignee: string, title: string, description: string): TaskSpec => ({ assignee, title, description });

const graphs: Record<string, () => readonly TaskSpec[]> = {
  /** One after the other; each sees the result of the one before it. */
  sequence: () =>
    sequence([
      task('writer', 'Outline', 'Outline a page on SQLite.'),
      task('writer', 'Text', 'Write the page from the outline.'),
      task('critic', 'Check', 'Check the page.'),
    ]),
  /** In parallel, without seeing each other; then one that sees all results. */
  'fan-out': () =>
    fanOut(
      ['Speed', 'Safety', 'Cost'].map((part) =>
        task('writer', part, `Say something about the ${part.toLowerCase()} of SQLite.`),
      ),
      task('critic', 'Together', 'Say what they have in common.'),
    ),
  /** The same task for each item of a list. */
  map: () =>
    mapOver(['alpha', 'beta', 'gamma', 'delta'], (letter) =>
      task('writer', `On ${letter}`, `Write a line on ${letter}.`),
    ),
  /** Two argue, each seeing the other's last speech; a judge sees all speeches. */
  debate: () =>
    debate({
      motion: 'A database should be one file.',
      sides: [
        { assignee: 'writer', stance: 'for' },
        { assignee: 'critic', stance: 'against' },
      ],
      judge: { assignee: 'critic' },
      rounds: 2,
    }),
  /** Written and reviewed until it is accepted, at most four times. */
  review: () =>
    reviewUntil({
      draft: task('writer', 'Draft', 'Write one line that says what SQLite does.'),
      review: task('critic', 'Review', 'Review the line: does it say what SQLite does?'),
      rounds: 4,
    }),
  /** One task decides which of the others is run. */
  router: () =>
    route({
      router: task('clerk', 'Sort', 'A customer asks about an invoice.'),
      routes: [
        { name: 'billing', ...task('writer', 'Billing', 'Answer the question about an invoice.') },
        { name: 'technical', ...task('critic', 'Technical', 'Answer the technical question.') },
      ],
      answer: task('writer', 'Letter', 'Write to the customer.'),
    }),
};

const [asked] = process.argv.slice(2);
const names = asked === undefined ? Object.keys(graphs) : [asked];
const unknown = names.find((name) => graphs[name] === undefined);
if (unknown !== undefined)
  throw new Error(`No pattern is named "${unknown}". Choose one of: ${Object.keys(graphs).join(', ')}.`);

await using cloister = await openCloister({ store: 'memory', agents: [`${import.meta.dirname}/team.yaml`] });
for (const name of names) {
  const session = cloister.runTasks('desk', graphs[name]!());
  const { status, run } = await session.outcome;
  const { ok } = await cloister.audit(run);
  console.log(`${name}: ${status}, audit ok: ${ok}`);
  for (const { id, assignee, dependsOn, status: state, result } of await cloister.tasks(run)) {
    const after = dependsOn.length === 0 ? '' : ` after ${dependsOn.join(', ')}`;
    console.log(`  ${id} (${assignee ?? 'nobody'}${after}): ${result ?? state}`);
  }
}
