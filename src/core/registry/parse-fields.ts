// Parses a block of keys by the field table. All problems are reported, and valid values are kept.
import { nearestName } from '#base';
import type { Json, JsonObject } from '#base';
import { joinWithOr } from '#base/shapes';
import type { BlockKind, PlainOrBlock, FrontmatterField, FieldKind } from './field-kinds.ts';
import { fieldHints } from './fields.ts';
import { isMapping, readPlain, hasShape, quoteFieldValue } from './field-values.ts';
import type { FieldPath, ValueReader } from './field-values.ts';

export type FieldReader = ValueReader & {
  /** Called for every key that was read, with the path under which its value is stored. */
  recordKey(path: FieldPath, into: FieldPath): void;
  lineOf(path: FieldPath): number | null;
  /** Keys of the top level, to recognise a key in the wrong block. */
  readonly topKeys: ReadonlySet<string>;
};

/** The parsed values. `origins`: the path each value was read from, by its dotted key. */
export type ParsedValues = { readonly values: Record<string, unknown>; readonly origins: Map<string, FieldPath> };

export const emptyValues = (): ParsedValues => ({ values: {}, origins: new Map() });

export const readBlock = (
  block: BlockKind,
  value: JsonObject,
  path: FieldPath,
  target: ParsedValues,
  reader: FieldReader,
): void => {
  const known = fieldsByKey(block);
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
  target: ParsedValues,
  reader: FieldReader,
): void => {
  const { kind } = field;
  if (kind.is !== 'block') {
    const read = readValue(kind, value, path, reader);
    if (read !== undefined) storeValue(field, read, path, target, reader);
    return;
  }
  reader.recordKey(path, [field.key]);
  const short = kind.fields.find(({ key }) => key === kind.short);
  if (isMapping(value)) readMapping(field.key, kind, value, path, target, reader);
  else if (short !== undefined) readField(short, value, path, target, reader);
  else if (value !== null || kind.mayBeEmpty !== true)
    reader.report(path, `Expected a block with ${keyList(kind)}; got ${quoteFieldValue(value)}.`);
};

const readValue = (
  kind: Exclude<FieldKind, BlockKind>,
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
  target: ParsedValues,
  reader: FieldReader,
): void => {
  readBlock(block, value, path, target, reader);
  for (const missing of missingKeys(block, value))
    reader.report([...path, missing], `The key \`${missing}\` is missing.`);
  const isKnown = Object.keys(value).every((one) => fieldsByKey(block).has(one));
  if (isKnown && block.someOf?.every((one) => !Object.hasOwn(value, one)) === true)
    reader.report(path, `Expected at least one of ${joinWithOr(block.someOf.map((one) => `\`${one}\``))}.`);
  const format = target.values[key] as { format?: string; schema?: unknown } | undefined;
  if (format?.schema !== undefined && format.format !== undefined && format.format !== 'json')
    reader.report([...path, 'schema'], `A schema needs \`format: json\`; the format here is ${format.format}.`);
};

const readList = (
  { of, itemsMin }: Extract<FieldKind, { is: 'list' }>,
  value: Json | undefined,
  path: FieldPath,
  reader: FieldReader,
): readonly unknown[] | undefined => {
  if (!Array.isArray(value)) {
    const item = readItem(of, value, path, reader);
    return item === undefined ? undefined : [item];
  }
  if (value.length < itemsMin) {
    reader.report(path, 'Expected at least one; omit the key for the default.');
    return undefined;
  }
  const items: unknown[] = [];
  const names = new Set<unknown>();
  for (const [index, one] of value.entries()) {
    const itemPath = [...path, index];
    const item = readItem(of, one as Json, itemPath, reader);
    const name = isMapping(item) ? item['agent'] : item;
    if (item !== undefined && names.has(name))
      reader.report(itemPath, `${quoteFieldValue(name as Json)} is listed twice.`);
    names.add(name);
    items.push(item);
    reader.recordKey(itemPath, itemPath);
  }
  return items;
};

/** A block is parsed into its own object, and its keys are recorded under their paths as written. */
const readEither = (
  { plain, block, as }: PlainOrBlock,
  value: Json | undefined,
  path: FieldPath,
  reader: FieldReader,
): unknown => {
  if (isMapping(value)) {
    const target = emptyValues();
    readMapping('', block, value, path, target, {
      ...reader,
      recordKey: (itemPath) => reader.recordKey(itemPath, itemPath),
    });
    return target.values;
  }
  const read = plain.is === 'block' ? undefined : readValue(plain, value, path, reader);
  return read === undefined || as === undefined ? read : { [as]: read };
};

const readMap = (
  { names, of }: Extract<FieldKind, { is: 'map' }>,
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
      const itemPath = [...path, name];
      reader.recordKey(itemPath, itemPath);
      if (!hasShape(name, names)) reader.report(itemPath, `Expected ${names.expected}; got ${quoteFieldValue(name)}.`);
      return [name, readItem(of, one, itemPath, reader)];
    }),
  );
};

const readItem = (kind: FieldKind, value: Json | undefined, path: FieldPath, reader: FieldReader): unknown => {
  if (kind.is === 'list') return undefined;
  if (kind.is !== 'block') return readValue(kind, value, path, reader);
  const item = emptyValues();
  // The keys inside an item are not recorded, only the item itself.
  const within = { ...reader, note: () => undefined };
  readField({ key: '', group: 'recommended', kind, description: '', example: null }, value, path, item, within);
  return Object.keys(item.values).length === 0 ? undefined : item.values;
};

const storeValue = (
  field: FrontmatterField,
  read: unknown,
  path: FieldPath,
  { values, origins }: ParsedValues,
  reader: FieldReader,
): void => {
  const value = field.divideBy === undefined ? read : Math.ceil((read as number) / field.divideBy);
  const into = field.into ?? [field.key];
  const dottedKey = into.join('.');
  reader.recordKey(path, into);
  const earlier = origins.get(dottedKey);
  if (earlier === undefined) origins.set(dottedKey, path);
  const [first, second] = into;
  if (second === undefined) {
    values[first] = value;
    return;
  }
  const block = (values[first] ??= {}) as Record<string, unknown>;
  if (earlier !== undefined && block[second] !== value)
    reader.report(
      path,
      `Here it is ${quoteFieldValue(value as Json)}, but ${describeLocation(earlier, reader)} says ${quoteFieldValue(block[second] as Json)}: keep one.`,
    );
  else block[second] = value;
};

const describeLocation = (path: FieldPath, reader: FieldReader): string => {
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
  if (hint !== undefined) reader.report(path, `Unknown key \`${name}\`. ${hint}`);
  else if (path.length > 1 && reader.topKeys.has(key))
    reader.report(path, `\`${name}\` belongs at the top level, not in \`${path.slice(0, -1).join('.')}\`.`, () => key);
  else reader.report(path, `Unknown key \`${name}\`.`, () => nearestName(key, known.keys()));
};

const keyList = ({ fields }: BlockKind): string =>
  joinWithOr(fields.filter(({ aliasOf }) => aliasOf === undefined).map(({ key }) => `\`${key}\``));

const keyMaps = new WeakMap<BlockKind, ReadonlyMap<string, FrontmatterField>>();

const fieldsByKey = (block: BlockKind): ReadonlyMap<string, FrontmatterField> => {
  let keys = keyMaps.get(block);
  if (keys === undefined) keyMaps.set(block, (keys = new Map(block.fields.map((field) => [field.key, field]))));
  return keys;
};
