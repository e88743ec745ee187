// Agents from files: children first, then those that name them.
//
//   B1. Numbers of `spawns` are at most the operator's, and where a file has none they are the operator's.
//   B2. An agent holds those that it spawns, so two files cannot spawn each other; each can spawn its own kind.
import { CloisterError } from '#base';
import type { Agent, AgentOptions, Frontmatter, Problem, SpawnCaps, SpawnOptions } from '#contracts';
import { agentFrom, withOutputFormat } from '#core/orchestration';
import { mergeDefaults, capViolations, withCaps } from '#core/registry';
import { includeFiles } from './include.ts';
import { selfReference } from './read-agent-files.ts';
import type { LinkedFile } from './read-agent-files.ts';

export type Built = { readonly agents: ReadonlyMap<string, Agent>; readonly problems: readonly Problem[] };

/** What the operator says for the agent of a file. */
type BuildContext = { readonly defaults: Partial<Frontmatter>; readonly caps: SpawnCaps };

/** All files must be there. What cannot be built is a problem, and so is a circle. */
export const buildAgents = (
  linked: ReadonlyMap<string, LinkedFile>,
  groundOf: (path: string) => BuildContext,
): Built => {
  const agents = new Map<string, Agent>();
  const problems: Problem[] = [];
  for (const path of childrenFirst(linked, problems)) {
    const one = linked.get(path)!;
    const family = familyOf(one, agents);
    // What is wrong with a child is told once, at the child.
    if (family === null) continue;
    const agent = build(one, family, { ...groundOf(/* probe: defaults-file */ path), problems });
    if (agent !== null) agents.set(path, agent);
  }
  return { agents, problems };
};

type ResolvedChildren = { readonly agents: readonly Agent[]; readonly spawns: NonNullable<SpawnOptions['agents']> };

/** Null when one of them could not be built. */
const familyOf = ({ agents, spawns }: LinkedFile, built: ReadonlyMap<string, Agent>): ResolvedChildren | null => {
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
  family: ResolvedChildren,
  { defaults, caps, problems }: BuildContext & { readonly problems: Problem[] },
): Agent | null => {
  const { text, problems: unincluded } = includeFiles(file.prompt, /* probe: include-base */ path);
  const problem = (key: string | null, message: string): void =>
    void problems.push({ file: file.path, line: lineOf(file, key), key, message, nearest: null });
  for (const words of unincluded) problem(null, words);
  const beyond = capViolations(file.frontmatter.spawns ?? {}, caps);
  for (const { key, message } of beyond) problem(`spawns.${key}`, message);
  try {
    return unincluded.length + beyond.length > 0
      ? null
      : agentFrom(optionsOf(file.name, text, mergeDefaults(file.frontmatter, defaults), { family, caps }), path);
  } catch (error) {
    if (!(error instanceof CloisterError)) throw error;
    const words = error.failure.detail ?? error.message;
    if (!words.includes('one tool per name')) problem(mailKeyIn(words), words);
    else
      problems.push({
        file: file.path,
        line: file.lines['agents'] ?? file.lines['tools'] ?? null,
        key: 'agents',
        message: `${words} Set another \`toolName\` in one of them.`,
        nearest: null,
      });
    return null;
  }
};

/** Of a key, or of the nearest one above it. */
const lineOf = ({ lines }: LinkedFile['file'], key: string | null): number | null =>
  key === null ? null : (lines[key] ?? lines[key.split('.')[0]!] ?? null);

/** The key that an error of the definition is about, if it is one of mail. */
const mailKeyIn = (words: string): string | null =>
  /^Agent ".{0,80}?", ((?:spawns|messages|topics)[\w.-]{0,80}): /u.exec(words)?.[1] ?? null;

type Given = { readonly family: ResolvedChildren; readonly caps: SpawnCaps };

const optionsOf = (
  name: string,
  prompt: string,
  { spawns, ...frontmatter }: Frontmatter,
  { family, caps }: Given,
): AgentOptions => ({
  ...frontmatter,
  name,
  prompt,
  agents: family.agents,
  ...(spawns === undefined ? {} : { spawns: { ...withCaps(spawns, caps), agents: family.spawns } }),
});

const childrenOf = ({ agents, spawns }: LinkedFile): readonly string[] => [
  ...agents.map(({ path }) => path),
  ...spawns.filter((path) => path !== selfReference),
];

/** Every file after those that it names; a circle is told with its path, and left out. */
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
        const circle = stack.slice(stack.findIndex(({ path }) => path === child)).map(({ path }) => path);
        problems.push(circleProblem(linked.get(top.path)!, [...circle, child], linked));
      }
    }
  }
  return order;
};

/** The last two of the circle: where it closes. */
const circleProblem = (
  { file, agents }: LinkedFile,
  circle: readonly string[],
  linked: ReadonlyMap<string, LinkedFile>,
): Problem => {
  const names = circle.map((path) => linked.get(path)!.file.name).join(' → ');
  const calls = ({ agents: called }: LinkedFile, child: string): boolean => called.some(({ path }) => path === child);
  const spawning = circle.slice(1).some((child, index) => !calls(linked.get(circle[index]!)!, child));
  const key = agents.some(({ path }) => path === circle.at(-1)) ? 'agents' : 'spawns';
  return {
    file: file.path,
    line: file.lines[key] ?? null,
    key,
    message: spawning
      ? `Agents cannot spawn each other in a circle: ${names}. Take one of them out of \`${key}\`; an agent spawns its own kind as \`self\`, and with \`templates\` its model can describe others.`
      : `Agents may not call each other in a circle: ${names}. Take one of them out of \`agents\`.`,
    nearest: null,
  };
};
