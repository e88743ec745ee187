// Makes a tool that somebody wrote ready to be called.
//
//   execute-gets-parsed. A schema of a library parses the arguments after the JSON was checked and recorded: in the step, so that
//       a replay needs no library. What it refuses is the tool's failure.
//   approval-asks-in-doubt. A function that decides by the arguments never throws, and asks unless it returns false at once.
import { readLibrarySchema } from '#base';
import type { JsonObject } from '#base';
import type { CallableTool, ToolDefinition } from '#contracts';

/** `refuse` throws for a schema that cannot be used. A tool that needs nothing is returned as it is. */
export const toCallableTool = (tool: ToolDefinition, refuse: (expected: string) => never): CallableTool => {
  const { name, description = '', inputSchema, instructions, repeat, timeoutMs, outside, approve } = tool;
  const schema = readLibrarySchema(inputSchema);
  if (typeof schema === 'string') return refuse(schema);
  const needsNothing = schema === null && tool.description !== undefined && typeof approve !== 'function';
  if (needsNothing || typeof tool.execute !== 'function') return tool as CallableTool;
  return Object.freeze({
    name,
    description,
    inputSchema: schema?.json ?? (inputSchema as JsonObject),
    ...(instructions === undefined ? {} : { instructions }),
    ...(repeat === undefined ? {} : { repeat }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(outside === undefined ? {} : { outside }),
    ...(approve === undefined ? {} : { approve: decideApproval(approve, schema?.parseNow) }),
    execute: async (args: JsonObject, context: Parameters<ToolDefinition['execute']>[1]) =>
      tool.execute(schema?.parse ? ((await schema.parse(args)) as JsonObject) : args, context),
  });
};

/** The function gets the arguments as `execute` does. Something else than true or a function is left to the checks. */
const decideApproval = (
  approve: NonNullable<ToolDefinition['approve']>,
  parseNow: ((value: unknown) => unknown) | null | undefined,
): NonNullable<ToolDefinition['approve']> => {
  if (typeof approve !== 'function') return approve;
  return (args) => {
    try {
      const asks: unknown = approve(parseNow ? (parseNow(args) as JsonObject) : args);
      if (asks instanceof Promise) asks.catch(() => undefined);
      return asks !== false;
    } catch {
      return true;
    }
  };
};
