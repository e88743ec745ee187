// A block of keys, read by the table. All that is wrong is reported; what is right is kept.
import { nearestName } from '#base';
import type { Json, JsonObject } from '#base';
import type { BlockKind, PlainOrBlock, FrontmatterField, Kind } from './field-kinds.ts';
import { fieldHints } from './fields.ts';
import { either, isMapping, readPlain, regexOf, quoteFieldValue } from './field-values.ts';
import type { FieldPath, ValueReader } from './field-values.ts';

export type FieldReader = ValueReader & {
  /** Every key that was read, and where its value is kept. */
  note(path: FieldPath, into: FieldPath): void;
  lineOf(path: FieldPath): number | null;
  /** Keys of the top level, to say that one stands in the wrong place. */
  readonly topKeys: ReadonlySet<string>;
};

/** What a block's keys are kept in. `origins`: the path that a value was read from, by its place. */
export type Target = { readonly values: Record<string, unknown>; readonly origins: Map<string, FieldPath> };

export const emptyTarget = (): Target => ({ values: {}, origins: new Map() });

export const readBlock = (
  block: BlockKind,
  value: JsonObject,
  path: FieldPath,
  target: Target,
  reader: FieldReader,
): void => {
  const known = keysOf(block);
  for (const key of Object.keys(value)) {
    const field = known.get(key);
    if (field === undefined) reportUnknown(key, [...path, key], known, reader);
    else readField(field, value[key], [...path, key], target, reader);
  }
};

export const missingKeys = (block: Pick<BlockKind, 'required'>, value: JsonObject): readonly string[] =>
  block.required.filter((key) => !Object.hasOwn(value, key));

const readField = (
  field: FrontmatterField,
  value: Json | undefined,
  path: FieldPath,
  target: Target,
  reader: FieldReader,
): void => {
  const { kind } = field;
  if (kind.is !== 'block') {
    const read = readValue(kind, value, path, reader);
    if (read !== undefined) keep(field, read, path, target, reader);
    return;
  }
  reader.note(path, [field.key]);
  const short = kind.fields.find(({ key }) => key === kind.short);
  if (isMapping(value)) readMapping(field.key, kind, value, path, target, reader);
  else if (short !== undefined) readField(short, value, path, target, reader);
  else if (value !== null || kind.mayBeEmpty !== true)
    reader.report(path, `Expected a block with ${keyList(kind)}; got ${quoteFieldValue(value)}.`);
};

const readValue = (
  kind: Exclude<Kind, BlockKind>,
  value: Json | undefined,
  path: FieldPath,
  reader: FieldReader,
): unknown => {
  switch (kind.is) {
    case 'list':
      return readList(kind, value, path, reader);
    case 'map':
      return readMap(kind, value, path, reader);
    case 'either':
      return readEither(kind, value, path, reader);
    default:
      return readPlain(kind, value, path, reader);
  }
};

const readMapping = (
  key: string,
  block: BlockKind,
  value: JsonObject,
  path: FieldPath,
  target: Target,
  reader: FieldReader,
): void => {
  readBlock(block, value, path, target, reader);
  for (const missing of missingKeys(block, value))
    reader.report([...path, missing], `The key \`${missing}\` is missing.`);
  const isKnown = Object.keys(value).every((one) => keysOf(block).has(one));
  if (isKnown && block.someOf?.every((one) => !Object.hasOwn(value, one)) === true)
    reader.report(path, `Expected at least one of ${either(block.someOf.map((one) => `\`${one}\``))} in it.`);
  const form = target.values[key] as { format?: string; schema?: unknown } | undefined;
  if (form?.schema !== undefined && form.format !== undefined && form.format !== 'json')
    reader.report([...path, 'schema'], `A schema goes with \`format: json\`; the format here is ${form.format}.`);
};

const readList = (
  { of, itemsMin }: Extract<Kind, { is: 'list' }>,
  value: Json | undefined,
  path: FieldPath,
  reader: FieldReader,
): readonly unknown[] | undefined => {
  if (!Array.isArray(value)) {
    const item = readItem(of, value, path, reader);
    return item === undefined ? undefined : [item];
  }
  if (value.length < itemsMin) {
    reader.report(path, 'Expected at least one; leave the key out for the default.');
    return undefined;
  }
  const items: unknown[] = [];
  const names = new Set<unknown>();
  for (const [index, one] of value.entries()) {
    const at = [...path, index];
    const item = readItem(of, one as Json, at, reader);
    const name = isMapping(item) ? item['agent'] : item;
    if (item !== undefined && names.has(name)) reader.report(at, `${quoteFieldValue(name as Json)} is there twice.`);
    names.add(name);
    items.push(item);
    reader.note(at, at);
  }
  return items;
};

