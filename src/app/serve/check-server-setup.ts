// Checks agents, tokens, hosts and origins before the server listens.
import { CloisterError, unknownNameText, unknownAgentError } from '#base';
import type { Agent } from '#contracts';
import type { TokenEntry } from './token-registry.ts';

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
    const first = byToolName.get(agent.modelToolName);
    if (first !== undefined)
      throw new CloisterError(
        'options_invalid',
        `agents: ${clashText(first, agent)} Set another \`toolName\` in one of them.`,
      );
    byToolName.set(agent.modelToolName, agent);
  }
};

const clashText = (one: Agent, other: Agent): string =>
  one.toolName === other.toolName
    ? `"${one.name}" and "${other.name}" have the same tool name, "${one.toolName}".`
    : `the tool names of "${one.name}" ("${one.toolName}") and "${other.name}" ("${other.toolName}") are the same to models: "${one.modelToolName}".`;

const emptySha256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

const nameForm = /^[a-z0-9][a-z0-9._-]{0,39}$/iu;

export const isTokenName = (name: string): boolean => nameForm.test(name) && name !== stdioName;

/** Throws `tokens_invalid`. */
export const checkTokenEntries = (entries: readonly TokenEntry[], served: readonly string[]): void => {
  const [problem] = tokenProblems(entries, served);
  if (problem === undefined) return;
  const { index, field, message } = problem;
  throw new CloisterError('tokens_invalid', `tokens[${index}].${field}: ${message}`);
};

export type TokenProblem = { readonly index: number; readonly field: string; readonly message: string };

/** The first problem of each entry. */
export const tokenProblems = (entries: readonly TokenEntry[], served: readonly string[]): readonly TokenProblem[] =>
  entries.flatMap((entry, index) => {
    const found =
      identityProblem(entry) ??
      duplicateProblem(entry, index, entries) ??
      agentsProblem(entry, served) ??
      amountsProblem(entry);
    return found === null ? [] : [{ index, field: found[0], message: found[1] }];
  });

type FieldProblem = readonly [field: string, message: string] | null;

const identityProblem = ({ name, sha256 }: TokenEntry): FieldProblem => {
  if (!nameForm.test(name)) return ['name', 'Expected at most 40 letters, digits, dots, dashes or underscores.'];
  if (name === stdioName) return ['name', `"${stdioName}" is reserved for MCP over standard input.`];
  if (sha256 === emptySha256)
    return ['sha256', 'This is the hash of an empty string. Create a token with `cloister token`.'];
  if (!/^[\da-f]{64}$/u.test(sha256)) return ['sha256', 'Expected 64 hex digits, as printed by `cloister token`.'];
  return null;
};

const duplicateProblem = (
  { name, sha256 }: TokenEntry,
  index: number,
  entries: readonly TokenEntry[],
): FieldProblem => {
  if (entries.findIndex((one) => one.name === name) !== index) return ['name', `"${name}" is listed twice.`];
  if (entries.findIndex((one) => one.sha256 === sha256) !== index) return ['sha256', 'This hash is listed twice.'];
  return null;
};

const agentsProblem = ({ agents }: TokenEntry, served: readonly string[]): FieldProblem => {
  if (agents?.length === 0) return ['agents', 'The list is empty. Name agents, or omit it to allow all of them.'];
  const unknown = agents?.find((agent) => !served.includes(agent));
  return unknown === undefined ? null : ['agents', unknownNameText(unknown, served)];
};

const amountsProblem = (entry: TokenEntry): FieldProblem => {
  const { budget, allowance } = entry;
  const wrong = numericFields(entry).find(([, value, least]) => value !== undefined && !(value >= least));
  if (wrong !== undefined) return [wrong[0], `Expected a number ≥ ${wrong[2]}.`];
  if (allowance === undefined) return null;
  if (!['hour', 'day', 'month'].includes(allowance.per)) return ['allowance.per', 'Expected hour, day or month.'];
  if (allowance.tokens === undefined && allowance.usd === undefined)
    return ['allowance', 'No limit is set. Set tokens or usd, or omit the allowance.'];
  for (const unit of ['tokens', 'usd'] as const)
    if (allowance[unit] !== undefined && budget?.[unit] === undefined)
      return [`budget.${unit}`, `Required with an allowance in ${unit}: each request reserves this amount.`];
  return null;
};

/** The numeric fields with their minimum. NaN would limit nothing. */
const numericFields = (
  entry: TokenEntry,
): readonly (readonly [field: string, value: number | undefined, least: number])[] => {
  const { budget = {}, allowance, requestsPerMinute, running, expiresAt } = entry;
  return [
    ...Object.entries(budget).map(([unit, value]) => [`budget.${unit}`, value, 0] as const),
    ['allowance.tokens', allowance?.tokens, 0],
    ['allowance.usd', allowance?.usd, 0],
    ['requestsPerMinute', requestsPerMinute, 1],
    ['running', running, 1],
    ['expiresAt', expiresAt, 0],
  ];
};

/** The caller that started this process and uses MCP over standard input. */
export const stdioName = 'stdio';

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
