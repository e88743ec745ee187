// Collects the problems of a task list: the first ten, and the number of the others.
import { nearestName } from '#base';

const problemsMax = 10;

/** The message is built only if it is kept, because some messages need a search. */
export type ReportTaskProblem = (message: () => string) => void;

export class TaskProblems {
  readonly #messages: string[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  readonly report: ReportTaskProblem = (message) => {
    this.#count++;
    if (this.#messages.length < problemsMax) this.#messages.push(message());
  };

  list(): readonly string[] {
    const others = this.#count - this.#messages.length;
    return others === 0
      ? this.#messages
      : [...this.#messages, `There ${others === 1 ? 'is 1 more problem' : `are ${others} more problems`}.`];
  }
}

const listedMax = 20;

/** The names, separated by commas; only the first ones of a long list. */
export const joinNames = (names: readonly string[]): string =>
  names.length <= listedMax
    ? names.join(', ')
    : `${names.slice(0, listedMax).join(', ')} and ${names.length - listedMax} more`;

/** Bounds the search in large graphs: a suggestion is only a courtesy. */
const candidatesMax = 10_000;

/** ` Did you mean …?`, or nothing. */
export const didYouMean = (name: string, known: Iterable<string>): string => {
  const near = nearestName(name, firstNames(known));
  return near === null ? '' : ` Did you mean ${JSON.stringify(near)}?`;
};

function* firstNames(names: Iterable<string>): Generator<string> {
  let left = candidatesMax;
  for (const name of names) {
    if (left-- === 0) return;
    yield name;
  }
}
