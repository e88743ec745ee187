// Agent files (`.ai`) of another runtime as files of this one. Keys that are not supported become comments; whatever else the
// author wrote stays as it is.
import type { Json, JsonObject } from '#base';
import type { ImportNote, ParseYaml, YamlDocument } from '#contracts';
import { frontmatterShape, keyHints, tuningKeys } from './frontmatter-shape.ts';
import { aliasedModelText, mapModels, unknownModelText } from './foreign-models.ts';
import type { ModelAliases } from './foreign-models.ts';
import { splitNames } from './foreign-tools.ts';
import { readLenientYaml } from './lenient-yaml.ts';
import { parseAgentFile } from './parse-agent-file.ts';
import { splitFile } from './split-file.ts';
import { yamlLines } from './template-yaml.ts';

type ImportPorts = {
  readonly parseYaml: ParseYaml;
  readonly modelAliases: ModelAliases;
  /** Whether `tools` may name it: a built-in tool, or a server that the operator has. */
  hasTool(name: string): boolean;
};

type ImportedText = { readonly text: string; readonly notes: readonly ImportNote[] };

/** A file that needs no changes is returned as it is. */
export const importAgentFile = (path: string, text: string, ports: ImportPorts): ImportedText => {
  const split = splitFile(text);
  if ('problem' in split) return { text, notes: [noteOf('decide', split.problem.line, null, split.problem.message)] };
  const parsed = ports.parseYaml(split.frontmatter);
  const isLenient = 'problem' in parsed;
  const document: YamlDocument = isLenient ? readLenientYaml(split.frontmatter) : parsed;
  const line = (key: string): number => split.frontmatterLine - 1 + document.line([key]);
  const notes: ImportNote[] = isLenient
    ? [
        noteOf(
          'changed',
          null,
          null,
          `The keys are not valid YAML, so they were read line by line. ${parsed.problem.message}`,
        ),
      ]
    : [];
  const changed = changedKeys(document.value, ports, (kind, key, message) =>
    notes.push(noteOf(kind, line(key), key, message)),
  );
  const lines = isLenient || !isOneKeyPerLine(document) ? null : commentedLines(split.frontmatter, document, changed);
  const needsChange = isLenient || changed.size > 0;
  const frontmatter = lines ?? writtenLines(document.value, changed);
  const result = needsChange
    ? [...headLines(text, split.frontmatterLine), ...frontmatter, '---', split.prompt].join('\n')
    : text;
  const left = parseAgentFile(path, result, { parseYaml: ports.parseYaml });
  const wrong = left.problems.map(({ line: at, key, message }) =>
    noteOf('decide', needsChange ? null : at, key, message),
  );
  return { text: result, notes: [...notes, ...wrong] };
};

const noteOf = (kind: ImportNote['kind'], line: number | null, key: string | null, message: string): ImportNote => ({
  kind,
  line,
  key,
  message,
});

type AddNote = (kind: ImportNote['kind'], key: string, message: string) => void;

/** The keys that cannot stay as they are, with what replaces them; null: nothing. */
const changedKeys = (value: JsonObject, ports: ImportPorts, add: AddNote): ReadonlyMap<string, Json | null> => {
  const changed = new Map<string, Json | null>();
  for (const key of Object.keys(value)) {
    if (Object.hasOwn(frontmatterShape.fields, key)) continue;
    changed.set(key, null);
    const tunes = tuningKeys.get(key);
    if (tunes === undefined)
      add('decide', key, `\`${key}\` was left out. ${keyHints.get(key) ?? 'It is not a key of an agent file.'}`);
    else add('dropped', key, `It has no effect here. ${tunes}`);
  }
  changeModels(value, ports, changed, add);
  const tools = splitNames(value['tools']);
  const missing = tools.filter((name) => !ports.hasTool(name));
  if (missing.length > 0) {
    changed.set(
      'tools',
      tools.filter((name) => ports.hasTool(name)),
    );
    add(
      'decide',
      'tools',
      `Left out, because .ai-agent.json has no such server: ${missing.join(', ')}. Define it in \`mcpServers\`, and name it in \`tools\`.`,
    );
  }
  return changed;
};

/** Only names without a provider are changed, so that a list of models stays as it is written. */
const changeModels = (
  value: JsonObject,
  { modelAliases }: ImportPorts,
  changed: Map<string, Json | null>,
  add: AddNote,
): void => {
  const names = splitNames(value['models']);
  const mapped = mapModels(names, 'ai', modelAliases);
  const { models, aliased, unknown } = mapped;
  if (aliased.length + unknown.length === 0) return;
  changed.set('models', models.length === 0 ? null : models);
  if (aliased.length > 0) add('changed', 'models', aliasedModelText(aliased));
  if (unknown.length > 0) add('decide', 'models', unknownModelText(mapped, modelAliases));
};

/** Otherwise a key cannot be made a comment without its neighbours. */
const isOneKeyPerLine = (document: YamlDocument): boolean => {
  const starts = Object.keys(document.value).map((key) => document.line([key]));
  return starts.every((start, index) => index === 0 || start > starts[index - 1]!);
};

const commentedLines = (
  frontmatter: string,
  document: YamlDocument,
  changed: ReadonlyMap<string, Json | null>,
): readonly string[] => {
  const lines = frontmatter.replace(/\r?\n$/u, '').split(/\r?\n/u);
  const keyAt = new Map(Object.keys(document.value).map((key) => [document.line([key]), key]));
  let current: string | undefined;
  return lines.flatMap((text, index) => {
    const starts = keyAt.get(index + 1);
    current = starts ?? current;
    if (current === undefined || !changed.has(current)) return [text];
    const replaced = changed.get(current)!;
    const before = starts === undefined || replaced === null ? [] : yamlLines(current, replaced, 0);
    return [...before, /^\s*(?:#|$)/u.test(text) ? text : `# ${text}`];
  });
};

const writtenLines = (value: JsonObject, changed: ReadonlyMap<string, Json | null>): readonly string[] =>
  Object.entries(value).flatMap(([key, one]) => {
    const kept = changed.has(key) ? changed.get(key)! : one!;
    return kept === null ? [] : yamlLines(key, kept, 0);
  });

/** What comes before the keys: a line that starts with `#!`, and the opening `---`. */
const headLines = (text: string, frontmatterLine: number): readonly string[] =>
  text.replace(/^\uFEFF/u, '').split(/\r?\n/u, frontmatterLine - 1);
