// Builds agents from files: children first, then the agents that name them.
//
//   spawns-within-operators. The numbers in `spawns` may not exceed the operator's; where a file sets none, the operator's
//       apply.
//   spawned-inherit-file-limits. Agents that an agent spawns inherit the limits that its file sets, not the config's defaults.
//       The operator's depth holds for agents that are called, too.
//   spawns-no-cycle. An agent contains the agents that it spawns, so two files cannot spawn each other; each can spawn itself.
import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, relative, resolve, sep } from 'node:path';
import { CloisterError, utf8Bytes } from '#base';
import type { Agent, AgentOptions, Frontmatter, Problem, Skill, SpawnCaps, SpawnOptions, Warning } from '#contracts';
import { buildAgent, withOutputFormat } from '#core/orchestration';
import { mergeDefaults, capViolations, outputDefault, withCaps } from '#core/registry';
import type { Config } from './configs.ts';
import { resolveSkillFolder, tooManySkills } from './load-skills.ts';
import type { SkillReader } from './load-skills.ts';
import { selfReference } from './read-agent-files.ts';
import type { LinkedFile } from './read-agent-files.ts';

export type BuiltAgents = {
  readonly agents: ReadonlyMap<string, Agent>;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Warning[];
};

/** The operator's settings for the agent of a file. */
type BuildContext = Pick<Config, 'defaults' | 'resolved' | 'skillFolders'>;

type Findings = { readonly problems: Problem[]; readonly warnings: Warning[]; readonly skillReader: SkillReader };

/** All files must be present. A file that cannot be built is a problem, and so is a cycle. */
export const buildAgents = (
  linked: ReadonlyMap<string, LinkedFile>,
  contextOf: (path: string) => BuildContext,
  skillReader: SkillReader,
): BuiltAgents => {
  const agents = new Map<string, Agent>();
  const problems: Problem[] = [];
  const warnings: Warning[] = [];
  for (const path of childrenFirst(linked, problems)) {
    const one = linked.get(path)!;
    const children = resolveChildren(one, agents);
    // Problems of a child are reported once, at the child.
    if (children === null) continue;
    const agent = build(one, children, {
      ...contextOf(/* probe: defaults-file */ path),
      problems,
      warnings,
      skillReader,
    });
    if (agent !== null) agents.set(path, agent);
  }
  return { agents, problems: uniqueProblems(problems), warnings };
};

/** Agents may have the same skills. */
const uniqueProblems = (problems: readonly Problem[]): readonly Problem[] => [...new Set(problems)];

type ResolvedChildren = { readonly agents: readonly Agent[]; readonly spawns: NonNullable<SpawnOptions['agents']> };

/** Null when one of them could not be built. */
const resolveChildren = (
  { agents, spawns }: LinkedFile,
  built: ReadonlyMap<string, Agent>,
): ResolvedChildren | null => {
  const called = agents.flatMap(({ path, reference: { output } }) => {
    const agent = built.get(path);
    if (agent === undefined) return [];
    return [output === undefined ? agent : withOutputFormat(agent, output)];
  });
  const spawned = spawns.flatMap((path) => (path === selfReference ? selfReference : (built.get(path) ?? [])));
  return called.length < agents.length || spawned.length < spawns.length ? null : { agents: called, spawns: spawned };
};

const build = (
  { path, file }: LinkedFile,
  children: ResolvedChildren,
  context: BuildContext & Findings,
): Agent | null => {
  const { defaults, problems } = context;
  const { spawns: caps, approve } = context.resolved;
  const { text, problems: includeProblems } = includeFiles(file.prompt, /* probe: include-base */ path);
  const problem = (key: string | null, message: string): void =>
    void problems.push({ file: file.path, line: lineOf(file, key), key, message, nearest: null });
  for (const detail of includeProblems) problem(null, detail);
  const violations = capViolations(file.frontmatter.spawns ?? {}, caps);
  for (const { key, message } of violations) problem(`spawns.${key}`, message);
  const skills = readSkills(/* probe: skill-base */ path, file, context);
  try {
    return includeProblems.length + violations.length > 0 || skills === null
      ? null
      : buildAgent(
          agentOptions(file.name, text, mergeDefaults(file.frontmatter, defaults), { children, caps, skills }),
          path,
          {
            inheritable: file.frontmatter.limits ?? {},
            depth: caps.depth,
            approve,
          },
        );
  } catch (error) {
    if (!(error instanceof CloisterError)) throw error;
    const detail = error.failure.detail ?? error.message;
    if (!detail.includes('unique tool names')) problem(findKey(detail), detail);
    else
      problems.push({
        file: file.path,
        line: file.lines['agents'] ?? file.lines['tools'] ?? null,
        key: 'agents',
        message: `${detail} Set another \`toolName\` in one of them.`,
        nearest: null,
      });
    return null;
  }
};

