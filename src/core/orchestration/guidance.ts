// The fixed text that the runtime adds to an agent's prompt. It is the same for every goal.
import type { Agent, AgentNeeds, Limits, OutputFormat, SpawnRules, ToolSchema } from '#contracts';
import { sourceToolName, toToolName } from '#core/rules';
import { skillTools } from './skill-tool.ts';

type GuidanceFields = Pick<Agent, 'name' | 'signature' | 'resources' | 'children'>;

/** The role, the tools and the closing instruction. */
export const runtimeGuidance = (agent: GuidanceFields, schemas: readonly ToolSchema[]): string => {
  const { output } = agent.signature;
  const { spawns, spawnable, agentsAtOnce } = agent.children;
  const { tools, skills } = agent.resources;
  const lines = [
    `You are the agent "${agent.name}".`,
    toolsLine(agent.resources, schemas),
    ...[...tools, ...skillTools(skills)].flatMap(({ instructions }) =>
      instructions === undefined ? [] : [instructions],
    ),
  ];
  if (spawns !== null) lines.push(...spawnLines(spawns, spawnable));
  if (agentsAtOnce !== null)
    lines.push(`Call at most ${agentsAtOnce} agents in parallel unless you have a reason to call more.`);
  // Asking for a summary would contradict "nothing else".
  lines.push(
    output.format === 'json'
      ? `Complete the task.\nAnswer with ${describeFormat(output)}.`
      : 'Complete the task and provide a clear summary.',
  );
  return lines.join('\n');
};

/** Lists the agents it can start, so that the model does not have to guess names. */
const spawnLines = ({ self, onEnd }: SpawnRules, spawnable: readonly Agent[]): readonly string[] => {
  const startable = [
    ...spawnable.map(({ name, description }) => `${name}: ${description}`),
    ...(self ? ['self: a copy of yourself with an empty context.'] : []),
  ];
  return startable.length === 0
    ? []
    : [
        'Agents you can start with spawn_agent:',
        ...startable.map((line) => `- ${line}`),
        onEnd === 'wait'
          ? 'When you answer, agents that still work may finish, but you do not see their answers then: to use them, receive them first.'
          : 'When you answer, agents that still work are stopped: to use their answers, receive them first.',
      ];
};

/** Tools that came with a request are in the tool list, but never in the agent's prompt. */
const toolsLine = ({ sources, servers, given = [] }: AgentNeeds, schemas: readonly ToolSchema[]): string => {
  const singleTools = servers
    .filter((server) => server.includes('/'))
    .map((server) => sourceToolName(...splitServer(server)));
  const wholeSources = [...sources.map(({ name }) => name), ...servers.filter((server) => !server.includes('/'))];
  const names = [...schemas.map(({ name }) => name).filter((name) => !given.includes(name)), ...singleTools];
  const all = wholeSources.map((name) => `all tools whose names start with ${toToolName(name)}__`);
  return names.length + all.length === 0
    ? given.length === 0
      ? 'You have no tools.'
      : 'You can use the listed tools.'
    : `Available tools: ${[...names, ...all].join(', ')}.`;
};

/** Splits `<server>/<tool>`. */
export const splitServer = (reference: string): [server: string, tool: string] => {
  const at = reference.indexOf('/');
  return [reference.slice(0, at), reference.slice(at + 1)];
};

const describeFormat = ({ format, schema }: OutputFormat): string => {
  if (format !== 'json') return format === 'markdown' ? 'Markdown' : 'plain text';
  return `one JSON value and nothing else${schema === undefined ? '' : `, matching this JSON Schema: ${JSON.stringify(schema)}`}`;
};

/** Fills in the few variables that a prompt may use. Anything else that looks like a variable stays as written: nothing is looked up. */
export const fillPrompt = (prompt: string, output: OutputFormat, limits: Limits): string =>
  prompt.replace(/\$\{(FORMAT|MAX_TURNS|MAX_TOOLS)\}/gu, (_, name: string) => {
    if (name === 'FORMAT') return describeFormat(output);
    return String(name === 'MAX_TURNS' ? (limits.maxToolTurns ?? 10) : (limits.maxToolCallsPerTurn ?? 50));
  });
