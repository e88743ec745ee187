// Built-in providers, which need at most an API key. They are the lowest config layer.
import type { ProviderConfig } from '#contracts';

/** Google's key is read only from `GOOGLE_API_KEY`; the config can name another variable. */
export const builtinProviders = {
  openai: { type: 'openai', apiKey: '${OPENAI_API_KEY}', baseUrl: 'https://api.openai.com/v1' },
  anthropic: { type: 'anthropic', apiKey: '${ANTHROPIC_API_KEY}', baseUrl: 'https://api.anthropic.com/v1' },
  google: {
    type: 'google',
    apiKey: '${GOOGLE_API_KEY}',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  },
  openrouter: { type: 'openrouter', apiKey: '${OPENROUTER_API_KEY}', baseUrl: 'https://openrouter.ai/api/v1' },
  ollama: { type: 'ollama', baseUrl: 'http://127.0.0.1:11434/v1' },
} as const satisfies Readonly<Record<string, ProviderConfig>>;

/** Whether requests go to the vendor itself. Another address may have other models. */
export const hasUsualAddress = ({ type, baseUrl }: ProviderConfig): boolean =>
  (Object.values(builtinProviders) as readonly ProviderConfig[]).some(
    (one) => one.type === type && one.baseUrl === baseUrl,
  );

/** Fills in missing fields from the built-in provider of the same type. */
export const withBuiltin = (config: ProviderConfig): ProviderConfig => ({
  ...(Object.values(builtinProviders) as readonly ProviderConfig[]).find(({ type }) => type === config.type),
  ...config,
});
