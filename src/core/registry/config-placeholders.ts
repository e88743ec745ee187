// `${VAR}` and `${VAR:-default}` in the operator's config; `$${` stands for a literal `${`. Filled-in values are not expanded
// again.
import type { Overlay } from '#contracts';

type Placeholder = { readonly name: string; readonly fallback: string | null };

const pattern = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/gu;

export const findPlaceholders = (text: string): readonly Placeholder[] =>
  [...text.matchAll(pattern)].flatMap(([, name, fallback]) =>
    name === undefined ? [] : [{ name, fallback: fallback ?? null }],
  );

/** A variable without a value and without a default becomes empty: callers check for missing variables first. */
export const fillText = (text: string, overlay: Overlay): string =>
  text.replaceAll(pattern, (_, name: string | undefined, fallback: string | undefined) =>
    name === undefined ? '${' : (placeholderValue(overlay, name) ?? fallback ?? ''),
  );

export const placeholderValue = (overlay: Overlay, name: string): string | undefined =>
  Object.hasOwn(overlay, name) ? overlay[name] : undefined;
