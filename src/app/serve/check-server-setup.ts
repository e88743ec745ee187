// Says what is wrong with what is to be served, before anything listens.
import { CloisterError, unknownNameText, unknownAgentError } from '#base';
import type { Agent } from '#contracts';
import type { TokenEntry } from './token-registry.ts';

/** Throws `options_invalid` or `agent_unknown`. */
export const checkServed = (names: readonly string[], agents: readonly Agent[], reserved: readonly string[]): void => {
  if (names.length === 0) throw new CloisterError('options_invalid', 'agents: there is none to serve.');
  for (const [place, name] of names.entries()) {
    if (names.indexOf(name) !== place) throw new CloisterError('options_invalid', `agents: "${name}" is there twice.`);
    if (!agents.some((agent) => agent.name === name))
      throw unknownAgentError(
        name,
        agents.map((one) => one.name),
      );
    if (reserved.includes(name))
      throw new CloisterError(
        'options_invalid',
        `agents: "${name}" cannot be served under its name, which is an address of the server. Rename the agent.`,
      );
  }
};

const ofNothing = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

const nameForm = /^[a-z0-9][a-z0-9._-]{0,39}$/iu;

export const isTokenName = (name: string): boolean => nameForm.test(name) && name !== stdioName;

/** Throws `tokens_invalid`. */
export const checkTokenEntries = (entries: readonly TokenEntry[], served: readonly string[]): void => {
  const [problem] = tokenProblems(entries, served);
  if (problem === undefined) return;
  const { place, field, message } = problem;
  throw new CloisterError('tokens_invalid', `tokens[${place}].${field}: ${message}`);
};

export type TokenProblem = { readonly place: number; readonly field: string; readonly message: string };

/** Of each entry, the first. */
export const tokenProblems = (entries: readonly TokenEntry[], served: readonly string[]): readonly TokenProblem[] =>
  entries.flatMap((entry, place) => {
    const found = ofItself(entry) ?? amongOthers(entry, place, entries) ?? ofAgents(entry, served) ?? ofAmounts(entry);
    return found === null ? [] : [{ place, field: found[0], message: found[1] }];
  });

type Found = readonly [field: string, message: string] | null;

const ofItself = ({ name, sha256 }: TokenEntry): Found => {
  if (!nameForm.test(name)) return ['name', 'Expected letters, digits, dots, dashes; at most 40.'];
  if (name === stdioName) return ['name', `"${stdioName}" is kept for MCP over standard input.`];
  if (sha256 === ofNothing) return ['sha256', 'It is that of an empty text; `cloister token` makes a token.'];
  if (!/^[\da-f]{64}$/u.test(sha256)) return ['sha256', 'Expected 64 hex digits, as `cloister token` prints them.'];
  return null;
};

const amongOthers = ({ name, sha256 }: TokenEntry, place: number, entries: readonly TokenEntry[]): Found => {
  if (entries.findIndex((one) => one.name === name) !== place) return ['name', `"${name}" is there twice.`];
  if (entries.findIndex((one) => one.sha256 === sha256) !== place) return ['sha256', 'It is there twice.'];
  return null;
};

const ofAgents = ({ agents }: TokenEntry, served: readonly string[]): Found => {
  if (agents?.length === 0) return ['agents', 'It may ask nobody. Name some, or leave this out for all of them.'];
  const unknown = agents?.find((agent) => !served.includes(agent));
  return unknown === undefined ? null : ['agents', unknownNameText(unknown, served)];
};

const ofAmounts = (entry: TokenEntry): Found => {
  const { budget, allowance } = entry;
  const wrong = numbersOf(entry).find(([, value, least]) => value !== undefined && !(value >= least));
  if (wrong !== undefined) return [wrong[0], `Expected a number, ${wrong[2]} or more.`];
  if (allowance === undefined) return null;
  if (!['hour', 'day', 'month'].includes(allowance.per)) return ['allowance.per', 'Expected hour, day or month.'];
  if (allowance.tokens === undefined && allowance.usd === undefined)
    return ['allowance', 'It bounds nothing. Give tokens or usd, or leave it out.'];
  for (const unit of ['tokens', 'usd'] as const)
    if (allowance[unit] !== undefined && budget?.[unit] === undefined)
      return [`budget.${unit}`, `An allowance in ${unit} needs one, which each request sets aside.`];
  return null;
};

/** What would never be more than nothing, or is no number and so bounds nothing. */
const numbersOf = (
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

/** Whoever started the process speaks MCP to it over standard input. */
export const stdioName = 'stdio';

/** Throws `options_invalid` for what could never match, or would match everything. */
export const checkReach = (hosts: readonly string[], origins: readonly string[]): void => {
  const host = hosts.find((one) => !/^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/iu.test(one));
  if (host !== undefined)
    throw new CloisterError('options_invalid', `hosts: expected a name, or name:port; got ${JSON.stringify(host)}.`);
  const origin = origins.find(
    (one) => !URL.canParse(one) || new URL(one).origin !== one.toLowerCase() || one === 'null',
  );
  if (origin !== undefined)
    throw new CloisterError(
      'options_invalid',
      `origins: expected one such as https://chat.example.com; got ${JSON.stringify(origin)}.`,
    );
};
