// What is wrong with a list of tasks, in words: the first ten problems, and how many others there are.

export const problemsMax = 10;

/** The words are made only when they are told: some cost a search. */
export type Tell = (words: () => string) => void;

export class TaskProblems {
  readonly #told: string[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  readonly tell: Tell = (words) => {
    this.#count++;
    if (this.#told.length < problemsMax) this.#told.push(words());
  };

  list(): readonly string[] {
    const others = this.#count - this.#told.length;
    return others === 0
      ? this.#told
      : [...this.#told, `There ${others === 1 ? 'is 1 more problem' : `are ${others} more problems`}.`];
  }
}

/** A value of any size in a few words. */
export const show = (value: unknown): string => {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string') return JSON.stringify(shorten(value));
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'function') return 'a function';
  if (value !== null && typeof value === 'object') return 'an object';
  return typeof value === 'symbol' ? 'a symbol' : `${value as number | boolean | bigint | null}`;
};

const shownMax = 60;

const shorten = (text: string): string => (text.length <= shownMax ? text : `${text.slice(0, shownMax - 1)}…`);

const listedMax = 20;

/** Names in a row; of a long list the first. */
export const joinNames = (names: readonly string[]): string =>
  names.length <= listedMax
    ? names.join(', ')
    : `${names.slice(0, listedMax).join(', ')} and ${names.length - listedMax} more`;
