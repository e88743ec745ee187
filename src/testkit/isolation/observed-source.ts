// A stand-in for a tool source, or the real source with its calls observed.
import type { ToolDefinition, ToolSource } from '#contracts';
import type { StandInSource } from './agent-tree.ts';

type Execute = ToolDefinition['execute'];

export const createObservedSource = (
  { name, tools, own }: StandInSource,
  call: (tool: string, made: Parameters<Execute>, own: ToolDefinition | null) => ReturnType<Execute>,
): ToolSource => {
  const observe = (tool: Omit<ToolDefinition, 'execute'>, real: ToolDefinition | null): ToolDefinition => ({
    ...tool,
    execute: (...made) => call(`${name}__${tool.name}`, made, real),
  });
  return {
    name,
    list: async (context) => {
      if (own === undefined) return { tools: tools.map((tool) => observe({ ...tool, repeat: 'free' }, null)) };
      const listed = await own.list(context);
      return { ...listed, tools: listed.tools.map((tool) => observe(tool, tool)) };
    },
  };
};
