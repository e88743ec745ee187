// Collects secret values: those filled into config fields from variables, and those written literally into credential fields.
import type { Overlay } from '#contracts';
import { configFields, fillText, findPlaceholders, placeholderValue } from './config-fields.ts';
import type { ConfigEntry, ConfigField } from './config-fields.ts';
import { secretCharsMin } from './redact.ts';
import { splitWords, strongParts } from './secret-strength.ts';

export type Secrets = {
  /** What is searched for in the cells of the session. */
  readonly own: readonly string[];
  /** What is searched for everywhere: nobody can guess it. */
  readonly strong: readonly string[];
  /** Variables or config fields whose value can be guessed. */
  readonly weak: readonly string[];
  /** Variables or config fields whose value is too short to be searched for. */
  readonly tooShort: readonly string[];
};

/** `entries`: the providers and servers of one session, each with its name for messages; `plain`: variables that are not secret. */
export const collectSecrets = (
  entries: readonly (readonly [name: string, config: ConfigEntry])[],
  overlay: Overlay,
  plain: readonly string[],
): Secrets => {
  const own = new Set<string>();
  const strong = new Set<string>();
  const weak = new Set<string>();
  const tooShort = new Set<string>();
  const addSecret = (label: string, found: readonly string[]): void => {
    const long = found
      .flatMap(shownParts)
      .flatMap(unbroken)
      .filter((value) => !isTooShort(value));
    const unguessable = found.flatMap(strongParts);
    for (const value of [...long, ...unguessable]) own.add(value);
    for (const value of unguessable) strong.add(value);
    if (long.length === 0 && found.some((value) => value !== '')) tooShort.add(label);
    else if (long.length > 0 && unguessable.length === 0) weak.add(label);
  };
  for (const [name, config] of entries)
    for (const field of configFields(config)) {
      for (const { name: variable } of findPlaceholders(field.text))
        if (!plain.includes(variable)) addSecret(variable, [placeholderValue(overlay, variable) ?? '']);
      addSecret(`${name}.${field.label}`, literalCredentials(field, overlay));
    }
  return { own: [...own], strong: [...strong], weak: [...weak], tooShort: [...tooShort] };
};

/** The credentials of a field that the config contains literally, including defaults that are used. */
const literalCredentials = ({ text, credentials }: ConfigField, overlay: Overlay): readonly string[] => {
  const fromOverlay = Object.fromEntries(Object.keys(overlay).map((name) => [name, overlayMarker]));
  return credentials(fillText(text, fromOverlay)).filter((value) => !value.includes(overlayMarker));
};

/** Cannot occur in an environment variable. */
const overlayMarker = '\0';

/** Clients trim what they send, and a multi-line value may be shown one line at a time. */
const shownParts = (value: string): readonly string[] => [
  value,
  value.trim(),
  ...value.split('\n').map((line) => line.trim()),
];

/** A strong line is searched for word by word, because streams hold back words: they must not show how far a text agrees with it. */
const unbroken = (value: string): readonly string[] => {
  if (strongParts(value).length === 0) return [value];
  return value.includes('\n') ? [] : splitWords(value);
};

/** It would match ordinary text, or be found out at once by listing all numbers. */
const isTooShort = (value: string): boolean =>
  value.trim().length < secretCharsMin || (value.length < digitsMin && /^\d+$/u.test(value.trim()));

const digitsMin = 16;
