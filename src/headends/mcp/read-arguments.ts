// Turns the arguments of a tool call into a request for an agent. Errors name the argument and what to do.
import { bothSchemas, CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { Agent, AgentRequest, OutputFormat } from '#contracts';
import { BodyFields } from '#headends/shared';
import { toolOutputSchema, inputPlacement } from './agent-tool.ts';

const formats = ['text', 'markdown', 'json'] as const;

type ParsedToolCall = {
  readonly request: AgentRequest;
  /** The format of the answer, whether the call or the agent decided it. */
  readonly format: OutputFormat['format'];
};

export const readArguments = (agent: Agent, args: JsonObject): ParsedToolCall => {
  const fields = new BodyFields(args, 'arguments');
  const input = readAgentInput(agent, fields);
  const form = readAnswerFormat(agent, fields);
  return { request: { agent: agent.name, input, ...form }, format: form.format ?? agent.signature.output.format };
};

const readAgentInput = (agent: Agent, fields: BodyFields): string | JsonObject => {
  const placement = inputPlacement(agent);
  if (placement === 'beside') {
    const { format: _format, schema: _schema, ...own } = fields.value;
    return own;
  }
  fields.allowOnly([placement, 'format', 'schema']);
  if (placement === 'input') return fields.object('input');
  const prompt = fields.text('prompt');
  if (prompt.trim() === '') throw fields.invalid('prompt', 'a non-empty task');
  return prompt;
};

const readAnswerFormat = (agent: Agent, fields: BodyFields): Pick<AgentRequest, 'format' | 'schema'> => {
  const format = fields.oneOf('format', formats);
  const schema = fields.optionalObject('schema');
  const own = agent.signature.output;
  if (toolOutputSchema(agent) !== null) {
    if (format !== undefined && format !== 'json') throw unsupported('format', 'this tool only returns json.');
    return schema === undefined ? {} : { format: 'json', schema: withOwnSchema(agent, schema) };
  }
  if (schema !== undefined) {
    if (format !== undefined && format !== 'json')
      throw new CloisterError('request_invalid', 'arguments.schema: only allowed with the format json.');
    return { format: 'json', schema: withOwnSchema(agent, schema) };
  }
  if (format === 'json' && own.schema === undefined)
    throw new CloisterError(
      'request_invalid',
      'arguments.schema: required for the format json, as a JSON Schema of the answer.',
    );
  return format === undefined ? {} : { format };
};

/** The answer must fit the schema of the call and the agent's own. */
const withOwnSchema = ({ signature: { output } }: Agent, schema: JsonObject): JsonObject =>
  output.schema === undefined ? schema : bothSchemas(output.schema, schema);

const unsupported = (name: string, reason: string): CloisterError =>
  new CloisterError('request_unsupported', `arguments.${name}: ${reason}`);
