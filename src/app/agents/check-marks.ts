// Marks for approval that match nothing. A tool that somebody meant to mark would run without a question.
import { nearestName } from '#base';
import type { Agent, Problem, SourceUse, ToolDefinition, Warning } from '#contracts';
import { ownMarks, splitServer } from '#core/orchestration';
import type { Configs } from './configs.ts';
import { displayPath } from './launch-environment.ts';
import type { LinkedFile } from './read-agent-files.ts';
import { withChildren } from './resources-from-code.ts';

/** Marks of files that name a tool which the config does not list for its server. */
export const unlistedMarkProblems = (linked: Iterable<LinkedFile>, configs: Configs): readonly Problem[] =>
  [...linked].flatMap(({ path, file }) =>
    (file.frontmatter.approve ?? []).flatMap((name, index): readonly Problem[] => {
      if (!name.includes('/')) return [];
      const [server, tool] = splitServer(name);
      const tools = configs.forFile(path).resolved.servers[server]?.value.tools;
      if (tools === undefined || tools.includes(tool)) return [];
      const line = file.lines[`approve.${index}`] ?? file.lines['approve'] ?? null;
      return [{ file: file.path, line, key: 'approve', ...absentTool(server, tool, tools) }];
    }),
  );

const absentTool = (server: string, tool: string, tools: readonly string[]): Pick<Problem, 'message' | 'nearest'> => {
  const nearest = nearestName(tool, tools);
  const has = tools.length === 0 ? 'it has none' : `it has ${tools.join(', ')}`;
  return {
    message: `${server} has no tool "${tool}", so the mark has no effect; ${has}.`,
    nearest: nearest === null ? null : `${server}/${nearest}`,
  };
};

type MarkFindings = { readonly problems: readonly Problem[]; readonly warnings: readonly Warning[] };

/** The same for the tools that a server was found to have. A mark of the config is for many agents and servers, so it is a warning. */
export const absentToolMarks = (
  agent: Agent,
  { source }: SourceUse,
  tools: readonly ToolDefinition[],
  configs: Configs,
): MarkFindings => {
  const names = tools.map(({ name }) => name);
  const ofConfig = configs.forFile(agent.file).resolved.approve;
  const found = Object.keys(ownMarks(agent)).flatMap((mark) => {
    if (!mark.startsWith(`${source.name}/`)) return [];
    const [, tool] = splitServer(mark);
    return names.includes(tool) ? [] : [{ mark, ...absentTool(source.name, tool, names) }];
  });
  const file = agent.file === null ? `agent "${agent.name}"` : displayPath(agent.file, configs.launch);
  return {
    problems: found.flatMap(({ mark, ...said }) =>
      Object.hasOwn(ofConfig, mark) ? [] : [{ file, line: null, key: 'approve', ...said }],
    ),
    warnings: found.flatMap(({ mark, message, nearest }) =>
      Object.hasOwn(ofConfig, mark) ? [unmatched(agent.name, mark, message, nearest)] : [],
    ),
  };
};

/** Marks of the config that no agent here has the tool for, and that look like a tool which one of them has. */
export const configMarkWarnings = (agents: readonly Agent[], configs: Configs): readonly Warning[] => {
  const all = [...withChildren(agents)];
  const matched = new Set(all.flatMap((agent) => Object.keys(ownMarks(agent))));
  const known = new Set(
    all.flatMap(({ definition, children }) => [
      ...definition.tools.map(({ name }) => name),
      ...definition.sources,
      ...definition.sources.map((source) => source.split('/', 1)[0]!),
      ...children.agents.map(({ signature }) => signature.toolName),
    ]),
  );
  const warnings = new Map<string, Warning>();
  for (const agent of all)
    for (const mark of Object.keys(configs.forFile(agent.file).resolved.approve)) {
      if (matched.has(mark) || warnings.has(mark)) continue;
      const nearest = nearestName(mark, known);
      if (nearest !== null) warnings.set(mark, unmatched(agent.name, mark, 'No agent here has such a tool.', nearest));
    }
  return [...warnings.values()];
};

const unmatched = (agent: string, mark: string, message: string, nearest: string | null): Warning => ({
  code: 'approve-unmatched',
  agent,
  message: `\`approve\` of .ai-agent.json, "${mark}": ${message}${nearest === null ? '' : ` Did you mean "${nearest}"?`}`,
});
