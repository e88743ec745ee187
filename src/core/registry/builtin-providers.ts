// Built-in providers, which need at most an API key. They are the lowest config layer.
import { vendorList } from '#contracts';
import type { ProviderConfig } from '#contracts';

export const builtinProviders: Readonly<Record<string, ProviderConfig>> = Object.fromEntries(
  vendorList.flatMap(({ type, baseUrl, key }) =>
    baseUrl === undefined ? [] : [[type, { type, ...(key === undefined ? {} : { apiKey: `\${${key}}` }), baseUrl }]],
  ),
);

/** Whether requests go to the vendor itself. Another address may have other models. */
export const hasUsualAddress = ({ type, baseUrl }: ProviderConfig): boolean =>
  baseUrl !== undefined && builtinProviders[type]?.baseUrl === baseUrl;

/** Fills in missing fields from the built-in provider of the same type. */
export const withBuiltin = (config: ProviderConfig): ProviderConfig => ({
  ...builtinProviders[config.type],
  ...config,
});
