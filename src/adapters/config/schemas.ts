// What an `.ai-agent.json` may hold, a schema for each kind of entry. Loaded only when there is such a file.
import { z } from 'zod';
import { isName } from '#base';
import type { ModelFacts, Price, ProviderConfig, ServerConfig, SpawnCaps } from '#contracts';

const placeholder = /\$\$\{|\$\{[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\}/gu;

/** May hold `${VAR}`. */
const filled = z.string().refine((text) => !text.replaceAll(placeholder, ' ').includes('${'), {
  error: '`${` must go on as `${VAR}` or `${VAR:-default}`; write `$${` for the characters themselves.',
});

const notFilled = { error: 'variables are not filled in here; write the value itself.' };
const fixed = z
  .string()
  .min(1)
  .refine((text) => !text.includes('${'), notFilled);

const address = (...schemes: readonly string[]) =>
  filled.refine((text) => text.includes('${') || (URL.canParse(text) && schemes.includes(new URL(text).protocol)), {
    error: `expected an address that begins with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}.`,
  });

const httpAddress = address('http:', 'https:');

const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/u, { error: 'it is not the name of a header.' });
const headers = z
  .record(
    headerName,
    filled.refine((text) => !/[\r\n\0]/u.test(text), { error: 'a header is one line.' }),
  )
  .optional();

const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/u, { error: 'expected the name of a variable: letters, digits and _.' });

const count = z.int().positive();
const cap = z.int().nonnegative();
const usd = z.number().nonnegative();
const rates = { input: usd, output: usd, cacheRead: usd.optional(), cacheWrite: usd.optional() };

const price = z.strictObject({
  ...rates,
  tiers: z.array(z.strictObject({ ...rates, aboveInputTokens: count })).optional(),
}) satisfies z.ZodType<Price>;

const modelFacts = z.strictObject({
  price: price.optional(),
  contextTokens: count.optional(),
  maxOutputTokens: count.optional(),
}) satisfies z.ZodType<ModelFacts>;

const models = z.record(z.string(), modelFacts).optional();
const vendor = { models, apiKey: filled.optional(), headers };

/** By type, so that a key which belongs to another type is refused. */
export const providerSchemas: Readonly<Record<ProviderConfig['type'], z.ZodType<ProviderConfig>>> = {
  openai: z.strictObject({
    type: z.literal('openai'),
    baseUrl: httpAddress.optional(),
    ...vendor,
    api: z.enum(['responses', 'chat']).optional(),
  }),
  anthropic: z.strictObject({ type: z.literal('anthropic'), baseUrl: httpAddress.optional(), ...vendor }),
  google: z.strictObject({ type: z.literal('google'), baseUrl: httpAddress.optional(), ...vendor }),
  openrouter: z.strictObject({ type: z.literal('openrouter'), baseUrl: httpAddress.optional(), ...vendor }),
  ollama: z.strictObject({ type: z.literal('ollama'), baseUrl: httpAddress.optional(), ...vendor }),
  'openai-compatible': z.strictObject({ type: z.literal('openai-compatible'), baseUrl: httpAddress, ...vendor }),
  rehearsal: z.strictObject({ type: z.literal('rehearsal'), models, script: fixed.optional() }),
};

const common = {
  enabled: z.boolean().optional(),
  trusted: z.boolean().optional(),
  untrustedText: z.boolean().optional(),
  tools: z.array(z.string().min(1)).optional(),
  connectTimeoutMs: count.optional(),
};

const environment = z
  .record(
    z.string().regex(/^[^=\0]+$/u, { error: 'it is not the name of a variable.' }),
    filled.refine((text) => !text.includes('\0'), { error: 'a variable cannot hold a NUL character.' }),
  )
  .optional();

export const serverSchemas: Readonly<Record<ServerConfig['type'], z.ZodType<ServerConfig>>> = {
  stdio: z.strictObject({
    type: z.literal('stdio'),
    command: fixed,
    args: z.array(filled).optional(),
    env: environment,
    cwd: fixed.optional(),
    ...common,
  }),
  http: z.strictObject({ type: z.literal('http'), url: httpAddress, headers, ...common }),
  sse: z.strictObject({ type: z.literal('sse'), url: httpAddress, headers, ...common }),
  websocket: z.strictObject({ type: z.literal('websocket'), url: address('ws:', 'wss:'), headers, ...common }),
  module: z.strictObject({ type: z.literal('module'), module: fixed, ...common }),
};

/** The parts of a file besides providers and servers. */
export const partSchemas = {
  defaults: z.record(z.string(), z.unknown()),
  agents: z.array(z.string().min(1)),
  defaultAgent: z.string().refine(isName, { error: 'expected the name of an agent, as of its file without `.ai`.' }),
  env: z.record(
    variableName,
    z.string().refine((text) => !/\$\{|\0/u.test(text), notFilled),
  ),
  plain: z.array(variableName),
  spawns: z.strictObject({
    children: cap.optional(),
    perMinute: cap.optional(),
    depth: cap.optional(),
  }) satisfies z.ZodType<Partial<SpawnCaps>>,
};
