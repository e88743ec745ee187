// The skills of an agent: their descriptions are in its prompt, and `read_skill` reads the rest when the model asks for it.
//
//   skills-own-only. `read_skill` reads the skills of its own agent, from the definition: no argument reaches a disk.
//   skills-as-defined. The definition holds a digest of every skill, so a run is resumed only with the skills it started with.
//   skills-never-run. The files of a skill are text, scripts too.
import { canonicalJson, CloisterError, nearestName, sha256, utf8Bytes } from '#base';
import type { Json, JsonObject } from '#base';
import type { CallableTool, Skill, SkillDigest } from '#contracts';

export const skillToolName = 'read_skill';

/** A name that two skills have. */
export const repeatedName = (skills: readonly Skill[]): string | undefined => {
  const names = skills.map(({ name }) => name);
  return names.find((name, index) => names.indexOf(name) !== index);
};

/** A frozen copy that shares the texts, with the description on one line. */
export const freezeSkill = ({ name, description, instructions, files = {} }: Skill): Skill =>
  Object.freeze({
    name,
    description: description.replace(/\s+/gu, ' ').trim(),
    instructions,
    files: Object.freeze(
      Object.fromEntries(
        Object.entries(files).map(([path, file]) => [
          path,
          typeof file === 'string' ? file : Object.freeze({ ...file }),
        ]),
      ),
    ),
  });

export const skillDigest = ({ name, description, instructions, files = {} }: Skill): SkillDigest => {
  const hashes = Object.entries(files).map(([path, file]) => [path, typeof file === 'string' ? sha256(file) : file]);
  const digest = sha256(
    canonicalJson({ name, description, instructions: sha256(instructions), files: Object.fromEntries(hashes) as Json }),
  );
  return { name, digest };
};

/** No tool without skills. */
export const skillTools = (skills: readonly Skill[]): readonly CallableTool[] =>
  skills.length === 0 ? [] : [skillTool(skills)];

const skillTool = (skills: readonly Skill[]): CallableTool => ({
  name: skillToolName,
  description: 'Read the instructions of one of your skills, or one of its files.',
  instructions: [
    'You have skills: instructions for certain tasks. When a description fits your task, read that skill with read_skill before you start. Nothing of a skill runs by itself.',
    ...skills.map(({ name, description }) => `- ${name}: ${description}`),
  ].join('\n'),
  inputSchema: {
    type: 'object',
    properties: {
      skill: { type: 'string', enum: skills.map(({ name }) => name) },
      file: { type: 'string', description: 'A file that the skill lists. Omit it for the instructions.' },
    },
    required: ['skill'],
    additionalProperties: false,
  },
  repeat: 'free',
  execute: (args) => readSkill(/* probe: own-skills */ skills, args),
});

const readSkill = (skills: readonly Skill[], args: JsonObject): string => {
  const name = typeof args['skill'] === 'string' ? args['skill'] : '';
  const skill = skills.find((one) => one.name === name);
  if (skill === undefined) throw new CloisterError('file_missing', `No skill is named ${quote(name)}.`);
  const path = typeof args['file'] === 'string' ? normalizePath(args['file']) : '';
  return path === '' || path === 'SKILL.md' ? instructionsOf(skill) : fileOf(skill, path);
};

const instructionsOf = ({ instructions, files = {} }: Skill): string => {
  const lines = Object.entries(files).map(([path, file]) =>
    typeof file === 'string' ? `- ${path} (${utf8Bytes(file)} bytes)` : `- ${path} (${file.bytes} bytes, ${file.why})`,
  );
  return lines.length === 0 ? instructions : `${instructions.trimEnd()}\n\nFiles of this skill:\n${lines.join('\n')}\n`;
};

const fileOf = ({ name, files = {} }: Skill, path: string): string => {
  const file = Object.hasOwn(files, path) ? files[path] : undefined;
  if (typeof file === 'string') return file;
  if (file !== undefined) return `${path} cannot be shown: ${file.why} (${file.bytes} bytes).`;
  const near = nearestName(path, Object.keys(files));
  throw new CloisterError(
    'file_missing',
    `The skill ${quote(name)} has no file ${quote(path)}${near === null ? '' : `; did you mean ${quote(near)}`}.`,
  );
};

/** As models write it: `./references/forms.md`. */
const normalizePath = (path: string): string => path.trim().replace(/^(?:\.\/)+/u, '');

const quote = (text: string): string => JSON.stringify(text.slice(0, 200));
