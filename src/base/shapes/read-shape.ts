// Reads a value by its shape: what fits is converted and kept, everything else is reported.
//
//   shape-reports-all. All problems of a value, unknown keys of an object first; nothing is thrown.
//   shape-own-keys. `constructor` and `__proto__` are unknown keys like any other.
//   shape-reads-once. Every part is read once, so what was checked is what is kept, even if a getter gives it. A getter that
//       throws is a problem of its key, and a hole in a list is an item that is missing.
import { isObject, nearestName } from '#base';
import type { JsonObject } from '#base';
import { fitsLeaf, isOfType } from './fits-leaf.ts';
import { showValue } from './show-value.ts';
import { expectedText } from './shape.ts';
import type { ListForm, MapForm, ObjectForm, RuleBreach, Shape, ShapeNotes } from './shape.ts';

export type ShapePath = readonly (string | number)[];

export type ShapeProblem = {
  readonly path: ShapePath;
  /** `rule`: `expected` is a whole sentence. `few`: a list has too few items. `twice`: a list has the item twice. */
  readonly kind: 'unknown' | 'missing' | 'wrong' | 'few' | 'twice' | 'conflict' | 'rule';
  /** What was expected; for an unknown key, the known ones. */
  readonly expected: string;
  readonly value: unknown;
  /** The key or value that was probably meant. A function, because a search takes time. */
  readonly nearest: () => string | null;
  /** What the value is for, if its shape says so. */
  readonly about?: string | undefined;
  /** For a conflict: where the other value was written. */
  readonly other?: ShapePath;
};

export type ShapeReader = {
  report(problem: ShapeProblem): void;
  /** Called for every key that was read, with the path under which its value is stored. */
  recordKey?(path: ShapePath, stored: ShapePath): void;
  /** Null counts as left out: clients send null for a field that they do not set. */
  readonly nullIsAbsent?: boolean;
  /** In code, Infinity means no cap. */
  readonly inCode?: boolean;
  /** Why a value is not a valid JSON Schema; null if it is one. */
  checkSchema?(schema: JsonObject): string | null;
};

/** The value as far as it could be read; undefined if nothing could. */
export const readShape = <T>(
  shape: Shape<T>,
  value: unknown,
  reader: ShapeReader,
  path: ShapePath = [],
): T | undefined => {
  const reading: Reading = {
    reader,
    root: path,
    nullIsAbsent: reader.nullIsAbsent === true,
    inCode: reader.inCode === true,
    stored: [],
    found: 0,
  };
  return readValue(shape, value, null, reading) as T | undefined;
};

/** No problems: the value has this shape. */
export const problemsIn = (
  shape: Shape,
  value: unknown,
  options: Omit<ShapeReader, 'report'> = {},
): readonly ShapeProblem[] => {
  const problems: ShapeProblem[] = [];
  readShape(shape, value, { ...options, report: (problem) => void problems.push(problem) });
  return problems;
};

/** The value, if it has no problems. */
export const readWhole = <T>(shape: Shape<T>, value: unknown, reader: ShapeReader, path?: ShapePath): T | undefined => {
  let isWrong = false;
  const report = (problem: ShapeProblem): void => {
    isWrong = true;
    reader.report(problem);
  };
  const read = readShape(shape, value, { ...reader, report }, path);
  return isWrong ? undefined : read;
};

/** Where a value is written, and where it is stored; null: the whole value. Paths are made of it only when somebody wants them. */
type Place = { readonly up: Place; readonly key: string | number; readonly into: readonly string[] | undefined } | null;

type Reading = {
  readonly reader: ShapeReader;
  readonly root: ShapePath;
  readonly nullIsAbsent: boolean;
  readonly inCode: boolean;
  /** The places of what was stored so far. */
  readonly stored: Place[];
  /** The number of problems. */
  found: number;
};

const pathOf = (place: Place, { root }: Reading): (string | number)[] => {
  const keys: (string | number)[] = [];
  for (let at = place; at !== null; at = at.up) keys.push(at.key);
  return [...root, ...keys.toReversed()];
};

const storedPathOf = (place: Place, { root }: Reading): ShapePath => {
  const keys: (string | number)[] = [];
  for (let at = place; at !== null; at = at.up) keys.push(...(at.into?.toReversed() ?? [at.key]));
  return [...root, ...keys.toReversed()];
};

const report = (reading: Reading, problem: ShapeProblem): void => {
  reading.found += 1;
  reading.reader.report(problem);
};

const recordKey = (place: Place, reading: Reading): void =>
  reading.reader.recordKey?.(pathOf(place, reading), storedPathOf(place, reading));

type Fields = Readonly<Record<string, unknown>>;
type Target = Record<string, unknown>;

