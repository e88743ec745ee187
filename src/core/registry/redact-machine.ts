// Finds many fixed texts in one pass: an Aho–Corasick machine over UTF-16 units that skips ahead where no pattern can start.
//
//   redact-linear. For all patterns and texts.
//   redact-longest. Reports every position where a pattern ends, with the longest pattern that ends there.

/** No pattern is shorter; skipping ahead relies on this. */
export const patternUnitsMin = 8;

const blockUnits = 3;
const leapMax = patternUnitsMin - blockUnits + 1;
const leapBits = 15;

export type Machine = {
  /** By state: its first child, the next child of its parent, and the unit that leads to it. */
  readonly child: Int32Array;
  readonly sibling: Int32Array;
  readonly unit: Uint16Array;
  /** The next state to try if no child matches: the longest proper suffix that starts a pattern. */
  readonly fail: Int32Array;
  /** The length of the longest pattern that ends here; 0 if none does. */
  readonly ends: Int32Array;
  /** How many of the last units are a prefix of a pattern. */
  readonly depth: Int32Array;
  /** The children of the first state, for ASCII. */
  readonly roots: Int32Array;
  readonly leaps: Uint8Array;
  /** The length of the longest pattern. */
  readonly longest: number;
};

/** A position in a text, and the state of the machine there. */
export type Cursor = { state: number; at: number };

export const buildMachine = (patterns: readonly string[]): Machine => {
  const size = patterns.reduce((sum, pattern) => sum + pattern.length, 1);
  const machine: Machine = {
    child: new Int32Array(size),
    sibling: new Int32Array(size),
    unit: new Uint16Array(size),
    fail: new Int32Array(size),
    ends: new Int32Array(size),
    depth: new Int32Array(size),
    roots: new Int32Array(128),
    leaps: new Uint8Array(1 << leapBits).fill(leapMax),
    longest: patterns.reduce((most, pattern) => Math.max(most, pattern.length), 0),
  };
  let states = 1;
  for (const pattern of patterns) {
    states = addPattern(machine, pattern, states);
    addLeaps(machine.leaps, pattern);
  }
  link(machine, states);
  return machine;
};

/** Scans from the cursor to the end of the text. */
export const scan = (
  machine: Machine,
  text: string,
  cursor: Cursor,
  found: (start: number, end: number) => void,
): void => {
  const { ends, leaps } = machine;
  const lastWindow = text.length - patternUnitsMin;
  let { state, at } = cursor;
  while (at < text.length) {
    if (state === 0)
      while (at <= lastWindow) {
        const leap = leaps[blockAt(text, at + leapMax - 1)]!;
        if (leap === 0) break;
        at += leap;
      }
    state = step(machine, state, text.charCodeAt(at));
    at++;
    const length = ends[state]!;
    if (length > 0) found(at - length, at);
  }
  cursor.state = state;
  cursor.at = at;
};

const addPattern = (machine: Machine, pattern: string, from: number): number => {
  const { child, sibling, unit, ends, roots } = machine;
  let states = from;
  let state = 0;
  for (let index = 0; index < pattern.length; index++) {
    const code = pattern.charCodeAt(index);
    let next = childOf(machine, state, code);
    if (next === 0) {
      next = states++;
      unit[next] = code;
      sibling[next] = child[state]!;
      child[state] = next;
      if (state === 0 && code < roots.length) roots[code] = next;
    }
    state = next;
  }
  ends[state] = pattern.length;
  return states;
};

/** How far to skip from a window that ends with this block: to where the block would match near the start of a pattern. */
const addLeaps = (leaps: Uint8Array, pattern: string): void => {
  for (let index = 0; index < leapMax; index++) {
    const block = blockAt(pattern, index);
    leaps[block] = Math.min(leaps[block]!, leapMax - 1 - index);
  }
};

const blockAt = (text: string, at: number): number =>
  ((text.charCodeAt(at) << 9) ^ (text.charCodeAt(at + 1) << 5) ^ text.charCodeAt(at + 2)) & ((1 << leapBits) - 1);

/** Breadth first, so that shorter prefixes are linked before longer ones need them. */
const link = (machine: Machine, states: number): void => {
  const { child, sibling, unit, fail, ends, depth } = machine;
  const order = new Int32Array(states);
  let known = 1;
  for (let index = 0; index < known; index++) {
    const state = order[index]!;
    for (let next = child[state]!; next !== 0; next = sibling[next]!) {
      order[known++] = next;
      depth[next] = depth[state]! + 1;
      fail[next] = state === 0 ? 0 : step(machine, fail[state]!, unit[next]!);
    }
    if (ends[state] === 0) ends[state] = ends[fail[state]!]!;
  }
};

const step = (machine: Machine, from: number, code: number): number => {
  for (let state = from; ; state = machine.fail[state]!) {
    const next = childOf(machine, state, code);
    if (next !== 0 || state === 0) return next;
  }
};

const childOf = ({ child, sibling, unit, roots }: Machine, state: number, code: number): number => {
  if (state === 0 && code < roots.length) return roots[code]!;
  let next = child[state]!;
  while (next !== 0 && unit[next] !== code) next = sibling[next]!;
  return next;
};
