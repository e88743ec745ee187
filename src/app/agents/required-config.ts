// What an agent names of the operator's config, looked up.
import { nearestName } from '#base';
import type { Agent, Problem, ProviderConfig, ServerConfig } from '#contracts';
import { splitServer } from '#core/orchestration';
import { builtinSchemas } from '#core/session';
import type { ConfigSourced, ResolvedConfig } from '#core/registry';

export type Needs = {
  readonly providers: ReadonlyMap<string, ConfigSourced<ProviderConfig>>;
  /** With the tools that it names; null: all of them. */
  readonly servers: ReadonlyMap<
    string,
    { readonly placed: ConfigSourced<ServerConfig>; readonly only: readonly string[] | null }
  >;
  readonly problems: readonly UnlocatedProblem[];
};

/** A problem without its place. */
export type UnlocatedProblem = Pick<Problem, 'message' | 'nearest'> & { readonly key: 'models' | 'tools' };

export const needsOf = (agent: Pick<Agent, 'models' | 'servers'>, config: ResolvedConfig): Needs => {
  const problems: UnlocatedProblem[] = [];
  const providers = new Map<string, ConfigSourced<ProviderConfig>>();
  for (const model of agent.models) {
    if (typeof model !== 'string') continue;
    const name = providerOf(model);
    const found = config.providers[name];
    if (found !== undefined) providers.set(name, found);
    else problems.push(unknownProvider(name, Object.keys(config.providers)));
  }
  const servers = new Map<string, { placed: ConfigSourced<ServerConfig>; only: readonly string[] | null }>();
  for (const [name, only] of toolsByServer(agent.servers)) {
    const placed = config.servers[name];
    if (placed !== undefined) servers.set(name, { placed, only });
    else problems.push(unknownServer(name, Object.keys(config.servers)));
  }
  return { providers, servers, problems };
};

/** The part of `<provider>/<model>` before the slash. */
export const providerOf = (model: string): string => model.split('/', 1)[0]!;

/** `read_output` comes by itself. */
export const runtimeTools: readonly string[] = Object.keys(builtinSchemas).filter((name) => name !== 'read_output');

/** The tools that are named of each server; null: all of them. */
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
  message: `No provider "${name}" is configured: add it to \`providers\` in .ai-agent.json, or name one of ${[...known].sort().join(', ')}.`,
  nearest: nearestName(name, known),
});

const unknownServer = (name: string, known: readonly string[]): UnlocatedProblem => ({
  key: 'tools',
  message: `No tool or server "${name}" is known: add it to \`mcpServers\` in .ai-agent.json, or name one of ${[...runtimeTools, ...known].join(', ')}.`,
  nearest: nearestName(name, [...runtimeTools, ...known]),
});
