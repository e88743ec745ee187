// Makes a tool that somebody wrote ready to be called.
//
//   execute-gets-parsed. A schema of a library parses the arguments after the JSON was checked and recorded: in the step, so that
//       a replay needs no library. What it refuses is the tool's failure.
import { readLibrarySchema } from '#base';
import type { JsonObject } from '#base';
import type { CallableTool, ToolDefinition } from '#contracts';

/** `refuse` throws for a schema that cannot be used. A tool that needs nothing is returned as it is. */
export const toCallableTool = (tool: ToolDefinition, refuse: (expected: string) => never): CallableTool => {
  const { name, description = '', inputSchema, instructions, repeat, timeoutMs, outside } = tool;
  const schema = readLibrarySchema(inputSchema);
  if (typeof schema === 'string') return refuse(schema);
  if ((schema === null && tool.description !== undefined) || typeof tool.execute !== 'function')
    return tool as CallableTool;
  return Object.freeze({
    name,
    description,
    inputSchema: schema?.json ?? (inputSchema as JsonObject),
    ...(instructions === undefined ? {} : { instructions }),
    ...(repeat === undefined ? {} : { repeat }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(outside === undefined ? {} : { outside }),
    execute: async (args: JsonObject, context: Parameters<ToolDefinition['execute']>[1]) =>
      tool.execute(schema?.parse ? ((await schema.parse(args)) as JsonObject) : args, context),
  });
};
