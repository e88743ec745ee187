// Connects once to every tool server that agents name, lists its tools, and reports failures and patterns left to tools.
import { CloisterError, Semaphore } from '#base';
import { uncheckedPatterns } from '#adapters/schemas';
import type { Agent, Problem, SourceUse, ToolDefinition, Warning } from '#contracts';
import { redactProblems } from './problems.ts';
import { withChildren } from './resources-from-code.ts';
import type { ResourceResolver } from './resource-resolver.ts';
import { absentToolMarks } from './check-marks.ts';
import type { Configs } from './configs.ts';
import { displayPath } from './launch-environment.ts';

const timeoutMs = 60_000;
const concurrentMax = 8;

export const probeServers = async (
  agents: readonly Agent[],
  resolver: ResourceResolver,
  configs: Configs,
): Promise<{ readonly problems: readonly Problem[]; readonly warnings: readonly Warning[] }> => {
  const warnings: Warning[] = [];
  const problems: Problem[] = [];
  const slots = new Semaphore(concurrentMax);
  // What lacks a variable or a command is reported already.
  const able = [...withChildren(agents)].filter((agent) => resolver.problemsOf(agent).length === 0);
  const found = await Promise.all(
    able.flatMap((agent) =>
      resolver.resourcesFor(agent).sources.map(async (use): Promise<Problem | null> => {
        await slots.acquire();
        const message = await probeServer(use, (tools) => {
          const marks = absentToolMarks(agent, use, tools, configs);
          problems.push(...marks.problems);
          warnings.push(...marks.warnings);
          for (const tool of tools)
            if (use.only?.includes(tool.name) !== false) warnings.push(...uncheckedWarnings(agent, tool, use));
        });
        slots.release();
        return message === null
          ? null
          : {
              file: agent.file === null ? `agent "${agent.name}"` : displayPath(agent.file, configs.launch),
              line: null,
              key: 'tools',
              message,
              nearest: null,
            };
      }),
    ),
  );
  problems.push(...found.filter((problem) => problem !== null));
  return { problems: redactProblems(problems, resolver.redactFor(null)), warnings };
};

/** Patterns that are checked by nobody before the tool runs. */
export const uncheckedWarnings = (
  agent: Agent,
  { name, inputSchema }: Pick<ToolDefinition, 'name' | 'inputSchema'>,
  use?: SourceUse,
): readonly Warning[] =>
  uncheckedPatterns(inputSchema).map((message) => ({
    code: 'pattern-unchecked',
    agent: agent.name,
    message: `${use === undefined ? '' : `${use.source.name}/`}${name}: ${message} It is left to the tool.`,
  }));

const probeServer = async (
  { source, only }: SourceUse,
  onTools: (tools: readonly ToolDefinition[]) => void,
): Promise<string | null> => {
  try {
    const listed = await source.list({ signal: AbortSignal.timeout(timeoutMs) });
    await listed.close?.();
    const { tools } = listed;
    onTools(tools);
    const missing = only?.find((name) => !tools.some((tool) => tool.name === name));
    return missing === undefined
      ? null
      : `${source.name} has no tool "${missing}"; it has ${tools.map(({ name }) => name).join(', ')}.`;
  } catch (error) {
    return error instanceof CloisterError ? `${error.message} ${error.suggestion}` : String(error);
  }
};