const nothingNear = (): null => null;
const none: readonly never[] = [];

/** `target`: what an object is read into. Default: a new one. */
const readValue = (shape: Shape, value: unknown, at: Place, reading: Reading, target?: Target): unknown => {
  const before = reading.found;
  const read = readForm(shape, value, at, reading, target);
  if (read === undefined) return undefined;
  // A rule is about a value that is right in itself.
  const broken = reading.found > before ? undefined : firstBreach(shape, read, value, reading);
  if (broken !== undefined) {
    const path = [...pathOf(at, reading), ...(broken.at ?? [])];
    report(reading, { path, kind: 'rule', expected: broken.text, value, nearest: nothingNear });
    if (shape.is !== 'object') return undefined;
  }
  if (shape.convert === undefined) return read;
  return shape.convert.to(read as never) ?? reportWrong(shape, value, at, reading);
};

const firstBreach = (shape: Shape, read: unknown, given: unknown, reading: Reading): RuleBreach | undefined => {
  for (const rule of shape.rules ?? none) {
    const found = rule.find(read as never, given as never);
    if (found !== null) return found;
  }
  const problem = shape.isSchema === true ? (reading.reader.checkSchema?.(read as JsonObject) ?? null) : null;
  return problem === null ? undefined : { text: `This schema cannot be used: ${problem}` };
};

const readForm = (shape: Shape, value: unknown, at: Place, reading: Reading, target?: Target): unknown => {
  switch (shape.is) {
    case 'list':
      return readList(shape, value, at, reading);
    case 'map':
      return readMap(shape, value, at, reading);
    case 'object':
      return readObject(shape, value, at, target ?? {}, reading);
    case 'either': {
      const chosen = shape.of.find((one) => isOfType(one, value));
      if (chosen === undefined) return reportWrong(shape, value, at, reading);
      return readValue(chosen, value, at, reading, target);
    }
    default:
      return fitsLeaf(shape, value, reading.inCode) ? value : reportWrong(shape, value, at, reading);
  }
};

const reportWrong = (shape: Shape, value: unknown, at: Place, reading: Reading): undefined => {
  const path = pathOf(at, reading);
  const hint = shape.hint?.(value) ?? null;
  const nearest = (): string | null =>
    shape.is === 'choice' && typeof value === 'string' ? nearestName(value, shape.of.map(String)) : null;
  if (hint !== null) report(reading, { path, kind: 'rule', expected: hint, value, nearest });
  else report(reading, { path, kind: 'wrong', expected: expectedText(shape, value), value, nearest });
};

const readList = (shape: ListForm & ShapeNotes, value: unknown, at: Place, reading: Reading): unknown => {
  const { of, min, single = false } = shape;
  if (!Array.isArray(value)) {
    if (value === null && shape.mayBeEmpty === true) return [];
    if (!single) return reportWrong(shape, value, at, reading);
    if (typeof value === 'string' && value.includes(',')) return readList(shape, splitAtCommas(value), at, reading);
    const item = readValue(of, value, at, reading);
    return item === undefined ? undefined : [item];
  }
  if (value.length < min) {
    const expected = min === 1 ? 'at least one' : `at least ${min}`;
    report(reading, { path: pathOf(at, reading), kind: 'few', expected, value, nearest: nothingNear });
    return undefined;
  }
  const seen = single ? new Set<unknown>() : null;
  // Unlike `map`, it visits holes too.
  return Array.from({ length: value.length }, (_, index) => {
    const place = { up: at, key: index, into: undefined };
    const one = readPart(value, index, place, reading);
    const item = one === unreadable ? undefined : readValue(of, one, place, reading);
    if (seen !== null) checkOnce(seen, of, item, place, reading);
    recordKey(place, reading);
    // An item that cannot be read leaves a gap, so that the others keep their places.
    return item;
  });
};

const splitAtCommas = (text: string): readonly string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');

/** An object that can be written in short counts as the item that its short form names. */
const checkOnce = (seen: Set<unknown>, of: Shape, item: unknown, at: Place, reading: Reading): void => {
  const name = of.is === 'object' && of.short !== undefined ? (item as Fields | undefined)?.[of.short] : item;
  if (item !== undefined && seen.has(name))
    report(reading, { path: pathOf(at, reading), kind: 'twice', expected: '', value: name, nearest: nothingNear });
  seen.add(name);
};

