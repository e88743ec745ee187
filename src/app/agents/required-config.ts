// Looks up what an agent needs from the operator's config.
import { nearestName } from '#base';
import type { AgentNeeds, Problem, ProviderConfig, ServerConfig } from '#contracts';
import { splitServer } from '#core/orchestration';
import { builtinSchemas } from '#core/session';
import type { SourcedConfig, ResolvedConfig } from '#core/registry';

export type RequiredConfig = {
  readonly providers: ReadonlyMap<string, SourcedConfig<ProviderConfig>>;
  /** `only`: the tools that the agent names; null: all tools of the server. */
  readonly servers: ReadonlyMap<
    string,
    { readonly sourced: SourcedConfig<ServerConfig>; readonly only: readonly string[] | null }
  >;
  readonly problems: readonly UnlocatedProblem[];
};

/** A problem without file and line. */
export type UnlocatedProblem = Pick<Problem, 'message' | 'nearest' | 'code'> & { readonly key: 'models' | 'tools' };

export const findRequiredConfig = (
  needs: Pick<AgentNeeds, 'models' | 'servers'>,
  config: ResolvedConfig,
  unusedMcpFile: string | null = null,
): RequiredConfig => {
  const problems: UnlocatedProblem[] = [];
  const providers = new Map<string, SourcedConfig<ProviderConfig>>();
  for (const model of needs.models) {
    if (typeof model !== 'string') continue;
    const name = providerName(model);
    const found = config.providers[name];
    if (found !== undefined) providers.set(name, found);
    else problems.push(unknownProvider(name, Object.keys(config.providers)));
  }
  const servers = new Map<string, { sourced: SourcedConfig<ServerConfig>; only: readonly string[] | null }>();
  for (const [name, only] of toolsByServer(needs.servers)) {
    const sourced = config.servers[name];
    if (sourced !== undefined) servers.set(name, { sourced, only });
    else problems.push(unknownServer(name, Object.keys(config.servers), unusedMcpFile));
  }
  return { providers, servers, problems };
};

/** The part of `<provider>/<model>` before the slash. */
export const providerName = (model: string): string => model.split('/', 1)[0]!;

/** `read_output` is added automatically. */
export const runtimeTools: readonly string[] = Object.keys(builtinSchemas).filter((name) => name !== 'read_output');

/** The tools named for each server; null: all tools. */
export const toolsByServer = (names: readonly string[]): ReadonlyMap<string, readonly string[] | null> => {
  const uses = new Map<string, readonly string[] | null>();
  for (const name of names) {
    if (!name.includes('/')) uses.set(name, null);
    else {
      const [server, tool] = splitServer(name);
      const before = uses.get(server);
      if (before !== null) uses.set(server, [...new Set([...(before ?? []), tool])]);
    }
  }
  return uses;
};

const unknownProvider = (name: string, known: readonly string[]): UnlocatedProblem => ({
  key: 'models',
  message: `No provider "${name}" is configured. Add it to \`providers\` in .ai-agent.json, or use one of: ${[...known].sort().join(', ')}.`,
  nearest: nearestName(name, known),
});

const unknownServer = (name: string, known: readonly string[], mcpFile: string | null): UnlocatedProblem => ({
  key: 'tools',
  message: `No tool or server is named "${name}". Add it to \`mcpServers\` in .ai-agent.json, ${mcpFile === null ? '' : `add \`"mcp": ${JSON.stringify(mcpFile)}\` there to use the servers of that file, `}or use one of: ${[...runtimeTools, ...known].join(', ')}.`,
  nearest: nearestName(name, [...runtimeTools, ...known]),
});
