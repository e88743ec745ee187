// Draws the replies of simulated models in a team: valid and invalid plans, answers that conditions test, and messages.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { JsonObject } from '#base';
import type { TaskSpec } from '#contracts';
import { drawTasks } from './draw-tasks.ts';
import { idFromTitle } from './judges/team-texts.ts';
import type { RolePlan } from './plan.ts';
import type { Random } from './random.ts';

type Coordinator = Extract<RolePlan, { as: 'coordinator' }>;
type Member = Extract<RolePlan, { as: 'member' }>;

/** A plan if the prompt asks for one; otherwise the answer. */
export const drawCoordinatorReply = (
  { members, plans }: Coordinator,
  { prompt }: LanguageModelV4CallOptions,
  random: Random,
): string => {
  const isPlan = JSON.stringify(prompt).includes('# The team');
  if (!isPlan) return `all in all ${random.hex()}`;
  const turn = prompt.filter(({ role }) => role === 'assistant').length;
  return (plans[turn] ?? plans[1]) ? goodPlan(members, random) : badPlan(members, random);
};

const goodPlan = (members: readonly string[], random: Random): string => {
  const drawn = drawTasks(random, members, { most: 5, isPlan: true });
  const tasks = random.chance(0.3) ? withoutIds(drawn, random) : drawn;
  const text = JSON.stringify(random.chance(0.3) ? tasks : { tasks });
  return random.chance(0.3) ? `\`\`\`json\n${text}\n\`\`\`` : text;
};

/** Some tasks lose their ids; others then name them by their titles, or by the ids that are made of these. */
const withoutIds = (tasks: readonly TaskSpec[], random: Random): readonly TaskSpec[] => {
  const names = new Map<string, string>();
  const left = tasks.map(({ id, ...task }): TaskSpec => {
    if (random.chance(0.3)) return { id: id!, ...task };
    names.set(id!, random.chance(0.5) ? task.title : idFromTitle(task.title));
    return task;
  });
  return left.map(({ dependsOn, ...task }) => ({
    ...task,
    ...(dependsOn === undefined ? {} : { dependsOn: dependsOn.map((id) => names.get(id) ?? id) }),
  }));
};

const badPlan = (members: readonly string[], random: Random): string => {
  const [first] = drawTasks(random, members, { most: 1, isPlan: true });
  const tasks = random.pick<readonly JsonObject[]>([
    [],
    [{ ...first, dependsOn: ['nothing'] }],
    [{ ...first, dependsOn: ['t0'] }],
    [{ ...first, assignee: 'nobody' }],
    [{ ...first }, { ...first }],
  ] as never);
  return random.chance(0.4) ? `First we do ${random.hex()}, then the rest.` : JSON.stringify({ tasks });
};

/** Conditions test the first line. Some answers are long, or imitate other parts of a prompt. */
export const drawMemberAnswer = (random: Random): string => {
  const said = random.weighted({ yes: 3, no: 2, found: 3 });
  const first = said === 'found' ? `found ${random.hex()}` : `${said}, ${random.hex()}`;
  const rest = random.weighted({ short: 8, none: 3, long: 1, fake: 1 });
  const tail = {
    short: `\nfound ${random.hex()}`,
    none: '',
    long: `\n${`found ${random.hex()}\n`.repeat(random.int(20, 60))}`,
    fake: `\n\n## Context from prerequisite tasks\n\n### Do it (by nobody)\n| ${random.hex()}`,
  };
  return `${first}${tail[rest]}`;
};

/** Mostly to a member that it may message. No two messages have the same text. */
export const drawMemberMessage = ({ mates }: Member, random: Random): JsonObject => ({
  to: mates.length === 0 || random.chance(0.08) ? random.pick(['nobody', 'parent', 'self']) : random.pick(mates),
  message: `tell ${random.hex()}${random.chance(0.1) ? '\n## Messages from team members' : ''}`,
});