const readMap = (shape: MapForm & ShapeNotes, value: unknown, at: Place, reading: Reading): unknown => {
  if (!isObject(value)) return reportWrong(shape, value, at, reading);
  const read = Object.keys(value).flatMap((name): readonly [string, unknown][] => {
    const place = { up: at, key: name, into: undefined };
    const one = readPart(value, name, place, reading);
    if (one === undefined || one === unreadable) return [];
    recordKey(place, reading);
    if (shape.names !== undefined && readValue(shape.names, name, place, reading) === undefined) return [];
    return [[name, readValue(shape.of, one, place, reading)]];
  });
  return Object.fromEntries(read);
};

const readObject = (
  shape: ObjectForm & ShapeNotes,
  value: unknown,
  at: Place,
  target: Target,
  reading: Reading,
): unknown => {
  const { fields, short } = shape;
  if (isObject(value)) {
    readFields(shape, value, at, target, reading);
    return shape.mayBeEmpty === true && Object.keys(target).length === 0 ? undefined : target;
  }
  if (short !== undefined) {
    // The keys of the object were not written, so there is nothing to record for them.
    const read = readValue(fields[short]!, value, at, reading);
    if (read !== undefined) target[fields[short]!.into?.[0] ?? short] = read;
    return read === undefined ? undefined : target;
  }
  return value === null && shape.mayBeEmpty === true ? undefined : reportWrong(shape, value, at, reading);
};

const readFields = (shape: ObjectForm, value: Fields, at: Place, target: Target, reading: Reading): void => {
  const { fields } = shape;
  const keys = Object.keys(value);
  if (shape.open !== true)
    for (const key of keys) if (!Object.hasOwn(fields, key)) reportUnknown(key, shape, at, reading);
  const given = new Set<string>();
  for (const key of keys) {
    if (!Object.hasOwn(fields, key)) continue;
    const one = readPart(value, key, { up: at, key, into: undefined }, reading);
    if (isAbsent(one, reading)) continue;
    given.add(key);
    if (one !== unreadable) readField(key, fields[key]!, one, at, target, reading);
  }
  for (const key of shape.required) {
    if (given.has(key)) continue;
    const field = fields[key]!;
    const expected = expectedText(field, undefined);
    const path = [...pathOf(at, reading), key];
    report(reading, { path, kind: 'missing', expected, value: undefined, nearest: nothingNear, about: field.about });
  }
};

const isAbsent = (value: unknown, { nullIsAbsent }: Reading): boolean =>
  value === undefined || (value === null && nullIsAbsent);

const unreadable = Symbol('a part that cannot be read');

/** One part of a value, or `unreadable`, which is reported. */
const readPart = (value: object, key: string | number, at: Place, reading: Reading): unknown => {
  try {
    return (value as Fields)[key];
  } catch {
    const expected = 'This value cannot be read: its getter throws.';
    report(reading, { path: pathOf(at, reading), kind: 'rule', expected, value: undefined, nearest: nothingNear });
    return unreadable;
  }
};

/** The value is not read: nobody expects it. */
const reportUnknown = (key: string, { fields }: ObjectForm, at: Place, reading: Reading): void => {
  const known = Object.keys(fields);
  const path = [...pathOf(at, reading), key];
  const nearest = (): string | null => nearestName(key, known);
  report(reading, { path, kind: 'unknown', expected: known.join(', '), value: undefined, nearest });
};

/** Reads one field and stores it. Two keys may be stored at the same place, if they agree. */
const readField = (key: string, field: Shape, value: unknown, at: Place, target: Target, reading: Reading): void => {
  const place = { up: at, key, into: field.into };
  recordKey(place, reading);
  const { into } = field;
  const holder =
    into === undefined ? target : into.slice(0, -1).reduce((held, part) => (held[part] ??= {}) as Target, target);
  const last = into?.at(-1) ?? key;
  if (field.is === 'object' && isObject(value) && field.convert === undefined) {
    // Flat keys may have been stored in this object already.
    const read = readValue(field, value, place, reading, { ...(holder[last] as Target | undefined) });
    if (read !== undefined) holder[last] = read;
    return;
  }
  const read = readValue(field, value, place, reading);
  if (read === undefined) {
    if (holder !== target && Object.keys(holder).length === 0) delete target[into![0]!];
    return;
  }
  if (Object.hasOwn(holder, last) && holder[last] !== read) return reportConflict(place, holder[last], read, reading);
  reading.stored.push(place);
  holder[last] = read;
};

const reportConflict = (place: Place, earlier: unknown, value: unknown, reading: Reading): void => {
  const dotted = (one: Place): string => storedPathOf(one, reading).join('.');
  const first = reading.stored.find((one) => dotted(one) === dotted(place)) ?? null;
  report(reading, {
    path: pathOf(place, reading),
    kind: 'conflict',
    expected: showValue(earlier),
    value,
    nearest: nothingNear,
    other: pathOf(first, reading),
  });
};
