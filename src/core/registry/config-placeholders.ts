// `${VAR}` and `${VAR:-default}` in what the operator wrote; `$${` stands for `${` itself. What is filled in is not looked
// into again.
import type { Overlay } from '#contracts';

export type Placeholder = { readonly name: string; readonly fallback: string | null };

const pattern = /\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/gu;

export const placeholdersIn = (text: string): readonly Placeholder[] =>
  [...text.matchAll(pattern)].flatMap(([, name, fallback]) =>
    name === undefined ? [] : [{ name, fallback: fallback ?? null }],
  );

/** A variable that is neither in the overlay nor has a default stays out: who asks has looked for those before. */
export const fillText = (text: string, overlay: Overlay): string =>
  text.replaceAll(pattern, (_, name: string | undefined, fallback: string | undefined) =>
    name === undefined ? '${' : (placeholderValue(overlay, name) ?? fallback ?? ''),
  );

export const placeholderValue = (overlay: Overlay, name: string): string | undefined =>
  Object.hasOwn(overlay, name) ? overlay[name] : undefined;