/** In an object of its own; its keys are noted where they stand. */
const readEither = (
  { plain, block, as }: PlainOrBlock,
  value: Json | undefined,
  path: FieldPath,
  reader: FieldReader,
): unknown => {
  if (isMapping(value)) {
    const target = emptyTarget();
    readMapping('', block, value, path, target, { ...reader, note: (at) => reader.note(at, at) });
    return target.values;
  }
  const read = plain.is === 'block' ? undefined : readValue(plain, value, path, reader);
  return read === undefined || as === undefined ? read : { [as]: read };
};

const readMap = (
  { names, of }: Extract<Kind, { is: 'map' }>,
  value: Json | undefined,
  path: FieldPath,
  reader: FieldReader,
): Readonly<Record<string, unknown>> | undefined => {
  if (!isMapping(value)) {
    reader.report(path, `Expected a block with a value for each name; got ${quoteFieldValue(value)}.`);
    return undefined;
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => {
      const at = [...path, name];
      reader.note(at, at);
      if (!regexOf(names.shape).test(name))
        reader.report(at, `Expected ${names.expected}; got ${quoteFieldValue(name)}.`);
      return [name, readItem(of, one, at, reader)];
    }),
  );
};

const readItem = (kind: Kind, value: Json | undefined, path: FieldPath, reader: FieldReader): unknown => {
  if (kind.is === 'list') return undefined;
  if (kind.is !== 'block') return readValue(kind, value, path, reader);
  const item = emptyTarget();
  // Keys of an item are noted by the item alone.
  const within = { ...reader, note: () => undefined };
  readField({ key: '', group: 'recommended', kind, description: '', example: null }, value, path, item, within);
  return Object.keys(item.values).length === 0 ? undefined : item.values;
};

const keep = (
  field: FrontmatterField,
  read: unknown,
  path: FieldPath,
  { values, origins }: Target,
  reader: FieldReader,
): void => {
  const value = field.divideBy === undefined ? read : Math.ceil((read as number) / field.divideBy);
  const into = field.into ?? [field.key];
  const place = into.join('.');
  reader.note(path, into);
  const earlier = origins.get(place);
  if (earlier === undefined) origins.set(place, path);
  const [first, second] = into;
  if (second === undefined) {
    values[first] = value;
    return;
  }
  const block = (values[first] ??= {}) as Record<string, unknown>;
  if (earlier !== undefined && block[second] !== value)
    reader.report(
      path,
      `Here it is ${quoteFieldValue(value as Json)}, but ${otherPlace(earlier, reader)} says ${quoteFieldValue(block[second] as Json)}: keep one.`,
    );
  else block[second] = value;
};

const otherPlace = (path: FieldPath, reader: FieldReader): string => {
  const line = reader.lineOf(path);
  return `\`${path.join('.')}\`${line === null ? '' : ` on line ${line}`}`;
};

const reportUnknown = (
  key: string,
  path: FieldPath,
  known: ReadonlyMap<string, FrontmatterField>,
  reader: FieldReader,
): void => {
  const name = key.length > 80 ? `${key.slice(0, 80)}…` : key;
  const hint = path.length === 1 ? fieldHints.get(key) : undefined;
  if (hint !== undefined) reader.report(path, `There is no key \`${name}\`. ${hint}`);
  else if (path.length > 1 && reader.topKeys.has(key))
    reader.report(path, `\`${name}\` stands at the top level, not in \`${path.slice(0, -1).join('.')}\`.`, () => key);
  else reader.report(path, `There is no key \`${name}\` here.`, () => nearestName(key, known.keys()));
};

const keyList = ({ fields }: BlockKind): string =>
  either(fields.filter(({ aliasOf }) => aliasOf === undefined).map(({ key }) => `\`${key}\``));

const keyMaps = new WeakMap<BlockKind, ReadonlyMap<string, FrontmatterField>>();

const keysOf = (block: BlockKind): ReadonlyMap<string, FrontmatterField> => {
  let keys = keyMaps.get(block);
  if (keys === undefined) keyMaps.set(block, (keys = new Map(block.fields.map((field) => [field.key, field]))));
  return keys;
};
