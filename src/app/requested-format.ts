// An agent that is asked for another form of answer than it gives by itself, or with tools for one run.
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { Agent, RunOptions } from '#contracts';
import { withOutputFormat, addRequestTools } from '#core/orchestration';
import type { SchemaProblem } from './check-schemas.ts';

/** Throws `options_invalid` when JSON is asked for and nobody says which, or by a schema that is none. */
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
      throw new CloisterError('options_invalid', `schema: only with format json, not ${format}.`);
    return agent.output.format === format ? agent : withOutputFormat(agent, { format });
  }
  if (schema !== undefined) return withOutputFormat(agent, { format: 'json', schema });
  if (agent.output.format === 'json' && agent.output.schema !== undefined) return agent;
  throw new CloisterError('options_invalid', `format: json needs a schema; agent "${agent.name}" has none of its own.`);
};

/** Throws `options_invalid` for tools that cannot be used, or that it has already. */
export const withRequestTools = (
  agent: Agent,
  { tools = [] }: Pick<RunOptions, 'tools'>,
  problemOf: SchemaProblem,
): Agent => {
  if (tools.length === 0) return agent;
  const equipped = addRequestTools(agent, tools);
  for (const { name, inputSchema } of tools) {
    const problem = problemOf(inputSchema);
    if (problem !== null)
      throw new CloisterError('options_invalid', `tools.${name}.inputSchema: expected a JSON Schema: ${problem}`);
  }
  return equipped;
};

const foreignCharsMax = 64 * 1024;

/** What of an agent's schemas came with a request of a caller: short, and checked against for a moment only. */
export const boundRequestSchemas = (
  agent: Agent,
  { caller, schema, tools = [] }: RunOptions,
  briefly: BoundSchema,
): void => {
  if (caller === undefined) return;
  const asked = schema === undefined ? [] : [agent.output.schema!];
  const given = agent.tools.filter(({ name }) => tools.some((tool) => tool.name === name));
  for (const one of [...asked, ...given.map(({ inputSchema }) => inputSchema)]) {
    const chars = JSON.stringify(one).length;
    if (chars > foreignCharsMax)
      throw new CloisterError(
        'options_invalid',
        `schema: it has ${chars} characters; at most ${foreignCharsMax} are taken.`,
      );
    briefly(one);
  }
};

type BoundSchema = (schema: JsonObject) => void;
