// Parses one `SKILL.md`: its frontmatter and its text. Nothing in it grants anything or is run.
//
//   skill-keys-grant-nothing. `allowed-tools` and all other keys besides the name and the description have no effect, and the
//       keys that others give a meaning to are reported.
import type { ParseYaml, Problem, Skill } from '#contracts';
import { readLenientYaml } from './lenient-yaml.ts';
import { splitFile } from './split-file.ts';

type ParsedSkill = {
  /** Null if there are problems, or if the file says that models are not to be offered the skill. */
  readonly skill: Skill | null;
  readonly problems: readonly Problem[];
  /** What is not used as written. */
  readonly notes: readonly string[];
};

/** `folder`: the name of its folder, which is also its name. */
export const parseSkillFile = (path: string, text: string, folder: string, parseYaml: ParseYaml): ParsedSkill => {
  const problem = (line: number | null, key: string | null, message: string): ParsedSkill => ({
    skill: null,
    problems: [{ file: path, line, key, message, nearest: null }],
    notes: [],
  });
  const split = splitFile(text);
  if ('problem' in split) return problem(split.problem.line, null, split.problem.message);
  const { frontmatter, frontmatterLine, prompt } = split;
  const strict = parseYaml(frontmatter);
  const document = 'problem' in strict ? readLenientYaml(frontmatter) : strict;
  const notes =
    'problem' in strict
      ? [`line ${frontmatterLine - 1 + strict.problem.line} is not valid YAML, so the keys were read line by line.`]
      : [];
  const values: Readonly<Record<string, unknown>> = document.value;
  const line = (key: string): number => frontmatterLine - 1 + document.line([key]);

  const { name = folder, description } = values;
  if (typeof name !== 'string' || !skillName.test(name))
    return problem(
      line('name'),
      'name',
      `Expected lower-case letters, digits and single hyphens, at most 64 characters.`,
    );
  if (typeof description !== 'string' || description.trim() === '')
    return problem(
      description === undefined ? frontmatterLine - 1 : line('description'),
      'description',
      'Expected a text that says what the skill is for, and when to use it.',
    );
  if (name !== folder) notes.push(`its name is "${name}", but that of its folder is "${folder}".`);
  if (description.length > descriptionCharsMax)
    notes.push(`the description is cut to ${descriptionCharsMax} of ${description.length} characters.`);
  notes.push(...keyNotes(values), ...textNotes(prompt));
  // The second reading gives a text.
  if (String(values['disable-model-invocation']) === 'true')
    return { skill: null, problems: [], notes: ['left out, because it says `disable-model-invocation: true`.'] };
  const shown = description.slice(0, descriptionCharsMax).toWellFormed();
  return { skill: { name, description: shown, instructions: prompt }, problems: [], notes };
};

const skillName = /^(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*$/u;
const descriptionCharsMax = 1_024;

/** For people and catalogues. */
const silentKeys = [
  'name',
  'description',
  'license',
  'compatibility',
  'metadata',
  'version',
  'author',
  'user-invocable',
  'argument-hint',
  'disable-model-invocation',
];

const keyNotes = (values: Readonly<Record<string, unknown>>): readonly string[] => {
  const ignored = Object.keys(values).filter((key) => !silentKeys.includes(key) && key !== 'allowed-tools');
  const shown = ignored.slice(0, 10).map((key) => `\`${key.slice(0, 40)}\``);
  return [
    ...('allowed-tools' in values
      ? ['`allowed-tools` grants nothing: an agent has the tools that its own file lists.']
      : []),
    ...(shown.length === 0 ? [] : [`${shown.join(', ')}${ignored.length > 10 ? ' …' : ''}: ignored.`]),
  ];
};

const textNotes = (text: string): readonly string[] => [
  ...(/(?:^|\s)!`[^`\n]+`/u.test(text) ? ['commands in its text (!`…`) are not run.'] : []),
  ...(/\$ARGUMENTS\b|\$\{CLAUDE_[A-Z_]+\}/u.test(text)
    ? ['variables in its text ($ARGUMENTS …) are not filled in.']
    : []),
];
