// An agent in code: validated, completed, frozen. Files make the same thing.
import { canonicalJson, CloisterError, deepFreeze, defined, isName, sha256 } from '#base';
import type { Json, JsonObject } from '#base';
import type { Agent, AgentOptions, Budget, Definition, GrantName, Model, ToolDefinition, ToolSchema } from '#contracts';
import { builtinSchemas } from '#core/session';
import { agentToolSchema } from './agent-tool.ts';
import { gatherSchema } from './gather.ts';
import { checkAgentOptions } from './check-agent.ts';

const grantsDefault: readonly GrantName[] = ['goal', 'result', 'note'];

export const defineAgent = (options: AgentOptions): Agent => {
  checkAgentOptions(options);
  const { name, description, prompt } = options;
  const tools = (options.tools ?? []).filter((tool): tool is ToolDefinition => typeof tool !== 'string');
  const builtins = (options.tools ?? []).filter((tool) => typeof tool === 'string');
  const agents = options.agents ?? [];
  const gather = options.gather ?? null;
  const output = deepFreeze(structuredClone(options.output ?? { format: 'text' as const }));
  const schemas = toolSchemas({ tools, builtins, agents, gather });
  const limits = defined(options.limits);
  const settings = defined(options.settings);
  const budget = finite(options.budget);
  const grants = [...(options.grants ?? grantsDefault)];
  const guidance = guidanceOf(name, schemas, tools, output);
  const definition: Definition = deepFreeze({ prompt, guidance, tools: schemas, grants, limits, settings, budget });
  return Object.freeze({
    name,
    description,
    prompt,
    models: Object.freeze(
      (options.models ?? []).map((model): Model =>
        Object.freeze('language' in model ? { ...model } : { language: model }),
      ),
    ),
    tools: Object.freeze(tools),
    builtins: Object.freeze(builtins),
    agents: Object.freeze([...agents]),
    gather,
    toolName: options.toolName ?? name,
    output,
    limits,
    settings,
    budget,
    grants,
    definition,
    digest: sha256(canonicalJson(definition as unknown as Json)),
  });
};

/** A budget of Infinity means the same as none, except that it could not be written down. */
const finite = (budget: Budget | undefined): Budget =>
  Object.fromEntries(Object.entries(defined(budget)).filter(([, amount]) => amount !== Infinity));

type Parts = Pick<Agent, 'tools' | 'builtins' | 'agents' | 'gather'>;

const toolSchemas = ({ tools, builtins, agents, gather }: Parts): readonly ToolSchema[] => {
  const own = tools.map(({ name, description, inputSchema }) => ({
    name,
    description,
    inputSchema: plain(inputSchema),
  }));
  const all: ToolSchema[] = [...own, ...builtins.map((name) => builtinSchemas[name]), ...agents.map(agentToolSchema)];
  if (gather !== null) all.push(gatherSchema(agents));
  if (all.length > 0) all.push(builtinSchemas.read_output);
  return all;
};

/** A copy that the definition can freeze. */
const plain = (schema: JsonObject): JsonObject => JSON.parse(JSON.stringify(schema)) as JsonObject;

/** Role, tools and the closing request: the runtime's fixed words, the same for every goal. */
const guidanceOf = (
  name: string,
  schemas: readonly ToolSchema[],
  tools: readonly ToolDefinition[],
  output: Agent['output'],
): string => {
  const lines = [
    `You are the agent "${name}".`,
    schemas.length === 0
      ? 'You have no tools.'
      : `Tools you may use: ${schemas.map((schema) => schema.name).join(', ')}.`,
    ...tools.flatMap(({ instructions }) => (instructions === undefined ? [] : [instructions])),
    'Complete the task and provide a clear summary.',
  ];
  if (output.format === 'json')
    lines.push(
      `Answer with one JSON value and nothing else${output.schema === undefined ? '' : `, fitting this JSON Schema: ${JSON.stringify(output.schema)}`}.`,
    );
  return lines.join('\n');
};

/** A clear error for what is not an agent made here. */
export const assertAgent = (value: unknown, where: string): Agent => {
  const agent = value as Partial<Agent> | null;
  if (
    typeof agent === 'object' &&
    agent !== null &&
    typeof agent.digest === 'string' &&
    typeof agent.name === 'string' &&
    isName(agent.name)
  )
    return agent as Agent;
  throw new CloisterError('module_invalid', `${where} is not an agent; make it with defineAgent({...}).`);
};
