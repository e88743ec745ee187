// Checks agents, tokens, hosts and origins before the server listens.
import { networkInterfaces } from 'node:os';
import { CloisterError, unknownNameText, unknownAgentError } from '#base';
import { listOf, object, problemText, problemsIn, storedShape } from '#base/shapes';
import { callerNameOf, tokenShape } from '#contracts';
import type { Agent, TokenEntry } from '#contracts';

/** Throws `options_invalid` or `agent_unknown`. */
export const checkServedAgents = (
  names: readonly string[],
  agents: readonly Agent[],
  reserved: readonly string[],
): void => {
  if (names.length === 0) throw new CloisterError('options_invalid', 'agents: no agent to serve.');
  for (const [index, name] of names.entries()) {
    if (names.indexOf(name) !== index) throw new CloisterError('options_invalid', `agents: "${name}" is listed twice.`);
    if (!agents.some((agent) => agent.name === name))
      throw unknownAgentError(
        name,
        agents.map((one) => one.name),
      );
    if (reserved.includes(name))
      throw new CloisterError(
        'options_invalid',
        `agents: "${name}" clashes with a reserved URL of the server. Rename the agent.`,
      );
  }
  checkToolNames(agents.filter(({ name }) => names.includes(name)));
};

/** MCP clients may show models the names as they are, or replace dots as Cloister does. */
const checkToolNames = (agents: readonly Agent[]): void => {
  const byToolName = new Map<string, Agent>();
  for (const agent of agents) {
    const first = byToolName.get(agent.signature.modelToolName);
    if (first !== undefined)
      throw new CloisterError(
        'options_invalid',
        `agents: ${clashText(first, agent)} Set another \`toolName\` in one of them.`,
      );
    byToolName.set(agent.signature.modelToolName, agent);
  }
};

const clashText = (one: Agent, other: Agent): string =>
  one.signature.toolName === other.signature.toolName
    ? `"${one.name}" and "${other.name}" have the same tool name, "${one.signature.toolName}".`
    : `the tool names of "${one.name}" ("${one.signature.toolName}") and "${other.name}" ("${other.signature.toolName}") are the same to models: "${one.signature.modelToolName}".`;

const entriesShape = listOf(storedShape(tokenShape));

/** Throws `tokens_invalid`. */
export const checkTokenEntries = (entries: readonly TokenEntry[], served: readonly string[]): void => {
  const [wrong] = problemsIn(object({ tokens: entriesShape }), { tokens: entries }, { inCode: true });
  if (wrong !== undefined) throw new CloisterError('tokens_invalid', problemText(wrong, 'option'));
  const [problem] = tokenProblems(entries, served);
  if (problem === undefined) return;
  const { index, field, message } = problem;
  throw new CloisterError('tokens_invalid', `tokens[${index}].${field}: ${message}`);
};

type TokenProblem = { readonly index: number; readonly field: string; readonly message: string };

/** What no entry shows by itself: the first problem of each. */
export const tokenProblems = (
  entries: readonly (TokenEntry | undefined)[],
  served: readonly string[],
): readonly TokenProblem[] =>
  entries.flatMap((entry, index) => {
    const found =
      entry === undefined ? null : (duplicateProblem(entry, index, entries) ?? agentsProblem(entry, served));
    return found === null ? [] : [{ index, field: found[0], message: found[1] }];
  });

type FieldProblem = readonly [field: string, message: string] | null;

const duplicateProblem = (
  entry: TokenEntry,
  index: number,
  entries: readonly (TokenEntry | undefined)[],
): FieldProblem => {
  const { name, sha256 } = entry;
  const isSameCaller = (one: TokenEntry | undefined): boolean =>
    one !== undefined && callerNameOf(one) === callerNameOf(entry);
  if (entries.findIndex(isSameCaller) !== index) return ['name', `"${name}" is listed twice.`];
  if (entries.findIndex((one) => one?.sha256 === sha256) !== index) return ['sha256', 'This hash is listed twice.'];
  return null;
};

const agentsProblem = ({ agents }: TokenEntry, served: readonly string[]): FieldProblem => {
  if (agents?.length === 0) return ['agents', 'The list is empty. Name agents, or omit it to allow all of them.'];
  const unknown = agents?.find((agent) => !served.includes(agent));
  return unknown === undefined ? null : ['agents', unknownNameText(unknown, served)];
};

/** Throws `options_invalid` for an entry that could never match, or would match everything. */
export const checkHostsAndOrigins = (hosts: readonly string[], origins: readonly string[]): void => {
  const host = hosts.find((one) => !/^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/iu.test(one));
  if (host !== undefined)
    throw new CloisterError(
      'options_invalid',
      `hosts: expected a host name or host:port; got ${JSON.stringify(host)}.`,
    );
  const origin = origins.find(
    (one) => !URL.canParse(one) || new URL(one).origin !== one.toLowerCase() || one === 'null',
  );
  if (origin !== undefined)
    throw new CloisterError(
      'options_invalid',
      `origins: expected an origin such as https://chat.example.com; got ${JSON.stringify(origin)}.`,
    );
};

// Host names that a server accepts.
const loopbackHosts = ['localhost', '127.0.0.1', '[::1]'];

export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/u.test(host);

/** Throws `options_invalid` for an address that other machines can reach, unless `expose` is set. */
export const checkHost = (host: string, expose: boolean): void => {
  if (isLoopback(host) || expose) return;
  throw new CloisterError(
    'options_invalid',
    `host: ${host} is reachable from other machines. Confirm with --expose (in code: expose: true) and put TLS in front of it.`,
  );
};

/** All of the machine's own addresses are accepted: unlike a name, an address cannot be rebound to another machine. */
export const hostsFor = (host: string, more: readonly string[] = []): readonly string[] => {
  if (isLoopback(host)) return [...loopbackHosts, bracketed(host), ...more];
  const everywhere = host === '0.0.0.0' || host === '::';
  return [...loopbackHosts, ...(everywhere ? ownAddresses() : [bracketed(host)]), ...more];
};

export const listenUrl = (host: string, port: number): string => {
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${bracketed(shown)}:${port}`;
};

const ownAddresses = (): readonly string[] =>
  Object.values(networkInterfaces()).flatMap((found) => (found ?? []).map(({ address }) => bracketed(address)));

const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host);
