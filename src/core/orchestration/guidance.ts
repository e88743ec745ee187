// The runtime's fixed words around an agent's prompt: the same for every goal.
import type { Agent, OutputFormat, SpawnRules, ToolSchema } from '#contracts';
import { plainName, shownName } from '#core/session';

type Parts = Pick<
  Agent,
  'name' | 'tools' | 'sources' | 'servers' | 'output' | 'agentsAtOnce' | 'spawns' | 'spawnable' | 'given'
>;

/** Role, tools and the closing request. */
export const runtimeGuidance = (agent: Parts, schemas: readonly ToolSchema[]): string => {
  const lines = [
    `You are the agent "${agent.name}".`,
    toolsLine(agent, schemas),
    ...agent.tools.flatMap(({ instructions }) => (instructions === undefined ? [] : [instructions])),
  ];
  if (agent.spawns !== null) lines.push(...spawnLines(agent.spawns, agent.spawnable));
  if (agent.agentsAtOnce !== null)
    lines.push(`Ask at most ${agent.agentsAtOnce} agents at once, unless there is a reason to ask more.`);
  lines.push('Complete the task and provide a clear summary.');
  if (agent.output.format === 'json') lines.push(`Answer with ${formatWords(agent.output)}.`);
  return lines.join('\n');
};

/** Whom it may start, so that it need not guess. */
const spawnLines = ({ self }: SpawnRules, spawnable: readonly Agent[]): readonly string[] => {
  const known = [
    ...spawnable.map(({ name, description }) => `${name}: ${description}`),
    ...(self ? ['self: another one of your own kind, with a clean context.'] : []),
  ];
  return known.length === 0 ? [] : ['Agents that you may start with spawn_agent:', ...known.map((line) => `- ${line}`)];
};

/** What came with a request is in the list of tools, and adds no word to the agent's own prompt. */
const toolsLine = ({ sources, servers, given = [] }: Parts, schemas: readonly ToolSchema[]): string => {
  const named = servers.filter((server) => server.includes('/')).map((server) => shownName(...splitServer(server)));
  const whole = [...sources.map(({ name }) => name), ...servers.filter((server) => !server.includes('/'))];
  const names = [...schemas.map(({ name }) => name).filter((name) => !given.includes(name)), ...named];
  const all = whole.map((name) => `all whose names begin with ${plainName(name)}__`);
  return names.length + all.length === 0
    ? given.length === 0
      ? 'You have no tools.'
      : 'You may use the tools that are listed.'
    : `Tools you may use: ${[...names, ...all].join(', ')}.`;
};

/** `<server>/<tool>` in its two parts. */
export const splitServer = (reference: string): [server: string, tool: string] => {
  const at = reference.indexOf('/');
  return [reference.slice(0, at), reference.slice(at + 1)];
};

const formatWords = ({ format, schema }: OutputFormat): string => {
  if (format !== 'json') return format === 'markdown' ? 'Markdown' : 'plain text';
  return `one JSON value and nothing else${schema === undefined ? '' : `, fitting this JSON Schema: ${JSON.stringify(schema)}`}`;
};

/** The variables that a prompt may name. Everything else that looks like one stays as it is written: nothing is looked up. */
export const fillPrompt = ({ prompt, output, limits }: Pick<Agent, 'prompt' | 'output' | 'limits'>): string =>
  prompt.replace(/\$\{(FORMAT|MAX_TURNS|MAX_TOOLS)\}/gu, (_, name: string) => {
    if (name === 'FORMAT') return formatWords(output);
    return String(name === 'MAX_TURNS' ? (limits.maxToolTurns ?? 10) : (limits.maxToolCallsPerTurn ?? 50));
  });
