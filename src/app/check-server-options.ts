// Checks server options. A misspelt option would be ignored, and could leave more open than intended.
import { amount, cap, boolean, whole } from '#base/shapes';
import { defaultLimits } from '#headends/http';
import { checkOptions, optionsShape } from '#app/conversations';
import type { OptionFields } from '#app/conversations';
import type { ServerOptions } from './server-options.ts';

const number = cap(amount());

/** The tokens are checked with the agents that are served. */
const fields = {
  agents: 'texts',
  tokens: 'any',
  host: 'text',
  port: whole(0, 65_535),
  expose: 'flag',
  hosts: 'texts',
  origins: 'texts',
  slots: optionsShape({ running: number, runningPerAgent: number, waiting: number, waitingPerCaller: number }),
  clients: optionsShape({ system: boolean(), tools: boolean(), activity: boolean() }),
  clientToolMs: number,
  limits: optionsShape(Object.fromEntries(Object.keys(defaultLimits).map((name) => [name, number]))),
  log: 'any',
  clock: 'any',
  ids: 'any',
} as const satisfies Record<keyof ServerOptions, OptionFields[string]>;

/** Throws `options_invalid`. */
export const checkServerOptions = (options: ServerOptions): void => checkOptions(options, fields);
