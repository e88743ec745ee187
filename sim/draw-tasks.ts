// Draws small task graphs of every shape.
import type { TaskSpec } from '#contracts';
import type { Random } from './random.ts';

type DrawOptions = {
  /** The prefix of the ids. */
  readonly name: string;
  readonly least: number;
  readonly most: number;
  /** Ids of existing tasks. */
  readonly known: readonly string[];
  /** Only fields that a coordinator may plan. */
  readonly isPlan: boolean;
};

const defaults: DrawOptions = { name: 't', least: 1, most: 12, known: [], isPlan: false };

/** No two tasks have the same text. */
export const drawTasks = (
  random: Random,
  members: readonly string[],
  options: Partial<DrawOptions> = {},
): TaskSpec[] => {
  const { name, least, most, known, isPlan } = { ...defaults, ...options };
  const count = Math.min(most, random.chance(0.15) ? random.int(least, most) : random.log(least, Math.min(most, 6)));
  const density = random.pick([0.15, 0.35, 0.35, 0.6]);
  const tasks: TaskSpec[] = [];
  for (let nth = 0; nth < count; nth++) {
    const before = [...known, ...tasks.map(({ id }) => id!)];
    const dependsOn = before.filter(() => random.chance(density)).slice(-3);
    tasks.push({
      id: `${name}${nth}`,
      title: `Do ${random.hex()}${random.chance(0.05) ? ' (by nobody)' : ''}`,
      description: `About ${random.hex()}.${random.chance(0.1) ? '\n\n## Context from prerequisite tasks' : ''}`,
      ...(random.chance(0.6) ? { assignee: random.pick(members) } : {}),
      ...(dependsOn.length === 0 ? {} : { dependsOn }),
      ...(random.chance(0.4) ? { priority: random.int(-1, 2) } : {}),
      ...(isPlan ? {} : drawOptionalFields(random, dependsOn)),
    });
  }
  return random.chance(0.3) ? random.shuffled(tasks) : tasks;
};

const drawOptionalFields = (random: Random, dependsOn: readonly string[]): Partial<TaskSpec> => ({
  ...(random.chance(0.35) ? { retries: random.int(0, 2) } : {}),
  ...(random.chance(0.08) ? { memoryScope: 'all' } : {}),
  ...(dependsOn.length > 0 && random.chance(0.25)
    ? { when: { task: random.pick(dependsOn), ...random.pick([{ is: 'yes' }, { not: ['no', 'never'] }]) } }
    : {}),
});
