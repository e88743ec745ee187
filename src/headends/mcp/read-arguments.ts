// The arguments of a call as what is asked of an agent. Throws what names the argument and what to do.
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import type { Agent, AgentRequest, OutputFormat } from '#contracts';
import { BodyFields } from '#headends/shared';
import { outputSchemaOf, inputPlacement } from './agent-tool.ts';

const formats = ['text', 'markdown', 'json'] as const;

export type ReadCall = {
  readonly asked: AgentRequest;
  /** What the answer will be, whoever said so. */
  readonly format: OutputFormat['format'];
};

export const readArguments = (agent: Agent, args: JsonObject): ReadCall => {
  const fields = new BodyFields(args, 'arguments');
  const input = inputIn(agent, fields);
  const form = answerIn(agent, fields);
  return { asked: { agent: agent.name, input, ...form }, format: form.format ?? agent.output.format };
};

const inputIn = (agent: Agent, fields: BodyFields): string | JsonObject => {
  const place = inputPlacement(agent);
  if (place === 'beside') {
    const { format: _format, schema: _schema, ...own } = fields.value;
    return own;
  }
  fields.only([place, 'format', 'schema']);
  if (place === 'input') return fields.object('input');
  const prompt = fields.text('prompt');
  if (prompt.trim() === '') throw fields.invalid('prompt', 'the task in words');
  return prompt;
};

const answerIn = (agent: Agent, fields: BodyFields): Pick<AgentRequest, 'format' | 'schema'> => {
  const format = fields.oneOf('format', formats);
  const schema = fields.optionalObject('schema');
  const own = agent.output;
  if (outputSchemaOf(agent) !== null) {
    if (schema !== undefined)
      throw unsupported('schema', 'leave it out: the answer fits the outputSchema of this tool.');
    if (format !== undefined && format !== 'json') throw unsupported('format', 'this tool answers with json only.');
    return {};
  }
  if (schema !== undefined) {
    if (format !== undefined && format !== 'json')
      throw new CloisterError('request_invalid', 'arguments.schema: only with the format json.');
    return { format: 'json', schema };
  }
  if (format === 'json' && own.schema === undefined)
    throw new CloisterError('request_invalid', 'arguments.schema: the format json needs a JSON Schema of the answer.');
  return format === undefined ? {} : { format };
};

const unsupported = (name: string, words: string): CloisterError =>
  new CloisterError('request_unsupported', `arguments.${name}: ${words}`);
