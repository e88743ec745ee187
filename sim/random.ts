// Random numbers from a seed: the same seed and name give the same numbers, on every machine.

/** Each name has its own stream, so that an additional draw in one place changes nothing elsewhere. */
export class Random {
  readonly #key: string;
  #a: number;
  #b: number;
  #c: number;
  #count = 1;

  constructor(key: string) {
    this.#key = key;
    this.#a = spread(key, 0x9e3779b1);
    this.#b = spread(key, 0x85ebca6b);
    this.#c = spread(key, 0xc2b2ae35);
    for (let round = 0; round < 12; round++) this.next();
  }

  fork(name: string): Random {
    return new Random(`${this.#key}/${name}`);
  }

  /** 32 bits from a counter and three words that are mixed with each other. */
  next(): number {
    const sum = (this.#a + this.#b + this.#count++) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** From 0 up to, not including, 1. */
  unit(): number {
    return this.next() / 4_294_967_296;
  }

  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  /** A whole number, both ends included. */
  int(least: number, most: number): number {
    return least + Math.floor(this.unit() * (most - least + 1));
  }

  /** Logarithmically distributed: small numbers are as likely as large ones. */
  log(least: number, most: number): number {
    return Math.round(least * (most / least) ** this.unit());
  }

  pick<T>(items: readonly T[]): T {
    return items[this.int(0, items.length - 1)]!;
  }

  /** All of them, in a drawn order. */
  shuffled<T>(items: readonly T[]): T[] {
    const left = [...items];
    return items.map(() => left.splice(this.int(0, left.length - 1), 1)[0]!);
  }

  /** Names with weights: `{ stop: 3, go: 1 }`. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][];
    let left = this.unit() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) if ((left -= weight) < 0) return name;
    return entries[0]![0];
  }

  /** 12 hex characters, like ids. */
  hex(): string {
    return (this.next().toString(16) + this.next().toString(16).padStart(8, '0')).padStart(12, '0').slice(0, 12);
  }
}

const spread = (text: string, start: number): number => {
  let word = start | 0;
  for (let index = 0; index < text.length; index++) {
    word = Math.imul(word ^ text.charCodeAt(index), 0x01000193);
    word ^= word >>> 15;
  }
  return word;
};
