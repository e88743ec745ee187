// A frontmatter template with every key and its effective value, to be pasted above a prompt and edited.
import { isObject } from '#base';
import type { Json } from '#base';
import type { ObjectForm, Shape } from '#base/shapes';
import type { Frontmatter } from '#contracts';
import { frontmatterShape } from './frontmatter-shape.ts';
import { resolveLimits } from './limits.ts';
import { mergeDefaults } from './parse-frontmatter.ts';
import { columnsMax, flowText, yamlLines } from './template-yaml.ts';

type TemplateArgs = {
  readonly own?: Frontmatter;
  readonly config?: Partial<Frontmatter>;
  /** The file of `config`. */
  readonly configSource?: string;
  /** The files of individual keys. */
  readonly configSources?: Readonly<Record<string, string>>;
};

export const frontmatterTemplate = ({
  own,
  config = {},
  configSource = '.ai-agent.json',
  configSources = {},
}: TemplateArgs): string => {
  const given: Partial<Frontmatter> = own ?? {};
  const values = mergeDefaults(given as Frontmatter, config);
  const fromConfig = (key: string, block: string): string =>
    `from ${shortPath(configSources[key] ?? configSources[block] ?? configSource)}`;
  const context: TemplateContext = { given, values, fromConfig };
  const lines = Object.entries(headings).flatMap(([group, heading]) => [
    heading,
    ...fieldsOf(frontmatterShape, [])
      .filter((field) => field.shape.group === group && !isFlatLimit(field))
      .flatMap((field) => fieldLines(field, 0, context, group === 'required')),
  ]);
  return ['---', ...lines, '---', ''].join('\n');
};

type TemplateContext = {
  readonly given: Partial<Frontmatter>;
  readonly values: Frontmatter;
  fromConfig(key: string, block: string): string;
};

const headings = {
  required: '# Required. docs/AGENT-FILES.md explains every key.',
  recommended: '# Recommended, such as models, tools and other agents',
  limits: '# Limits; durations in milliseconds, or as 500ms, 30s, 5m, 2h',
  budget: '# Budget, including sub-agents',
  settings: '# Model settings',
};

/** A key with its shape, and where its value is stored. */
type TemplateField = { readonly key: string; readonly shape: Shape; readonly into: readonly string[] };

const fieldsOf = ({ fields }: ObjectForm, under: readonly string[]): readonly TemplateField[] =>
  Object.entries(fields).flatMap(([key, shape]) =>
    shape.aliasOf === undefined ? [{ key, shape, into: [...under, ...(shape.into ?? [key])] }] : [],
  );

/** Limits are shown in their block. */
const isFlatLimit = ({ shape, into }: TemplateField): boolean => shape.group === 'limits' && into.length > 1;

const fieldLines = (
  field: TemplateField,
  indent: number,
  context: TemplateContext,
  isRequired: boolean,
): readonly string[] => {
  const { key, shape, into } = field;
  if (shape.is === 'object' && shape.short === undefined)
    return [
      `${' '.repeat(indent)}${key}:`,
      ...fieldsOf(shape, into).flatMap((inner) =>
        fieldLines(inner, indent + 2, context, isRequired && shape.required.includes(inner.key)),
      ),
    ];
  const value = toWritten(shape, valueAt(context.values, into));
  if (value !== undefined)
    return valueLines(
      key,
      value,
      indent,
      valueAt(context.given, into) === undefined
        ? context.fromConfig(key, into[0] ?? '')
        : `this file${seenByModels(key, value)}`,
    );
  if (shape.default !== undefined && !isTooLong(field, context))
    return valueLines(key, shape.default, indent, 'default');
  if (isRequired) return valueLines(key, shape.example!, indent, 'required: write your own');
  const otherwise = defaultText(field, context);
  return withComment(`${' '.repeat(indent)}# ${key}: ${flowText(shape.example!)}`, `default: ${otherwise}`);
};

/** Providers accept no dots in the name of a tool. */
const seenByModels = (key: string, value: Json): string =>
  key === 'toolName' && typeof value === 'string' && value.includes('.')
    ? `; models see ${value.replaceAll('.', '_')}`
    : '';

const defaultText = (
  { key, shape: { otherwise, default: value } }: TemplateField,
  { values }: TemplateContext,
): string => {
  if (otherwise === undefined) return `${flowText(value!)}, within timeout_ms`;
  const { timeout_ms: ms } = resolveLimits(values.limits ?? {}, false);
  return key === 'timeout_ms' ? otherwise.replace(/^\d+/u, String(ms)) : otherwise;
};

/** The built-in default of `llmTimeout` is not valid if `timeout_ms` is shorter. */
const isTooLong = ({ key, shape }: TemplateField, { values }: TemplateContext): boolean =>
  key === 'llmTimeout' && (values.limits?.timeout_ms ?? Infinity) < Number(shape.default);

const valueAt = (values: Partial<Frontmatter>, path: readonly string[]): unknown =>
  path.reduce<unknown>((value, key) => (value as Readonly<Record<string, unknown>> | undefined)?.[key], values);

/** A stored value with the keys of the file, in the short form if that means the same. */
const toWritten = (shape: Shape, value: unknown): Json | undefined => {
  if (value === undefined) return undefined;
  if (Array.isArray(value))
    return value.map((item: unknown) => (shape.is === 'list' ? toWritten(shape.of, item)! : (item as Json)));
  const block = shape.is === 'either' ? shape.of.find((one) => one.is === 'object') : shape;
  if (block?.is !== 'object' || !isObject(value)) return value as Json;
  const written = fieldsOf(block, []).flatMap(({ key, shape: field, into }): readonly [string, Json][] => {
    const one = toWritten(field, value[into[0]!]);
    return one === undefined ? [] : [[key, one]];
  });
  const [first] = written;
  return written.length === 1 && first![0] === block.short ? first![1] : Object.fromEntries(written);
};

const valueLines = (key: string, value: Json, indent: number, source: string): readonly string[] => {
  const lines = yamlLines(key, value, indent);
  // A comment can only follow the last line of a multi-line string, and only the first line of a block.
  const isText = typeof value === 'string';
  const index = isText ? lines.length - 1 : 0;
  const line = withComment(lines[index]!, source);
  if (line.length === 1) return lines.with(index, line[0]!);
  return [line[0]!, ...lines];
};

const commentColumn = 44;

/** The line with a comment after it, or above it if there is no room. */
const withComment = (line: string, note: string): readonly string[] => {
  const whole = `${line.padEnd(commentColumn - 1)} # ${note}`;
  if (whole.length <= columnsMax) return [whole];
  // On a line of its own, it must not look like a key to uncomment.
  const sentence = note.replace(/^default: /u, 'by default ');
  return [`${' '.repeat(line.length - line.trimStart().length)}# ${sentence}`, line];
};

const sourceCharsMax = 60;

const shortPath = (source: string): string => {
  const plain = source.replace(/[\p{C}\s]+/gu, ' ');
  return plain.length <= sourceCharsMax ? plain : `…${plain.slice(1 - sourceCharsMax)}`;
};
