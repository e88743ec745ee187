// `cloister init`: writes agents, a config, tests and a CI file from a template, ready to run.
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CloisterError, isAgentPath } from '#base';
import type { InitReport, TemplateSummary } from '#contracts';

/** `template.json` of a template. */
type TemplateSpec = {
  readonly about: string;
  /** The file of its scripted model. */
  readonly script: string;
  /** What `cloister verify` is given. */
  readonly agent: string;
  /** What `cloister check` is given; default: the whole folder. */
  readonly check?: string;
  /** What to do next. */
  readonly commands: readonly string[];
  /** A template whose files it has as well. */
  readonly extends?: string;
  /** Common files that it does without. */
  readonly omit?: readonly string[];
  /** A folder that is left as it is if it exists. */
  readonly keeps?: string;
};

type InitOptions = {
  readonly template?: string;
  readonly templates: URL;
  readonly cwd: string;
  readonly version: string;
};

/** The first one is the default. */
const templateNames = ['start', 'research', 'typescript', 'desk', 'team', 'served', 'import'];

export const listTemplates = (templates: URL): readonly TemplateSummary[] =>
  templateNames.map((name) => ({ name, about: readSpec(name, templates).about }));

/** Throws `folder_taken` before anything is written if one of the files exists. A package.json that exists stays as it is. */
export const initFolder = (folder: string, options: InitOptions): InitReport => {
  const { template = 'start', templates, cwd } = options;
  if (!templateNames.includes(template))
    throw new CloisterError(
      'options_invalid',
      `There is no template "${template}". There are ${templateNames.join(', ')}.`,
    );
  const spec = readSpec(template, templates);
  const target = resolve(cwd, folder);
  const files = filesOf(template, spec, options).filter(([to]) => !isKept(to, spec, target));
  const existing = files.map(([to]) => to).filter((to) => existsSync(join(target, to)));
  if (existing.length > 0)
    throw new CloisterError('folder_taken', `${target} already contains ${existing.join(', ')}; nothing was changed.`);
  try {
    for (const [to, text] of files) writeNew(join(target, to), text);
    const written = [...files.map(([to]) => to), ...ignoreSecrets(target)];
    return { folder: target, template, files: written, next: spec.commands };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new CloisterError('folder_taken', `${target} cannot be written (${code ?? 'unknown'}).`, { cause: error });
  }
};

const readSpec = (name: string, templates: URL): TemplateSpec =>
  JSON.parse(readFileSync(new URL(`${name}/template.json`, templates), 'utf8')) as TemplateSpec;

/** Paths in the folder, with the texts. A file of the template replaces a common one of the same name. */
const filesOf = (
  template: string,
  spec: TemplateSpec,
  { templates, version }: InitOptions,
): readonly (readonly [to: string, text: string])[] => {
  const values: Readonly<Record<string, string>> = {
    agent: spec.agent,
    check: spec.check === undefined ? '' : ` ${spec.check}`,
    script: spec.script,
    version,
  };
  const files = new Map<string, string>();
  for (const source of ['common', ...(spec.extends === undefined ? [] : [spec.extends]), template])
    for (const [to, text] of filesIn(fileURLToPath(new URL(`${source}/`, templates))))
      files.set(
        to,
        text.replaceAll(/\{\{(agent|check|script|version)\}\}/gu, (_, name: string) => values[name]!),
      );
  for (const omitted of ['template.json', ...(spec.omit ?? [])]) files.delete(omitted);
  return [...files].toSorted(([one], [other]) => rank(one) - rank(other));
};

/** Agents first: they are what the folder is about. */
const rank = (path: string): number =>
  isAgentPath(path) || path.startsWith('.claude') ? 0 : path.startsWith('.') || path.includes('/') ? 2 : 1;

/** npm does not pack all files with a leading dot, so they are called `dot-` in the package. */
const filesIn = (folder: string): readonly (readonly [to: string, text: string])[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
    .map((path) => [
      relative(folder, path)
        .replaceAll('\\', '/')
        .replaceAll(/(^|\/)dot-/gu, '$1.'),
      readFileSync(path, 'utf8'),
    ]);

const isKept = (to: string, { keeps }: TemplateSpec, target: string): boolean =>
  (to === 'package.json' && existsSync(join(target, to))) ||
  (keeps !== undefined && to.startsWith(`${keeps}/`) && existsSync(join(target, keeps)));

const writeNew = (path: string, text: string): void => {
  makeFolder(dirname(path));
  writeFileSync(path, text, { flag: 'wx' });
  if (text.startsWith('#!')) chmodSync(path, 0o755);
};

/** Level by level: where no folder can be created, a recursive mkdir may never return. */
const makeFolder = (folder: string): void => {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
};

/** Keys, runs and packages do not belong in version control. */
const ignored = ['.ai-agent.env', '.cloister/', 'node_modules/'];

const ignoreSecrets = (folder: string): readonly string[] => {
  const path = join(folder, '.gitignore');
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  const missing = ignored.filter((line) => !lines.includes(line));
  if (missing.length === 0) return [];
  const before = lines.length > 0 ? `${lines.join('\n').replace(/\n*$/u, '')}\n` : '';
  writeFileSync(path, `${before}${missing.join('\n')}\n`);
  return ['.gitignore'];
};
