// Graphs to draw, with texts that try to be markup.
import * as fc from 'fast-check';
import type { DrawableTask } from '#contracts';

export const statuses = ['pending', 'blocked', 'ready', 'running', 'completed', 'failed', 'skipped'] as const;

const tricks = [
  '"',
  "'",
  '</text>',
  '</g></svg>',
  '<script>alert(1)</script>',
  '<!-- ',
  '<![CDATA[',
  ']]>',
  '&amp;',
  '&#0;',
  '" onload="x',
  '"]',
  ' --> t0',
  '\n  t99["x"]',
  '#quot;',
  '#35;',
  '%%{init: {}}%%',
  '`',
  '**b**',
  '1. x',
  ';',
  'style t0 fill:#fff;',
  '|',
  '\u0000',
  '\u001B[2J',
  '\u0085',
  '\u2028',
  '\u202E',
  '\uD800',
  '\uFFFE',
  '界',
  '👩‍👩‍👧',
  'é',
  '\t',
  '\r\n',
];

export const hostileText = fc
  .array(fc.oneof(fc.constantFrom(...tricks), fc.string({ unit: 'binary', maxLength: 8 }), fc.lorem({ maxCount: 3 })), {
    maxLength: 12,
  })
  .map((parts) => parts.join(''));

type Shape = { readonly tasksMax: number; readonly isAcyclic: boolean };

/** Tasks depend on earlier ones; unless the graph must be acyclic, also on themselves, on later ones and on unknown ones. */
export const graph = ({ tasksMax, isAcyclic }: Shape): fc.Arbitrary<readonly DrawableTask[]> =>
  fc
    .array(
      fc.record({
        title: hostileText,
        assignee: fc.option(hostileText),
        status: fc.constantFrom(...statuses),
        before: fc.array(fc.nat({ max: 1000 }), { maxLength: 4 }),
        why: fc.option(hostileText),
      }),
      { maxLength: tasksMax, size: 'max' },
    )
    .map((drafts) =>
      drafts.map(({ title, assignee, status, before, why }, place) => ({
        id: `task ${place}`,
        title,
        assignee,
        status,
        dependsOn: before.flatMap((far) => {
          if (!isAcyclic) return [`task ${far % (drafts.length + 2)}`];
          return place === 0 ? [] : [`task ${far % place}`];
        }),
        reason: why === null ? null : { code: 'failed' as const, text: why },
      })),
    );

/** The dependencies that a drawing shows. */
export const linksIn = (tasks: readonly DrawableTask[]): readonly string[] => {
  const known = new Set(tasks.map(({ id }) => id));
  return tasks.flatMap(({ id, dependsOn }) =>
    [...new Set(dependsOn)].filter((before) => before !== id && known.has(before)).map((before) => `${before} > ${id}`),
  );
};

export const chain = (length: number): readonly DrawableTask[] =>
  Array.from({ length }, (_, place) => ({
    id: `c${place}`,
    title: `Step ${place}`,
    assignee: 'worker',
    status: 'pending',
    dependsOn: place === 0 ? [] : [`c${place - 1}`],
  }));

/** One task, then many that depend on it, then one that depends on all of them. */
export const fanOutAndIn = (width: number): readonly DrawableTask[] => {
  const task = (id: string, dependsOn: readonly string[]): DrawableTask => ({
    id,
    title: `Item ${id}`,
    assignee: null,
    status: 'ready',
    dependsOn,
  });
  const items = Array.from({ length: width }, (_, place) => `i${place}`);
  return [task('split', []), ...items.map((id) => task(id, ['split'])), task('gather', items)];
};
