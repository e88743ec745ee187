// The environment variables that one session sees: only those its providers and servers name. Nothing else reads the environment.
import type { ConfigLayer, Overlay } from '#contracts';
import { requiredVariables, listVariables } from './config-fields.ts';
import type { ConfigEntry } from './config-fields.ts';

type BuiltOverlay = { readonly overlay: Overlay; readonly missing: readonly string[] };

/** Looks for each variable in the `env` blocks in order, then in the sidecars in order; the last sidecar is the process environment. */
export const buildOverlay = (names: readonly string[], layers: readonly ConfigLayer[]): BuiltOverlay => {
  const sources = [...layers.map(({ env }) => env), ...layers.map(({ sidecar }) => sidecar)];
  const overlay = Object.create(null) as Record<string, string>;
  const missing = new Set<string>();
  for (const name of names) {
    const source = sources.find((values) => isSet(values, name));
    if (source === undefined) missing.add(name);
    else overlay[name] = source[name]!;
  }
  return { overlay: Object.freeze(overlay), missing: [...missing] };
};

/** The overlay of a session with these providers and servers. A variable with a default in every place is never missing. */
export const overlayFor = (entries: readonly ConfigEntry[], layers: readonly ConfigLayer[]): BuiltOverlay => {
  const { overlay, missing } = buildOverlay(entries.flatMap(listVariables), layers);
  const required = new Set(entries.flatMap(requiredVariables));
  return { overlay, missing: missing.filter((name) => required.has(name)) };
};

export const missingVariablesMessage = (names: readonly string[]): string =>
  `Missing: ${names.join(', ')}; define in shell or .ai-agent.env`;

/** Empty counts as not set: shells and containers pass undefined variables on as empty ones. */
const isSet = (values: Readonly<Record<string, string>>, name: string): boolean =>
  Object.hasOwn(values, name) && values[name] !== '';
