import type { Hash } from '#base';

/** Instructions and files for one kind of task. An agent reads them when it needs them; nothing of a skill is run. */
export type Skill = {
  /** Lower-case letters, digits and single hyphens; at most 64 characters. */
  readonly name: string;
  /** What it is for, and when to use it: the only part that is always in the prompt. At most 1,024 characters. */
  readonly description: string;
  /** The text of `SKILL.md` below its frontmatter. */
  readonly instructions: string;
  /** Its other files, by path relative to its folder. */
  readonly files?: Readonly<Record<string, string | UnreadableSkillFile>>;
};

/** A file that is only listed. `why`: such as `not text`. */
type UnreadableSkillFile = { readonly bytes: number; readonly why: string; readonly sha256?: Hash };

/** What a definition records of a skill: the digest covers its description, its instructions and all of its files. */
export type SkillDigest = { readonly name: string; readonly digest: Hash };
