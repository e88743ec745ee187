// Common task graphs as plain lists of tasks, to run as they are or as parts of larger graphs.
//
//   pattern-ids-fixed. Ids do not depend on the texts: `step-1`, `part-2`, `gather` …, with the prefix if there is one. A
//       given id stays.
//   pattern-adds-dependencies. A task keeps its own dependencies; the pattern only adds to them.
import { CloisterError } from '#base';
import type { TaskCondition, TaskSpec } from '#contracts';

/** `prefix: 'intro'` turns `step-1` into `intro-step-1`. */
type PatternOptions = { readonly prefix?: string | undefined };

/** Each step sees the result of the one before it. */
const sequence = (steps: readonly TaskSpec[], options: PatternOptions = {}): TaskSpec[] => {
  expectNonEmpty(steps, 'A sequence needs at least one step.');
  const named = steps.map((step, index) => withId(step, `step-${index + 1}`, options));
  return named.map((step, index) => (index === 0 ? step : after(step, [named[index - 1]!])));
};

/** The parts run in parallel; then one task sees all of their results. */
const fanOut = (parts: readonly TaskSpec[], gather: TaskSpec, options: PatternOptions = {}): TaskSpec[] => {
  expectNonEmpty(parts, 'A fan-out needs at least one part.');
  const named = parts.map((part, index) => withId(part, `part-${index + 1}`, options));
  return [...named, after(withId(gather, 'gather', options), named)];
};

/** One task per item of a list, in parallel; with `gather`, one more task sees all of their results. */
const mapOver = <T>(
  items: readonly T[],
  make: (item: T, index: number) => TaskSpec,
  gather?: TaskSpec,
  options: PatternOptions = {},
): TaskSpec[] => {
  expectNonEmpty(items, 'mapOver needs at least one item.');
  const named = items.map((item, index) => withId(make(item, index), `item-${index + 1}`, options));
  return gather === undefined ? named : [...named, after(withId(gather, 'gather', options), named)];
};

type DebateSide = {
  readonly assignee: string;
  /** What the side argues for. Default: the first side is for the motion, the second against it. */
  readonly stance?: string | undefined;
};

type DebateOptions = PatternOptions & {
  readonly motion: string;
  readonly sides: readonly [DebateSide, DebateSide];
  readonly judge: { readonly assignee: string };
  readonly rounds: number;
};

/** In each round both sides speak, and see only the other side's speech from the previous round. The judge sees all speeches. */
const debate = ({ motion, sides, judge, rounds, ...options }: DebateOptions): TaskSpec[] => {
  expectRounds(rounds);
  if (typeof motion !== 'string' || motion.trim() === '') refuse('The motion of the debate is empty.');
  if (!Array.isArray(sides) || sides.length !== 2) refuse('A debate needs exactly two sides.');
  const stances = sides.map(({ stance }, side) => stance ?? (side === 0 ? 'for the motion' : 'against the motion'));
  const speeches: TaskSpec[] = [];
  for (let round = 1; round <= rounds; round++)
    sides.forEach(({ assignee }, side) => {
      const instructions = round === 1 ? openingPrompt : replyPrompt;
      const speech: TaskSpec = {
        title: `Round ${round}, side ${letters[side]!.toUpperCase()}`,
        description: `The motion: ${motion}\n\nYour side: ${stances[side]}\n\n${instructions}`,
        assignee,
      };
      const named = withId(speech, `round-${round}-${letters[side]}`, options);
      speeches.push(round === 1 ? named : after(named, [speeches[2 * (round - 1) - 1 - side]!]));
    });
  const verdict: TaskSpec = {
    title: 'Verdict',
    description: `The motion: ${motion}\n\nSide A: ${stances[0]}\nSide B: ${stances[1]}\n\n${judgePrompt}`,
    assignee: judge.assignee,
  };
  return [...speeches, after(withId(verdict, 'verdict', options), speeches)];
};

const letters = ['a', 'b'];
const openingPrompt = 'Make your case in a short speech.';
const replyPrompt =
  "You are shown the other side's latest speech. Answer its strongest points, then make your own case.";
const judgePrompt = 'You are shown all speeches from both sides. Say which side made the better case, and why.';

type ReviewOptions = PatternOptions & {
  readonly draft: TaskSpec;
  readonly review: TaskSpec;
  /** The maximum number of drafts. */
  readonly rounds: number;
  /** The words with which a review accepts the draft. Default: `accepted`. The reviewer is told the first one. */
  readonly accept?: string | readonly string[] | undefined;
};