/** The line of a key, or of its parent key. */
const lineOf = ({ lines }: LinkedFile['file'], key: string | null): number | null =>
  key === null ? null : (lines[key] ?? lines[key.split('.')[0]!] ?? null);

/** The key that an error of the definition is about, if the error concerns messaging, skills or marks. */
const findKey = (detail: string): string | null =>
  /^Agent ".{0,80}?", ((?:spawns|messages|topics|skills|approve)[\w.-]{0,80}): /u.exec(detail)?.[1] ?? null;

/** Null if one of them has a problem. */
const readSkills = (
  path: string,
  file: LinkedFile['file'],
  { skillFolders, skillReader, problems, warnings }: BuildContext & Findings,
): readonly Skill[] | null => {
  const { skills: references = [] } = file.frontmatter;
  const before = problems.length;
  const problem = (index: number | null, message: string): void => {
    const line = file.lines[`skills.${index}`] ?? file.lines['skills'] ?? null;
    problems.push({ file: file.path, line, key: 'skills', message, nearest: null });
  };
  const skills = references.flatMap((reference, index) => {
    const resolved = resolveSkillFolder(reference, path, skillFolders);
    if ('problem' in resolved) {
      problem(index, resolved.problem);
      return [];
    }
    const found = skillReader.read(resolved.folder);
    problems.push(...found.problems);
    for (const message of found.notes) warnings.push({ code: 'skill-partly-used', agent: file.name, message });
    return found.skills;
  });
  const bytes = skills.reduce((sum, { name, description }) => sum + name.length + utf8Bytes(description), 0);
  if (bytes > listBytesMax) warnings.push(longSkills(file.name, skills.length, bytes));
  const tooMany = tooManySkills(skills);
  if (tooMany !== null) problem(null, tooMany);
  return problems.length > before ? null : skills;
};

const listBytesMax = 20_000;

const longSkills = (agent: string, count: number, bytes: number): Warning => ({
  code: 'skills-long',
  agent,
  message: `\`${agent}\`: the descriptions of its ${count} skills add ${bytes} bytes to every request. Give it fewer skills.`,
});

type BuildParts = { readonly children: ResolvedChildren; readonly caps: SpawnCaps; readonly skills: readonly Skill[] };

const agentOptions = (
  name: string,
  prompt: string,
  { spawns, ...frontmatter }: Frontmatter,
  { children, caps, skills }: BuildParts,
): AgentOptions => ({
  usage: frontmatter.description,
  output: outputDefault,
  ...frontmatter,
  name,
  prompt,
  skills,
  agents: children.agents,
  ...(spawns === undefined ? {} : { spawns: { ...withCaps(spawns, caps), agents: children.spawns } }),
});

const childrenOf = ({ agents, spawns }: LinkedFile): readonly string[] => [
  ...agents.map(({ path }) => path),
  ...spawns.filter((path) => path !== selfReference),
];

/** Every file after the files that it names. A cycle is reported with its path, and left out. */
const childrenFirst = (linked: ReadonlyMap<string, LinkedFile>, problems: Problem[]): readonly string[] => {
  const order: string[] = [];
  const state = new Map<string, 'open' | 'done'>();
  const children = new Map([...linked].map(([path, one]) => [path, childrenOf(one)]));
  for (const start of linked.keys()) {
    const stack = state.has(start) ? [] : [{ path: start, next: 0 }];
    if (stack.length > 0) state.set(start, 'open');
    while (stack.length > 0) {
      const top = stack.at(-1)!;
      const child = children.get(top.path)?.[top.next++];
      if (child === undefined) {
        state.set(top.path, 'done');
        order.push(top.path);
        stack.pop();
      } else if (!state.has(child) && linked.has(child)) {
        state.set(child, 'open');
        stack.push({ path: child, next: 0 });
      } else if (state.get(child) === 'open') {
        const cycle = stack.slice(stack.findIndex(({ path }) => path === child)).map(({ path }) => path);
        problems.push(cycleProblem(linked.get(top.path)!, [...cycle, child], linked));
      }
    }
  }
  return order;
};

