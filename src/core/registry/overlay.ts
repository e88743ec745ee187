// The environment that one session sees: only the variables its providers and servers name, and nothing else reads one.
import type { ConfigLayer, Overlay } from '#contracts';
import { requiredOf, variablesOf } from './config-fields.ts';
import type { ConfigEntry } from './config-fields.ts';

export type BuiltOverlay = { readonly overlay: Overlay; readonly missing: readonly string[] };

/** Each from the `env` blocks in order, then from the sidecars in order, of which the last is the process environment. */
export const buildOverlay = (names: readonly string[], layers: readonly ConfigLayer[]): BuiltOverlay => {
  const places = [...layers.map(({ env }) => env), ...layers.map(({ sidecar }) => sidecar)];
  const overlay = Object.create(null) as Record<string, string>;
  const missing = new Set<string>();
  for (const name of names) {
    const place = places.find((values) => isSet(values, name));
    if (place === undefined) missing.add(name);
    else overlay[name] = place[name]!;
  }
  return { overlay: Object.freeze(overlay), missing: [...missing] };
};

/** For a session with these providers and servers. A variable that has a default wherever it is named is never missing. */
export const overlayFor = (declared: readonly ConfigEntry[], layers: readonly ConfigLayer[]): BuiltOverlay => {
  const { overlay, missing } = buildOverlay(declared.flatMap(variablesOf), layers);
  const required = new Set(declared.flatMap(requiredOf));
  return { overlay, missing: missing.filter((name) => required.has(name)) };
};

export const missingMessage = (names: readonly string[]): string =>
  `Missing: ${names.join(', ')}; define in shell or .ai-agent.env`;

/** Empty counts as not set: that is how shells and containers hand on what nobody defined. */
const isSet = (values: Readonly<Record<string, string>>, name: string): boolean =>
  Object.hasOwn(values, name) && values[name] !== '';
