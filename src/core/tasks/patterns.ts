// Graphs that teams often need, as plain lists of tasks: to be run as they are, or as parts of larger ones.
//
//   P1. Ids are the same whatever the texts: `step-1`, `part-2`, `gather` … after a prefix, if there is one. A given id stays.
//   P2. What a task depends on by itself is kept; the pattern only adds.
import { CloisterError } from '#base';
import type { TaskCondition, TaskSpec } from '#contracts';

/** `prefix: 'intro'` makes `intro-step-1` of `step-1`. */
export type PatternOptions = { readonly prefix?: string | undefined };

/** Each step sees the result of the one before it. */
const sequence = (steps: readonly TaskSpec[], options: PatternOptions = {}): TaskSpec[] => {
  expectSome(steps, 'A sequence needs at least one step.');
  const named = steps.map((step, index) => withId(step, `step-${index + 1}`, options));
  return named.map((step, index) => (index === 0 ? step : after(step, [named[index - 1]!])));
};

/** The parts are worked on side by side; then one task sees all their results. */
const fanOut = (parts: readonly TaskSpec[], gather: TaskSpec, options: PatternOptions = {}): TaskSpec[] => {
  expectSome(parts, 'A fan-out needs at least one part.');
  const named = parts.map((part, index) => withId(part, `part-${index + 1}`, options));
  return [...named, after(withId(gather, 'gather', options), named)];
};

/** One task for each item of a list, side by side; with `gather`, one more sees all their results. */
const mapOver = <T>(
  items: readonly T[],
  make: (item: T, index: number) => TaskSpec,
  gather?: TaskSpec,
  options: PatternOptions = {},
): TaskSpec[] => {
  expectSome(items, 'There is no item to map over.');
  const named = items.map((item, index) => withId(make(item, index), `item-${index + 1}`, options));
  return gather === undefined ? named : [...named, after(withId(gather, 'gather', options), named)];
};

export type DebateSide = {
  readonly assignee: string;
  /** What it argues for. Default: for the motion the first, against it the second. */
  readonly stance?: string | undefined;
};

export type DebateOptions = PatternOptions & {
  readonly motion: string;
  readonly sides: readonly [DebateSide, DebateSide];
  readonly judge: { readonly assignee: string };
  readonly rounds: number;
};

/** In each round both speak, seeing only the other's speech of the round before; the judge sees all speeches. */
const debate = ({ motion, sides, judge, rounds, ...options }: DebateOptions): TaskSpec[] => {
  expectRounds(rounds);
  if (typeof motion !== 'string' || motion.trim() === '') refuse('The motion of the debate is empty.');
  if (!Array.isArray(sides) || sides.length !== 2) refuse('A debate has two sides.');
  const stances = sides.map(({ stance }, side) => stance ?? (side === 0 ? 'for the motion' : 'against the motion'));
  const speeches: TaskSpec[] = [];
  for (let round = 1; round <= rounds; round++)
    sides.forEach(({ assignee }, side) => {
      const words = round === 1 ? openingWords : replyWords;
      const speech: TaskSpec = {
        title: `Round ${round}, side ${letters[side]!.toUpperCase()}`,
        description: `The motion: ${motion}\n\nYour side: ${stances[side]}\n\n${words}`,
        assignee,
      };
      const named = withId(speech, `round-${round}-${letters[side]}`, options);
      speeches.push(round === 1 ? named : after(named, [speeches[2 * (round - 1) - 1 - side]!]));
    });
  const verdict: TaskSpec = {
    title: 'Verdict',
    description: `The motion: ${motion}\n\nSide A: ${stances[0]}\nSide B: ${stances[1]}\n\n${judgeWords}`,
    assignee: judge.assignee,
  };
  return [...speeches, after(withId(verdict, 'verdict', options), speeches)];
};

const letters = ['a', 'b'];
const openingWords = 'Make your case in a short speech.';
const replyWords =
  "You are shown the other side's latest speech. Answer its strongest points, then make your own case.";
const judgeWords = 'You are shown all speeches of both sides. Say which side made the better case, and why.';

export type ReviewOptions = PatternOptions & {
  readonly draft: TaskSpec;
  readonly review: TaskSpec;
  /** How many drafts at most. */
  readonly rounds: number;
  /** The words with which a review accepts. Default `accepted`; the reviewer is told the first. */
  readonly accept?: string | readonly string[] | undefined;
};