/** Reported at the file that closes the cycle. */
const cycleProblem = (
  { file, agents }: LinkedFile,
  cycle: readonly string[],
  linked: ReadonlyMap<string, LinkedFile>,
): Problem => {
  const names = cycle.map((path) => linked.get(path)!.file.name).join(' → ');
  const calls = ({ agents: called }: LinkedFile, child: string): boolean => called.some(({ path }) => path === child);
  const spawning = cycle.slice(1).some((child, index) => !calls(linked.get(cycle[index]!)!, child));
  const key = agents.some(({ path }) => path === cycle.at(-1)) ? 'agents' : 'spawns';
  return {
    file: file.path,
    line: file.lines[key] ?? null,
    key,
    message: spawning
      ? `Agents cannot spawn each other in a cycle: ${names}. Remove one of them from \`${key}\`. An agent can spawn itself as \`self\`, and with \`templates\` its model can define other agents.`
      : `Agents cannot call each other in a cycle: ${names}. Remove one of them from \`agents\`.`,
    nearest: null,
  };
};

// `${include:notes/style.md}` in a prompt, or `{% render 'notes/style.md' %}` as other runtimes write it: replaced by the text of that file when the agent is loaded.
//
//   include-own-folder. Only files in or below the agent's own folder are included; links that lead outside and hidden files
//       are refused.
//   include-part-of-definition. Included text is part of the definition: it is inserted once and recorded like the prompt.
const placeholder =
  /\$\{include:([^}\n]{1,300})\}|\{%-?[ \t]{0,20}render[ \t]{1,20}(['"])([^'"\n]{1,300})\2[ \t]{0,20}-?%\}/gu;
const bytesMax = 1_000_000;
const depthMax = 8;

/** The files that a text includes, as written. */
export const includedNames = (text: string): readonly string[] =>
  [...text.matchAll(placeholder)].map(([, name, , rendered]) => (name ?? rendered)!.trim());

type IncludeResult = { readonly text: string; readonly problems: readonly string[] };

export const includeFiles = (prompt: string, agentFile: string): IncludeResult => {
  const problems: string[] = [];
  let bytes = 0;

  const fill = (text: string, from: string, chain: readonly string[]): string =>
    text.replace(placeholder, (written, name: string | undefined, _quote, rendered: string | undefined) => {
      const opened = open((name ?? rendered)!.trim(), from, chain);
      if (typeof opened === 'string') {
        problems.push(`${written}: ${opened}`);
        return written;
      }
      bytes += opened.text.length;
      return fill(opened.text, opened.path, [...chain, opened.path]);
    });

  const open = (name: string, from: string, chain: readonly string[]): { path: string; text: string } | string => {
    const path = resolveInside(dirname(agentFile), resolve(dirname(from), name));
    if (path === null) return "no such file in the agent's folder.";
    if (chain.includes(path))
      return `the file includes itself: ${[...chain.slice(chain.indexOf(path)), path].map((one) => relative(dirname(agentFile), one)).join(' → ')}.`;
    if (chain.length > depthMax) return `includes are nested deeper than ${depthMax}.`;
    if (bytes + statSync(path).size > bytesMax) return `the included files exceed ${bytesMax} bytes in total.`;
    return {
      path,
      text: readFileSync(path, 'utf8')
        .replace(/^\uFEFF/u, '')
        .replace(/\r?\n$/u, ''),
    };
  };

  return { text: fill(prompt, agentFile, [agentFile]), problems };
};

/** The real path of a plain, visible file inside the folder; null for anything else. */
export const resolveInside = (folder: string, path: string): string | null => {
  try {
    const real = realpathSync(path);
    const inside = relative(realpathSync(folder), real);
    const hidden = inside.split(sep).some((part) => part.startsWith('.'));
    return inside === '' || hidden || !statSync(real).isFile() ? null : real;
  } catch {
    return null;
  }
};