/** A draft is reviewed and rewritten until a review accepts it or the rounds are used up. */
const reviewUntil = ({ draft, review, rounds, accept = 'accepted', ...options }: ReviewOptions): TaskSpec[] => {
  expectRounds(rounds);
  const words = typeof accept === 'string' ? [accept] : accept;
  expectNonEmpty(words, 'accept needs at least one word.');
  if (words.some((word) => typeof word !== 'string' || word.trim() === '')) refuse('accept contains an empty word.');
  const tasks: TaskSpec[] = [];
  for (let round = 1; round <= rounds; round++) {
    const [lastDraft, lastReview] = tasks.slice(-2);
    // Both have the previous review as their condition: if it accepted the draft, neither is needed.
    const follow = (task: TaskSpec, others: readonly TaskSpec[]): TaskSpec =>
      lastReview === undefined
        ? after(task, others)
        : { ...after(task, [...others, lastReview]), when: { task: lastReview.id!, not: accept } };
    const first = withId(forRound(draft, round), `draft-${round}`, options);
    const written = follow(
      round === 1 ? first : appendToDescription(first, revisionPrompt(round)),
      lastDraft === undefined ? [] : [lastDraft],
    );
    const reviewed = withId(forRound(review, round), `review-${round}`, options);
    tasks.push(written, follow(appendToDescription(reviewed, reviewPrompt(round, words[0]!)), [written]));
  }
  return tasks;
};

/** A copy of the task for one round; a given id gets the round's number. */
const forRound = ({ id, ...task }: TaskSpec, round: number): TaskSpec => ({
  ...task,
  title: `${task.title} (round ${round})`,
  ...(id === undefined ? {} : { id: `${id}-${round}` }),
});

const revisionPrompt = (round: number): string =>
  `Write version ${round}. You are shown version ${round - 1} and its review. Answer with the complete new version.`;

const reviewPrompt = (round: number, word: string): string =>
  `${round === 1 ? '' : 'You are also shown the review of the previous version. '}If no important changes are needed, begin your answer with "${word}". Otherwise, begin with a different word and say what must change.`;

type RouteTask = Omit<TaskSpec, 'when'> & {
  /** The word that chooses this route. */
  readonly name: string;
  /** When to choose this route. Default: its title. */
  readonly about?: string | undefined;
};

type RouteOptions = PatternOptions & {
  readonly router: TaskSpec;
  readonly routes: readonly RouteTask[];
  /** A task that sees the result of the chosen route. */
  readonly answer?: TaskSpec | undefined;
};

/** One task chooses, by name, which of the others runs. */
const route = ({ router, routes, answer, ...options }: RouteOptions): TaskSpec[] => {
  expectNonEmpty(routes, 'A router needs at least one route.');
  const names = new Set<string>();
  for (const { name } of routes) {
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/u.test(name))
      refuse(`A route name must be one word of at most 40 letters, digits, "_" and "-"; got ${JSON.stringify(name)}.`);
    if (names.has(name.toLowerCase())) refuse(`Two routes are named ${name}.`);
    names.add(name.toLowerCase());
  }
  const choices = routes.map(({ name, about, title }) => `- ${name}: ${about ?? title}`).join('\n');
  const chooser = appendToDescription(withId(router, 'router', options), `${choosePrompt}\n${choices}`);
  const taken = routes.map(({ name, about: _about, ...task }) => {
    const when: TaskCondition = { task: chooser.id!, is: name };
    return { ...after(withId(task, `route-${name}`, options), [chooser]), when };
  });
  return [chooser, ...taken, ...(answer === undefined ? [] : [after(withId(answer, 'answer', options), taken)])];
};

const choosePrompt = 'Choose one of the following. The first line of your answer must be its name and nothing else:';

const withId = (task: TaskSpec, defaultId: string, { prefix }: PatternOptions): TaskSpec => {
  const id = task.id ?? (prefix === undefined || prefix === '' ? defaultId : `${prefix}-${defaultId}`);
  if (typeof task.title !== 'string' || typeof task.description !== 'string')
    refuse(`Task ${id}: title and description must be strings.`);
  return { ...task, id };
};

const appendToDescription = (task: TaskSpec, text: string): TaskSpec => ({
  ...task,
  description: `${task.description}\n\n${text}`,
});

const after = (task: TaskSpec, others: readonly TaskSpec[]): TaskSpec => ({
  ...task,
  dependsOn: [...new Set([...(task.dependsOn ?? []), ...others.map(({ id }) => id!)])],
});

const roundsMax = 20;

const expectRounds = (rounds: number): void => {
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > roundsMax)
    refuse(`rounds must be a whole number from 1 to ${roundsMax}; got ${rounds}.`);
};

const expectNonEmpty = (list: readonly unknown[], problem: string): void => {
  if (!Array.isArray(list) || list.length === 0) refuse(problem);
};

const refuse = (problem: string): never => {
  throw new CloisterError('tasks_invalid', problem);
};

/** Common ways of working together, as task graphs. */
export const patterns = { sequence, fanOut, mapOver, debate, reviewUntil, route } as const;