/** A draft is reviewed and written anew until a review accepts it, or the rounds are over. */
const reviewUntil = ({ draft, review, rounds, accept = 'accepted', ...options }: ReviewOptions): TaskSpec[] => {
  expectRounds(rounds);
  const words = typeof accept === 'string' ? [accept] : accept;
  expectSome(words, 'No word is given with which a review accepts.');
  if (words.some((word) => typeof word !== 'string' || word.trim() === ''))
    refuse('A word with which a review accepts is empty.');
  const tasks: TaskSpec[] = [];
  for (let round = 1; round <= rounds; round++) {
    const [lastDraft, lastReview] = tasks.slice(-2);
    // Both look at the review before: whatever else they depend on, they are not needed when it was the last.
    const follow = (task: TaskSpec, others: readonly TaskSpec[]): TaskSpec =>
      lastReview === undefined
        ? after(task, others)
        : { ...after(task, [...others, lastReview]), when: { task: lastReview.id!, not: accept } };
    const first = withId(numbered(draft, round), `draft-${round}`, options);
    const written = follow(
      round === 1 ? first : withWords(first, anewWords(round)),
      lastDraft === undefined ? [] : [lastDraft],
    );
    const reviewed = withId(numbered(review, round), `review-${round}`, options);
    tasks.push(written, follow(withWords(reviewed, reviewWords(round, words[0]!)), [written]));
  }
  return tasks;
};

/** A given id is made one for each round. */
const numbered = ({ id, ...task }: TaskSpec, round: number): TaskSpec => ({
  ...task,
  title: `${task.title} (round ${round})`,
  ...(id === undefined ? {} : { id: `${id}-${round}` }),
});

const anewWords = (round: number): string =>
  `This is version ${round}. You are shown version ${round - 1} and its review. Answer with the whole new version.`;

const reviewWords = (round: number, word: string): string =>
  `${round === 1 ? '' : 'You are also shown the review of the version before. '}If nothing important has to change, begin your answer with the word ${word}. Otherwise begin with another word and say what has to change.`;

export type RouteTask = Omit<TaskSpec, 'when'> & {
  /** The word with which it is chosen. */
  readonly name: string;
  /** When to choose it. Default: its title. */
  readonly about?: string | undefined;
};

export type RouteOptions = PatternOptions & {
  readonly router: TaskSpec;
  readonly routes: readonly RouteTask[];
  /** Sees the result of the route that was taken. */
  readonly answer?: TaskSpec | undefined;
};

/** One task picks by name which one of the others is done. */
const route = ({ router, routes, answer, ...options }: RouteOptions): TaskSpec[] => {
  expectSome(routes, 'A router needs at least one route.');
  const names = new Set<string>();
  for (const { name } of routes) {
    if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/u.test(name))
      refuse(`A route is named by one word of at most 40 letters, digits, "_" and "-", not ${JSON.stringify(name)}.`);
    if (names.has(name.toLowerCase())) refuse(`Two routes are named ${name}.`);
    names.add(name.toLowerCase());
  }
  const choices = routes.map(({ name, about, title }) => `- ${name}: ${about ?? title}`).join('\n');
  const chooser = withWords(withId(router, 'router', options), `${chooseWords}\n${choices}`);
  const taken = routes.map(({ name, about: _about, ...task }) => {
    const when: TaskCondition = { task: chooser.id!, is: name };
    return { ...after(withId(task, `route-${name}`, options), [chooser]), when };
  });
  return [chooser, ...taken, ...(answer === undefined ? [] : [after(withId(answer, 'answer', options), taken)])];
};

const chooseWords = 'Choose one of these. Answer with its name alone on the first line:';

const withId = (task: TaskSpec, made: string, { prefix }: PatternOptions): TaskSpec => {
  const id = task.id ?? (prefix === undefined || prefix === '' ? made : `${prefix}-${made}`);
  if (typeof task.title !== 'string' || typeof task.description !== 'string')
    refuse(`Task ${id}: title and description must be texts.`);
  return { ...task, id };
};

const withWords = (task: TaskSpec, words: string): TaskSpec => ({
  ...task,
  description: `${task.description}\n\n${words}`,
});

const after = (task: TaskSpec, others: readonly TaskSpec[]): TaskSpec => ({
  ...task,
  dependsOn: [...new Set([...(task.dependsOn ?? []), ...others.map(({ id }) => id!)])],
});

const roundsMax = 20;

const expectRounds = (rounds: number): void => {
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > roundsMax)
    refuse(`rounds must be a whole number from 1 to ${roundsMax}; it is ${rounds}.`);
};

const expectSome = (list: readonly unknown[], problem: string): void => {
  if (!Array.isArray(list) || list.length === 0) refuse(problem);
};

const refuse = (problem: string): never => {
  throw new CloisterError('tasks_invalid', problem);
};

/** Ways of working together as graphs of tasks. */
export const patterns = { sequence, fanOut, mapOver, debate, reviewUntil, route } as const;
