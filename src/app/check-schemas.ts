import { CloisterError, isObject, readLibrarySchema } from '#base';
import type { JsonObject } from '#base';
import type { Agent, RunOptions, Schema } from '#contracts';
import { addRequestTools, startableAgents, withOutputFormat } from '#core/orchestration';

/** Says why a schema cannot be used; null when it can. */
type SchemaProblem = (schema: unknown) => string | null;

export type SchemaProblems = {
  readonly schemaProblem: SchemaProblem;
  /** A tool checks its arguments itself, so patterns that cannot be checked here are left to it. */
  readonly toolSchemaProblem: SchemaProblem;
};

const checked = new WeakSet<Agent>();

/** Finds unusable schemas in definitions before anything runs. Throws `agent_invalid`. */
export const checkSchemas = (root: Agent, ports: SchemaProblems): void => {
  if (checked.has(root)) return;
  const reachable = new Set([root]);
  for (const agent of reachable)
    for (const child of startableAgents(agent)) if (!checked.has(child)) reachable.add(child);
  for (const agent of reachable) checkAgentSchemas(agent, ports);
  for (const agent of reachable) checked.add(agent);
};

/** The schemas of sub-agent tools are derived from those of the sub-agents, which are checked separately. */
const checkAgentSchemas = (
  { name, signature: { input, output }, resources: { tools } }: Agent,
  ports: SchemaProblems,
): void => {
  const { schemaProblem, toolSchemaProblem } = ports;
  for (const [field, schema, problemOf] of [
    ...tools.map((tool) => [`tools.${tool.name}`, tool.inputSchema, toolSchemaProblem] as const),
    ['input.schema', input.schema, schemaProblem],
    ['output.schema', output.schema, schemaProblem],
  ] as const) {
    const wrong = schema === undefined ? null : problemOf(schema);
    if (wrong !== null)
      throw new CloisterError('agent_invalid', `Agent "${name}", ${field}: expected a JSON Schema: ${wrong}`);
  }
};

// Adapts an agent to one request: another output format, or extra tools.
/** Throws `options_invalid` when JSON is requested without a schema, or with an invalid one. */
export const withRequestedFormat = (
  agent: Agent,
  { format, schema: given }: Pick<RunOptions, 'format' | 'schema'>,
  problemOf: SchemaProblem,
): Agent => {
  if (format === undefined && given === undefined) return agent;
  const schema = given === undefined ? undefined : readSchema(given);
  const problem = schema === undefined ? null : problemOf(schema);
  if (problem !== null) throw new CloisterError('options_invalid', `schema: expected a JSON Schema: ${problem}`);
  if (format !== undefined && format !== 'json') {
    if (schema !== undefined)
      throw new CloisterError('options_invalid', `schema: only allowed with format json, not ${format}.`);
    return agent.signature.output.format === format ? agent : withOutputFormat(agent, { format });
  }
  if (schema !== undefined) return withOutputFormat(agent, { format: 'json', schema });
  if (agent.signature.output.format === 'json' && agent.signature.output.schema !== undefined) return agent;
  throw new CloisterError(
    'options_invalid',
    `format: json needs a schema, and agent "${agent.name}" does not define one.`,
  );
};

const readSchema = (schema: Schema): JsonObject => {
  const read = readLibrarySchema(schema);
  if (typeof read === 'string') throw new CloisterError('options_invalid', `schema: expected ${read}.`);
  if (read !== null) return read.json;
  if (isObject(schema)) return schema as JsonObject;
  throw new CloisterError('options_invalid', `schema: expected a JSON Schema, as an object; got ${String(schema)}.`);
};

/** Throws `options_invalid` for tools that cannot be used, or whose names the agent already uses. */
export const withRequestTools = (
  agent: Agent,
  { tools = [] }: Pick<RunOptions, 'tools'>,
  problemOf: SchemaProblem,
): Agent => {
  if (tools.length === 0) return agent;
  const extended = addRequestTools(agent, tools);
  const names = new Set(tools.map(({ name }) => name));
  for (const { name, inputSchema } of extended.resources.tools) {
    if (!names.has(name)) continue;
    const problem = problemOf(inputSchema);
    if (problem !== null)
      throw new CloisterError('options_invalid', `tools.${name}.inputSchema: expected a JSON Schema: ${problem}`);
  }
  return extended;
};

const requestSchemaCharsMax = 64 * 1024;

/** Schemas that came with a caller's request are small. Throws `options_invalid`. */
export const checkRequestSchemaSizes = ({ caller, schema, tools = [] }: RunOptions): void => {
  if (caller === undefined) return;
  for (const one of [schema, ...tools.map(({ inputSchema }) => inputSchema)]) {
    const chars = one === undefined ? 0 : JSON.stringify(one).length;
    if (chars > requestSchemaCharsMax)
      throw new CloisterError(
        'options_invalid',
        `schema: ${chars} characters long; the limit is ${requestSchemaCharsMax}.`,
      );
  }
};
