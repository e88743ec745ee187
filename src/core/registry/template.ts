// A frontmatter with every key and the value that holds for it, to be pasted above a prompt and edited.
import type { Json } from '#base';
import type { AgentReference, Frontmatter } from '#contracts';
import type { PlainOrBlock, FrontmatterField, Group } from './field-kinds.ts';
import { fields } from './fields.ts';
import { mergeDefaults } from './parse-frontmatter.ts';
import { columnsMax, flowText, yamlLines } from './template-yaml.ts';

export type TemplateArgs = {
  readonly own?: Frontmatter;
  readonly config?: Partial<Frontmatter>;
  /** The file that `config` is from. */
  readonly configSource?: string;
  /** The files of single keys, as they are written there. */
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
  const scene: TemplateContext = { given, values, fromConfig };
  const lines = (group: Group): readonly string[] => [
    headings[group],
    ...fields
      .filter((field) => field.group === group && !isFlatLimit(field))
      .flatMap((field) => lineOf(field, 0, scene)),
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

const headings: Readonly<Record<Group, string>> = {
  required: '# Required. docs/AGENT-FILES.md explains every key.',
  recommended: '# Recommended, such as models, tools and other agents',
  limits: '# Limits; durations in milliseconds, or as 500ms, 30s, 5m, 2h',
  budget: '# Budget, including sub-agents',
  settings: '# Model settings',
};

const isFlatLimit = (field: FrontmatterField): boolean => field.group === 'limits' && field.kind.is !== 'block';

const lineOf = (field: FrontmatterField, indent: number, scene: TemplateContext): readonly string[] => {
  if (field.aliasOf !== undefined) return [];
  const { kind } = field;
  if (kind.is === 'block' && kind.short === undefined)
    return [`${' '.repeat(indent)}${field.key}:`, ...kind.fields.flatMap((inner) => lineOf(inner, indent + 2, scene))];
  const into = kind.is === 'block' ? kind.fields[0]!.into! : (field.into ?? [field.key]);
  const kept = at(scene.values, into);
  const value = kind.is === 'either' ? writtenEither(kind, kept) : written(kept);
  if (value !== undefined)
    return live(
      field.key,
      value,
      indent,
      at(scene.given, into) === undefined ? scene.fromConfig(field.key, into[0] ?? '') : 'this file',
    );
  if (field.default !== undefined && !isTooLong(field, scene)) return live(field.key, field.default, indent, 'default');
  if (field.group === 'required' && field.key !== 'schema')
    return live(field.key, field.example, indent, 'required: write your own');
  const otherwise = field.otherwise ?? `${flowText(field.default!)}, within timeout_ms`;
  return noted(`${' '.repeat(indent)}# ${field.key}: ${flowText(field.example)}`, `default: ${otherwise}`);
};

/** The built-in default of one request, where the whole session has less. */
const isTooLong = (field: FrontmatterField, { values }: TemplateContext): boolean =>
  field.key === 'llmTimeout' && (values.limits?.timeout_ms ?? Infinity) < Number(field.default);

const at = (values: Partial<Frontmatter>, [first, second]: readonly string[]): unknown => {
  const value = (values as Record<string, unknown>)[first!];
  return second === undefined ? value : (value as Record<string, unknown> | undefined)?.[second];
};

/** A checked value as one writes it: a sub-agent without a wish is its name alone. */
const written = (value: unknown): Json | undefined => {
  if (!Array.isArray(value)) return value as Json | undefined;
  return value.map((item: string | AgentReference) =>
    typeof item === 'object' && item.output === undefined ? item.agent : item,
  );
};

/** Under the keys that files have for it; as something plain where that says the same. */
const writtenEither = ({ block, as }: PlainOrBlock, value: unknown): Json | undefined => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value as Json | undefined;
  const kept = value as Readonly<Record<string, unknown>>;
  if (as !== undefined && Object.keys(kept).join() === as) return kept[as] as Json;
  return Object.fromEntries(
    block.fields.flatMap(({ key, into, kind }) => {
      const one = kept[into?.[0] ?? key];
      return one === undefined ? [] : [[key, kind.is === 'either' ? writtenEither(kind, one) : (one as Json)]];
    }),
  );
};

const live = (key: string, value: Json, indent: number, source: string): readonly string[] => {
  const lines = yamlLines(key, value, indent);
  // A string over several lines takes a comment only after its end; a block only after its key.
  const isText = typeof value === 'string';
  const index = isText ? lines.length - 1 : 0;
  const line = noted(lines[index]!, source);
  if (line.length === 1) return lines.with(index, line[0]!);
  return [line[0]!, ...lines];
};

const noteColumn = 44;

/** The line with a comment behind it, or above it where there is no room. */
const noted = (line: string, note: string): readonly string[] => {
  const whole = `${line.padEnd(noteColumn - 1)} # ${note}`;
  if (whole.length <= columnsMax) return [whole];
  return [`${' '.repeat(line.length - line.trimStart().length)}# ${note}`, line];
};

const sourceCharsMax = 60;

const shortPath = (source: string): string => {
  const plain = source.replace(/[\p{C}\s]+/gu, ' ');
  return plain.length <= sourceCharsMax ? plain : `…${plain.slice(1 - sourceCharsMax)}`;
};
