// AI SDK tools as tools of ours. They are known by their shape; no package of the AI SDK is loaded.
import { CloisterError, isObject } from '#base';
import type { JsonObject } from '#base';
import type { AiTool, AiTools, ToolDefinition, ToolOutput } from '#contracts';
import type { RejectField } from './option-shapes.ts';

/** Whether every value is a tool: tools of ours have their name inside, those of the AI SDK stand under it. */
export const isAiTools = (tools: unknown): tools is AiTools =>
  isObject(tools) &&
  Object.keys(tools).length > 0 &&
  Object.values(tools).every((tool) => isObject(tool) && 'inputSchema' in tool);

/** The tool under its name. What it can do only inside the AI SDK is refused. */
export const fromAiTool = (name: string, tool: AiTool, field: string, reject: RejectField): ToolDefinition => {
  const { description, execute, toModelOutput, type, needsApproval, contextSchema } = tool as AiTool & AiToolExtras;
  if (type === 'provider') return reject(field, 'a tool that runs here; this one runs at the provider');
  if (typeof execute !== 'function') return reject(`${field}.execute`, 'a function');
  if (typeof description === 'function')
    return reject(`${field}.description`, 'text; there is no context for a function');
  if (contextSchema !== undefined) return reject(`${field}.contextSchema`, 'none: there is no tool context');
  if (!['undefined', 'boolean', 'function'].includes(typeof needsApproval))
    return reject(`${field}.needsApproval`, 'true, false or a function');
  return {
    name,
    ...(description === undefined ? {} : { description }),
    ...aiApproval(needsApproval),
    inputSchema: aiSchema(tool.inputSchema) as ToolDefinition['inputSchema'],
    execute: async (args, { signal, key }) => {
      const options = { toolCallId: key, messages: [], abortSignal: signal, context: undefined };
      const output = await lastOf((execute as Execute)(args, options));
      return toModelOutput === undefined
        ? plainOutput(output)
        : modelOutput(await (toModelOutput as ToModelOutput)({ toolCallId: key, input: args, output }));
    },
  };
};

/** A function gets the arguments and no messages. What it decides later, in a promise, comes too late: such calls ask. */
const aiApproval = (needsApproval: unknown): Pick<ToolDefinition, 'approve'> => {
  if (typeof needsApproval !== 'function') return needsApproval === true ? { approve: true } : {};
  const options = { toolCallId: '', messages: [], context: undefined };
  return { approve: (args) => (needsApproval as NeedsApproval)(args, options) as boolean };
};

type AiToolExtras = { readonly type?: unknown; readonly needsApproval?: unknown; readonly contextSchema?: unknown };
type NeedsApproval = (args: JsonObject, options: object) => unknown;
type Execute = (args: JsonObject, options: object) => unknown;
type ToModelOutput = (options: object) => unknown;

/** `jsonSchema()` and `zodSchema()` of the AI SDK, or a function that makes one, as a schema with the Standard Schema interface. */
const aiSchema = (given: unknown): unknown => {
  const schema: unknown = typeof given === 'function' && !('~standard' in given) ? (given as () => unknown)() : given;
  if (!isObject(schema) || (schema as { [aiSchemaMark]?: unknown })[aiSchemaMark] !== true) return schema;
  const { jsonSchema, validate } = schema as { readonly jsonSchema: unknown; readonly validate?: ValidateWithAi };
  const standard = {
    version: 1,
    vendor: 'ai',
    validate: async (value: unknown) => {
      const result = await validate?.(value);
      if (result === undefined) return { value };
      return result.success ? { value: result.value } : { issues: [{ message: result.error.message }] };
    },
    jsonSchema: {
      input: () => {
        if (isObject(jsonSchema) && !('then' in jsonSchema)) return jsonSchema;
        throw new Error('it is made later, by a promise');
      },
    },
  };
  return { '~standard': standard };
};

const aiSchemaMark = Symbol.for('vercel.ai.schema');

type ValidateWithAi = (value: unknown) => Promise<AiValidation> | AiValidation;
type AiValidation =
  | { readonly success: true; readonly value: unknown }
  | { readonly success: false; readonly error: Error };

/** A tool may yield preliminary results; the last one counts. */
const lastOf = async (output: unknown): Promise<unknown> => {
  if (typeof output !== 'object' || output === null || !(Symbol.asyncIterator in output)) return output;
  let last: unknown;
  for await (const one of output as AsyncIterable<unknown>) last = one;
  return last;
};

/** As the AI SDK shows it to a model: text, or JSON. */
const plainOutput = (value: unknown): ToolOutput =>
  typeof value === 'string' ? value : { type: 'json', value: (value ?? null) as never };

const modelOutput = (output: unknown): ToolOutput => {
  const { type, value } = output as { readonly type: string; readonly value: unknown };
  switch (type) {
    case 'text':
    case 'json':
      return plainOutput(value);
    case 'error-text':
    case 'error-json':
      throw new Error(typeof value === 'string' ? value : JSON.stringify(value));
    case 'content': {
      const parts = value as readonly { readonly type: string; readonly text?: string }[];
      if (parts.every((part) => part.type === 'text')) return parts.map(({ text }) => text).join('\n');
      throw new CloisterError('tool_output', 'It returned something else than text.');
    }
    default:
      throw new CloisterError('tool_output', `It returned ${type}.`);
  }
};
