// A stand-in for a tool source, or the source itself with its calls noticed.
import type { ToolDefinition, ToolSource } from '#contracts';
import type { PlayedSource } from './team.ts';

type Execute = ToolDefinition['execute'];

export const talkSource = (
  { name, tools, own }: PlayedSource,
  call: (tool: string, made: Parameters<Execute>, own: ToolDefinition | null) => ReturnType<Execute>,
): ToolSource => {
  const noticed = (tool: Omit<ToolDefinition, 'execute'>, real: ToolDefinition | null): ToolDefinition => ({
    ...tool,
    execute: (...made) => call(`${name}__${tool.name}`, made, real),
  });
  return {
    name,
    list: async (context) => {
      if (own === undefined) return { tools: tools.map((tool) => noticed({ ...tool, repeat: 'free' }, null)) };
      const listed = await own.list(context);
      return { ...listed, tools: listed.tools.map((tool) => noticed(tool, tool)) };
    },
  };
};
