// Prepares a tool server that a file names, so that each session can get its own connection.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { CloisterError, nearestName } from '#base';
import type { Overlay, ServerConfig, ToolDefinition, NamedSource } from '#contracts';
import { findCommand, mcpSource } from '#adapters/mcp';
import { defineAgent } from '#core/orchestration';
import { fillServer } from '#core/registry';
import type { SourcedConfig } from '#core/registry';
import { importModule } from './load-module.ts';
import type { LaunchEnvironment } from './launch-environment.ts';

type ServerContext = {
  readonly sourced: SourcedConfig<ServerConfig>;
  /** For looking up its command: fake where variables are missing. */
  readonly overlay: Overlay;
  readonly missing: readonly string[];
  readonly env: LaunchEnvironment['env'];
  readonly inspectOnly: boolean;
};

/** Fills in values; what it returns makes a new source each time. */
export type FillServer = (values: { readonly overlay: Overlay }) => () => NamedSource;

export const prepareServer = async (
  name: string,
  only: readonly string[] | null,
  { sourced, overlay, missing, env, inspectOnly }: ServerContext,
): Promise<FillServer> => {
  const config = sourced.value;
  refuseUnlisted(name, only, config.tools);
  if (config.type === 'module') {
    const path = resolve(sourced.folder, config.module);
    if (inspectOnly) return placeholderSource(name, path);
    const tools = await moduleTools(name, path);
    refuseUnlisted(
      name,
      only,
      tools.map((tool) => tool.name),
      ' `cloister check --connect` finds this too; without it, `check` loads no module.',
    );
    return () => () => ({
      name,
      list: async () => ({ tools: tools.filter((tool) => config.tools?.includes(tool.name) ?? true) }),
    });
  }
  const location = { folder: sourced.folder, path: env['PATH'] ?? '' };
  const filled = fillServer(name, config, overlay, location);
  // A missing command stops the run before anything is spent.
  if (filled.type === 'stdio' && !isPathMissing(config, missing)) await findCommand(filled);
  return (values) => {
    const own = fillServer(name, config, values.overlay, location);
    // probe: server-source
    return () => mcpSource(own);
  };
};

/** Whether its PATH is made of variables that have no value yet. */
const isPathMissing = (config: ServerConfig, missing: readonly string[]): boolean =>
  config.type === 'stdio' && missing.some((name) => config.env?.['PATH']?.includes(`\${${name}`) === true);

/** Throws `server_tools` for a tool that the config does not list or the module does not export. */
const refuseUnlisted = (
  server: string,
  only: readonly string[] | null,
  tools: readonly string[] | undefined,
  hint = '',
): void => {
  const missing = tools === undefined ? undefined : only?.find((tool) => !tools.includes(tool));
  if (missing === undefined || tools === undefined) return;
  const nearest = nearestName(missing, tools);
  throw new CloisterError(
    'server_tools',
    `${server} has no tool "${missing}"${nearest === null ? `; it has ${tools.join(', ')}.` : `; did you mean "${nearest}"?`}${hint}`,
  );
};

/** A placeholder for a module: code is not run when agents are only inspected. */
const placeholderSource = (name: string, path: string): FillServer => {
  if (!existsSync(path)) throw new CloisterError('module_invalid', `mcpServers.${name}: no such file: ${path}.`);
  return () => () => ({ name, list: async () => ({ tools: [] }) });
};

const moduleTools = async (name: string, path: string): Promise<readonly ToolDefinition[]> => {
  const { default: exported } = await importModule(path);
  const tools: unknown = Array.isArray(exported) ? exported : [exported];
  try {
    return defineAgent({ name: 'tools', description: 'Tools.', prompt: '', tools: tools as ToolDefinition[] }).resources
      .tools;
  } catch (error) {
    const words = error instanceof CloisterError ? (error.failure.detail ?? '') : String(error);
    throw new CloisterError('config_invalid', `mcpServers.${name}: ${path} must export a list of tools. ${words}`, {
      cause: error,
    });
  }
};
