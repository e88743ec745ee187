// Schemas for each kind of entry in an `.ai-agent.json`. Loaded only when there is such a file.
import { z } from 'zod';
import { isName } from '#base';
import type { ModelFacts, Price, ProviderConfig, ServerConfig, SpawnCaps } from '#contracts';

const placeholder = /\$\$\{|\$\{[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\}/gu;

/** May contain `${VAR}`. */
const expandable = z.string().refine((text) => !text.replaceAll(placeholder, ' ').includes('${'), {
  error: '`${` must be part of `${VAR}` or `${VAR:-default}`; write `$${` for a literal `${`.',
});

const notExpanded = { error: 'variables are not expanded here; write the value itself.' };
const literalText = z
  .string()
  .min(1)
  .refine((text) => !text.includes('${'), notExpanded);

const urlWith = (...schemes: readonly string[]) =>
  expandable.refine((text) => text.includes('${') || (URL.canParse(text) && schemes.includes(new URL(text).protocol)), {
    error: `expected a URL that starts with ${schemes.map((scheme) => `${scheme}//`).join(' or ')}.`,
  });

const httpUrl = urlWith('http:', 'https:');

const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/u, { error: 'not a valid header name.' });
const headers = z
  .record(
    headerName,
    expandable.refine((text) => !/[\r\n\0]/u.test(text), { error: 'a header value must be a single line.' }),
  )
  .optional();

const variableName = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/u, { error: 'expected a variable name: letters, digits and _.' });

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
  structuredOutput: z.boolean().optional(),
}) satisfies z.ZodType<ModelFacts>;

const models = z.record(z.string(), modelFacts).optional();
const vendorKeys = { models, apiKey: expandable.optional(), headers };

/** By type, so that a key of another type is refused. */
export const providerSchemas: Readonly<Record<ProviderConfig['type'], z.ZodType<ProviderConfig>>> = {
  openai: z.strictObject({
    type: z.literal('openai'),
    baseUrl: httpUrl.optional(),
    ...vendorKeys,
    api: z.enum(['responses', 'chat']).optional(),
  }),
  anthropic: z.strictObject({ type: z.literal('anthropic'), baseUrl: httpUrl.optional(), ...vendorKeys }),
  google: z.strictObject({ type: z.literal('google'), baseUrl: httpUrl.optional(), ...vendorKeys }),
  openrouter: z.strictObject({ type: z.literal('openrouter'), baseUrl: httpUrl.optional(), ...vendorKeys }),
  ollama: z.strictObject({ type: z.literal('ollama'), baseUrl: httpUrl.optional(), ...vendorKeys }),
  'openai-compatible': z.strictObject({ type: z.literal('openai-compatible'), baseUrl: httpUrl, ...vendorKeys }),
  rehearsal: z.strictObject({ type: z.literal('rehearsal'), models, script: literalText.optional() }),
};

const commonKeys = {
  enabled: z.boolean().optional(),
  trusted: z.boolean().optional(),
  untrustedText: z.boolean().optional(),
  tools: z.array(z.string().min(1)).optional(),
  connectTimeoutMs: count.optional(),
};

const environment = z
  .record(
    z.string().regex(/^[^=\0]+$/u, { error: 'not a valid variable name.' }),
    expandable.refine((text) => !text.includes('\0'), { error: 'a variable cannot contain a NUL character.' }),
  )
  .optional();

export const serverSchemas: Readonly<Record<ServerConfig['type'], z.ZodType<ServerConfig>>> = {
  stdio: z.strictObject({
    type: z.literal('stdio'),
    command: literalText,
    args: z.array(expandable).optional(),
    env: environment,
    cwd: literalText.optional(),
    ...commonKeys,
  }),
  http: z.strictObject({ type: z.literal('http'), url: httpUrl, headers, ...commonKeys }),
  sse: z.strictObject({ type: z.literal('sse'), url: httpUrl, headers, ...commonKeys }),
  websocket: z.strictObject({ type: z.literal('websocket'), url: urlWith('ws:', 'wss:'), headers, ...commonKeys }),
  module: z.strictObject({ type: z.literal('module'), module: literalText, ...commonKeys }),
};

/** The parts of a file besides providers and servers. */
export const partSchemas = {
  defaults: z.record(z.string(), z.unknown()),
  agents: z.array(z.string().min(1)),
  defaultAgent: z.string().refine(isName, { error: 'expected an agent name, which is its file name without `.ai`.' }),
  env: z.record(
    variableName,
    z.string().refine((text) => !/\$\{|\0/u.test(text), notExpanded),
  ),
  plain: z.array(variableName),
  spawns: z.strictObject({
    children: cap.optional(),
    perMinute: cap.optional(),
    depth: cap.optional(),
  }) satisfies z.ZodType<Partial<SpawnCaps>>,
};
