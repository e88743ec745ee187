// What code may write in more than one way, in the one way that is checked and stored.
import { isObject, readLibrarySchema } from '#base';
import type { JsonObject } from '#base';
import type {
  AgentOptions,
  BuiltinTool,
  CallableTool,
  InputFormat,
  OutputFormat,
  ToolDefinition,
  ToolSource,
} from '#contracts';
import { toCallableTool } from '#core/session';
import type { RejectField } from './option-shapes.ts';

/** The options of an agent with schemas as JSON Schema, and tools that can be called. */
export type ExpandedOptions = Omit<AgentOptions, 'input' | 'output' | 'tools'> & {
  readonly input?: InputFormat;
  readonly output?: OutputFormat;
  readonly tools?: readonly (CallableTool | ToolSource | BuiltinTool | (string & {}))[];
};

/** Whatever is not understood stays as it is, for the checks. */
export const expandOptions = (options: AgentOptions, reject: RejectField): ExpandedOptions => {
  if (!isObject(options)) return options;
  const { input, output, tools } = options;
  return {
    ...(options as Omit<AgentOptions, 'input' | 'output' | 'tools'>),
    ...(input === undefined ? {} : { input: expandFormat(input, 'input', reject) }),
    ...(output === undefined ? {} : { output: expandFormat(output, 'output', reject) }),
    ...(tools === undefined ? {} : { tools: expandTools(tools, reject) }),
  };
};

const expandFormat = <F extends { readonly schema?: unknown }>(
  format: F,
  field: string,
  reject: RejectField,
): F & { readonly schema?: JsonObject } => {
  const schema = isObject(format) ? readLibrarySchema(format.schema) : null;
  if (typeof schema === 'string') return reject(`${field}.schema`, schema);
  return schema === null ? (format as F & { readonly schema?: JsonObject }) : { ...format, schema: schema.json };
};

const expandTools = (
  tools: NonNullable<AgentOptions['tools']>,
  reject: RejectField,
): NonNullable<ExpandedOptions['tools']> =>
  Array.isArray(tools)
    ? tools.map((tool: (typeof tools)[number], index) =>
        isTool(tool) ? toCallableTool(tool, (expected) => reject(`tools[${index}].inputSchema`, expected)) : tool,
      )
    : (tools as never);

const isTool = (tool: NonNullable<AgentOptions['tools']>[number]): tool is ToolDefinition =>
  isObject(tool) && !('list' in tool);
