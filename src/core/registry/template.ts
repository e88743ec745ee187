// A frontmatter template with every key and its effective value, to be pasted above a prompt and edited.
import type { Json } from '#base';
import type { AgentReference, Frontmatter } from '#contracts';
import type { PlainOrBlock, FrontmatterField, FieldGroup } from './field-kinds.ts';
import { frontmatterFields } from './fields.ts';
import { resolveLimits } from './limits.ts';
import { mergeDefaults } from './parse-frontmatter.ts';
import { columnsMax, flowText, yamlLines } from './template-yaml.ts';

export type TemplateArgs = {
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
  const lines = (group: FieldGroup): readonly string[] => [
    headings[group],
    ...frontmatterFields
      .filter((field) => field.group === group && !isFlatLimit(field))
      .flatMap((field) => fieldLines(field, 0, context)),
  ];
  return [
    '---',
    ...lines('required'),
    ...lines('recommended'),
    ...lines('limits'),
    ...lines('budget'),
    ...lines('settings'),
    '---',
    '',
  ].join('\n');
};

type TemplateContext = {
  readonly given: Partial<Frontmatter>;
  readonly values: Frontmatter;
  fromConfig(key: string, block: string): string;
};

const headings: Readonly<Record<FieldGroup, string>> = {
  required: '# Required. docs/AGENT-FILES.md explains every key.',
  recommended: '# Recommended, such as models, tools and other agents',
  limits: '# Limits; durations in milliseconds, or as 500ms, 30s, 5m, 2h',
  budget: '# Budget, including sub-agents',
  settings: '# Model settings',
};

const isFlatLimit = (field: FrontmatterField): boolean => field.group === 'limits' && field.kind.is !== 'block';

const fieldLines = (field: FrontmatterField, indent: number, context: TemplateContext): readonly string[] => {
  if (field.aliasOf !== undefined) return [];
  const { kind } = field;
  if (kind.is === 'block' && kind.short === undefined)
    return [
      `${' '.repeat(indent)}${field.key}:`,
      ...kind.fields.flatMap((inner) => fieldLines(inner, indent + 2, context)),
    ];
  const into = kind.is === 'block' ? kind.fields[0]!.into! : (field.into ?? [field.key]);
  const kept = valueAt(context.values, into);
  const value = kind.is === 'either' ? toWrittenEither(kind, kept) : toWritten(kept);
  if (value !== undefined)
    return valueLines(
      field.key,
      value,
      indent,
      valueAt(context.given, into) === undefined
        ? context.fromConfig(field.key, into[0] ?? '')
        : `this file${seenByModels(field, value)}`,
    );
  if (field.default !== undefined && !isTooLong(field, context))
    return valueLines(field.key, field.default, indent, 'default');
  if (field.group === 'required' && field.key !== 'schema')
    return valueLines(field.key, field.example, indent, 'required: write your own');
  const otherwise = defaultText(field, context);
  return withComment(`${' '.repeat(indent)}# ${field.key}: ${flowText(field.example)}`, `default: ${otherwise}`);
};

/** Providers accept no dots in the name of a tool. */
const seenByModels = ({ key }: FrontmatterField, value: Json): string =>
  key === 'toolName' && typeof value === 'string' && value.includes('.')
    ? `; models see ${value.replaceAll('.', '_')}`
    : '';

const defaultText = ({ key, otherwise, default: value }: FrontmatterField, { values }: TemplateContext): string => {
  if (otherwise === undefined) return `${flowText(value!)}, within timeout_ms`;
  const { timeout_ms: ms } = resolveLimits({ limits: values.limits ?? {} }, false);
  return key === 'timeout_ms' ? otherwise.replace(/^\d+/u, String(ms)) : otherwise;
};

/** The built-in default of `llmTimeout` is not valid if `timeout_ms` is shorter. */
const isTooLong = (field: FrontmatterField, { values }: TemplateContext): boolean =>
  field.key === 'llmTimeout' && (values.limits?.timeout_ms ?? Infinity) < Number(field.default);

const valueAt = (values: Partial<Frontmatter>, [first, second]: readonly string[]): unknown => {
  const value = (values as Record<string, unknown>)[first!];
  return second === undefined ? value : (value as Record<string, unknown> | undefined)?.[second];
};

/** A parsed value as written in a file: a sub-agent without an output format is just its name. */
const toWritten = (value: unknown): Json | undefined => {
  if (!Array.isArray(value)) return value as Json | undefined;
  return value.map((item: string | AgentReference) =>
    typeof item === 'object' && item.output === undefined ? item.agent : item,
  );
};

/** A parsed block with the keys of the file, or as a plain value if that means the same. */
const toWrittenEither = ({ block, as }: PlainOrBlock, value: unknown): Json | undefined => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value as Json | undefined;
  const kept = value as Readonly<Record<string, unknown>>;
  if (as !== undefined && Object.keys(kept).join() === as) return kept[as] as Json;
  return Object.fromEntries(
    block.fields.flatMap(({ key, into, kind }) => {
      const one = kept[into?.[0] ?? key];
      return one === undefined ? [] : [[key, kind.is === 'either' ? toWrittenEither(kind, one) : (one as Json)]];
    }),
  );
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
