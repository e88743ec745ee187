// Checks server options. A misspelt option would be ignored, and could leave more open than intended.
import type { Budget } from '#contracts';
import { defaultLimits } from '#headends/http';
import { checkOptions } from './conversations/check-options.ts';
import type { OptionFields } from './conversations/check-options.ts';
import type { ServerOptions } from './server-options.ts';

const fields = {
  agents: 'texts',
  tokens: 'any',
  host: 'text',
  port: 'port',
  expose: 'flag',
  hosts: 'texts',
  origins: 'texts',
  slots: 'options',
  clients: 'options',
  clientToolMs: 'number',
  limits: 'options',
  log: 'any',
  clock: 'any',
  ids: 'any',
} as const satisfies Record<keyof ServerOptions, OptionFields[string]>;

const nestedFields = {
  slots: { running: 'number', runningPerAgent: 'number', waiting: 'number', waitingPerCaller: 'number' },
  clients: { system: 'flag', tools: 'flag', activity: 'flag' },
  limits: Object.fromEntries(Object.keys(defaultLimits).map((name) => [name, 'number'])),
} as const satisfies Record<string, OptionFields>;

/** The values are checked where they are used. */
const tokenFields = {
  name: 'any',
  sha256: 'any',
  agents: 'texts',
  budget: 'options',
  allowance: 'options',
  requestsPerMinute: 'any',
  running: 'any',
  operator: 'flag',
  expiresAt: 'any',
} as const satisfies Record<keyof NonNullable<ServerOptions['tokens']>[number], OptionFields[string]>;

const tokenAmountFields = {
  budget: { tokens: 'any', usd: 'any', spawns: 'any', memory: 'any', ms: 'any' } satisfies Record<keyof Budget, 'any'>,
  allowance: { tokens: 'any', usd: 'any', per: 'any' },
} as const satisfies Record<string, OptionFields>;

/** Throws `options_invalid`. */
export const checkServerOptions = (options: ServerOptions): void => {
  checkOptions(options, fields);
  for (const [name, known] of Object.entries(nestedFields))
    checkOptions(options[name as keyof typeof nestedFields] ?? {}, known, name);
  for (const [index, token] of (options.tokens ?? []).entries()) {
    checkOptions(token, tokenFields, `tokens[${index}]`);
    for (const [name, known] of Object.entries(tokenAmountFields))
      checkOptions(token[name as keyof typeof tokenAmountFields] ?? {}, known, `tokens[${index}].${name}`);
  }
};
