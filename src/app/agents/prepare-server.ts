// A tool server that a file names, ready to be connected to anew for each session.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { CloisterError, nearestName } from '#base';
import type { Overlay, ServerConfig, ToolDefinition, ToolSource } from '#contracts';
import { findCommand, mcpSource } from '#adapters/mcp';
import { defineAgent } from '#core/orchestration';
import { fillServer } from '#core/registry';
import type { ConfigSourced } from '#core/registry';
import { importModule } from './load-module.ts';
import type { LaunchEnvironment } from './launch-environment.ts';

type Named = {
  readonly placed: ConfigSourced<ServerConfig>;
  readonly overlay: Overlay;
  readonly env: LaunchEnvironment['env'];
  readonly looking: boolean;
};

export const prepareServer = async (
  name: string,
  only: readonly string[] | null,
  { placed, overlay, env, looking }: Named,
): Promise<() => ToolSource> => {
  const config = placed.value;
  refuseUnlisted(name, only, config.tools);
  if (config.type === 'module') {
    const path = resolve(placed.folder, config.module);
    if (looking) return lookedAt(name, path);
    const tools = await moduleTools(name, path);
    refuseUnlisted(
      name,
      only,
      tools.map((tool) => tool.name),
    );
    return () => ({
      name,
      list: async () => ({ tools: tools.filter((tool) => config.tools?.includes(tool.name) ?? true) }),
    });
  }
  const filled = fillServer(name, config, overlay, { folder: placed.folder, path: env['PATH'] ?? '' });
  if (looking && filled.type === 'stdio') await findCommand(filled);
  // probe: server-source
  return () => mcpSource(filled);
};

/** What the config does not let agents have, or the module does not hold. */
const refuseUnlisted = (server: string, only: readonly string[] | null, tools: readonly string[] | undefined): void => {
  const missing = tools === undefined ? undefined : only?.find((tool) => !tools.includes(tool));
  if (missing === undefined || tools === undefined) return;
  const meant = nearestName(missing, tools);
  throw new CloisterError(
    'server_tools',
    `${server} has no tool "${missing}"${meant === null ? `; it has ${tools.join(', ')}` : `; did you mean "${meant}"?`}`,
  );
};

/** A module is code: it is not run to be looked at. */
const lookedAt = (name: string, path: string): (() => ToolSource) => {
  if (!existsSync(path)) throw new CloisterError('module_invalid', `mcpServers.${name}: there is no file ${path}.`);
  return () => ({ name, list: async () => ({ tools: [] }) });
};

const moduleTools = async (name: string, path: string): Promise<readonly ToolDefinition[]> => {
  const { default: exported } = await importModule(path);
  const tools: unknown = Array.isArray(exported) ? exported : [exported];
  try {
    return defineAgent({ name: 'tools', description: 'Tools.', prompt: '', tools: tools as ToolDefinition[] }).tools;
  } catch (error) {
    const words = error instanceof CloisterError ? (error.failure.detail ?? '') : String(error);
    throw new CloisterError('config_invalid', `mcpServers.${name}: ${path} must export a list of tools. ${words}`, {
      cause: error,
    });
  }
};
