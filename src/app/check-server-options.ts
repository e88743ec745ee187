// Says what is wrong with the options of a server. One that is misspelt would be passed over, and more be open than was meant.
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
  places: 'options',
  clients: 'options',
  clientToolMs: 'number',
  limits: 'options',
  log: 'any',
  clock: 'any',
  ids: 'any',
} as const satisfies Record<keyof ServerOptions, OptionFields[string]>;

const inner = {
  places: { running: 'number', runningPerAgent: 'number', waiting: 'number', waitingPerCaller: 'number' },
  clients: { system: 'flag', tools: 'flag', activity: 'flag' },
  limits: Object.fromEntries(Object.keys(defaultLimits).map((name) => [name, 'number'])),
} as const satisfies Record<string, OptionFields>;

/** What is in them is looked at where they are taken. */
const entry = {
  name: 'any',
  sha256: 'any',
  agents: 'texts',
  budget: 'options',
  allowance: 'options',
  requestsPerMinute: 'any',
  running: 'any',
  expiresAt: 'any',
} as const satisfies Record<keyof NonNullable<ServerOptions['tokens']>[number], OptionFields[string]>;

const amounts = {
  budget: { tokens: 'any', usd: 'any', spawns: 'any', memory: 'any', ms: 'any' } satisfies Record<keyof Budget, 'any'>,
  allowance: { tokens: 'any', usd: 'any', per: 'any' },
} as const satisfies Record<string, OptionFields>;

/** Throws `options_invalid`. */
export const checkServerOptions = (options: ServerOptions): void => {
  checkOptions(options, fields);
  for (const [name, known] of Object.entries(inner))
    checkOptions(options[name as keyof typeof inner] ?? {}, known, name);
  for (const [place, token] of (options.tokens ?? []).entries()) {
    checkOptions(token, entry, `tokens[${place}]`);
    for (const [name, known] of Object.entries(amounts))
      checkOptions(token[name as keyof typeof amounts] ?? {}, known, `tokens[${place}].${name}`);
  }
};
