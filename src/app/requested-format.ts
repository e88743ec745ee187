// Adapts an agent to one request: another output format, or extra tools.
import { CloisterError } from '#base';
import type { Agent, RunOptions } from '#contracts';
import { withOutputFormat, addRequestTools } from '#core/orchestration';
import type { SchemaProblem } from './check-schemas.ts';

/** Throws `options_invalid` when JSON is requested without a schema, or with an invalid one. */
export const withRequestedFormat = (
  agent: Agent,
  { format, schema }: Pick<RunOptions, 'format' | 'schema'>,
  problemOf: SchemaProblem,
): Agent => {
  if (format === undefined && schema === undefined) return agent;
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

/** Throws `options_invalid` for tools that cannot be used, or whose names the agent already uses. */
export const withRequestTools = (
  agent: Agent,
  { tools = [] }: Pick<RunOptions, 'tools'>,
  problemOf: SchemaProblem,
): Agent => {
  if (tools.length === 0) return agent;
  const extended = addRequestTools(agent, tools);
  for (const { name, inputSchema } of tools) {
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
