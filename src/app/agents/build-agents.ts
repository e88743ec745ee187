// Agents from files: children first, then those that name them.
import { CloisterError } from '#base';
import type { Agent, AgentOptions, Frontmatter, Problem } from '#contracts';
import { agentFrom, askFor } from '#core/orchestration';
import { mergeDefaults } from '#core/registry';
import { includeFiles } from './include.ts';
import type { LinkedFile } from './read-agent-files.ts';

export type Built = { readonly agents: ReadonlyMap<string, Agent>; readonly problems: readonly Problem[] };

type Defaults = (path: string) => Partial<Frontmatter>;

/** All files must be there. What cannot be built is a problem, and so is a circle. */
export const buildAgents = (linked: ReadonlyMap<string, LinkedFile>, defaultsOf: Defaults): Built => {
  const agents = new Map<string, Agent>();
  const problems: Problem[] = [];
  for (const path of childrenFirst(linked, problems)) {
    const one = linked.get(path)!;
    const children = one.agents.flatMap(({ path: child, reference: { output } }) => {
      const agent = agents.get(child);
      if (agent === undefined) return [];
      return [output === undefined ? agent : askFor(agent, output)];
    });
    // What is wrong with a child is told once, at the child.
    if (children.length < one.agents.length) continue;
    const agent = build(one, children, { defaults: defaultsOf(path), problems });
    if (agent !== null) agents.set(path, agent);
  }
  return { agents, problems };
};

type Ground = { readonly defaults: Partial<Frontmatter>; readonly problems: Problem[] };

const build = (
  { path, file }: LinkedFile,
  children: readonly Agent[],
  { defaults, problems }: Ground,
): Agent | null => {
  const { text, problems: unincluded } = includeFiles(file.prompt, path);
  const problem = (message: string): void =>
    void problems.push({ file: file.path, line: null, key: null, message, nearest: null });
  for (const words of unincluded) problem(words);
  try {
    return unincluded.length > 0
      ? null
      : agentFrom(optionsOf(file.name, text, mergeDefaults(file.frontmatter, defaults), children), path);
  } catch (error) {
    if (!(error instanceof CloisterError)) throw error;
    const words = error.failure.detail ?? error.message;
    const isTwice = words.includes('one tool per name');
    problems.push({
      file: file.path,
      line: isTwice ? (file.lines['agents'] ?? file.lines['tools'] ?? null) : null,
      key: isTwice ? 'agents' : null,
      message: isTwice ? `${words} Set another \`toolName\` in one of them.` : words,
      nearest: null,
    });
    return null;
  }
};

const optionsOf = (name: string, prompt: string, frontmatter: Frontmatter, agents: readonly Agent[]): AgentOptions => ({
  ...frontmatter,
  name,
  prompt,
  agents,
});

/** Every file after those that it names; a circle is told with its path, and left out. */
const childrenFirst = (linked: ReadonlyMap<string, LinkedFile>, problems: Problem[]): readonly string[] => {
  const order: string[] = [];
  const state = new Map<string, 'open' | 'done'>();
  for (const start of linked.keys()) {
    const stack = state.has(start) ? [] : [{ path: start, next: 0 }];
    if (stack.length > 0) state.set(start, 'open');
    while (stack.length > 0) {
      const top = stack.at(-1)!;
      const child = linked.get(top.path)?.agents[top.next++]?.path;
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

const circleProblem = (
  { file }: LinkedFile,
  circle: readonly string[],
  linked: ReadonlyMap<string, LinkedFile>,
): Problem => ({
  file: file.path,
  line: file.lines['agents'] ?? null,
  key: 'agents',
  message: `Agents may not call each other in a circle: ${circle.map((path) => linked.get(path)!.file.name).join(' → ')}. Take one of them out of \`agents\`.`,
  nearest: null,
});
