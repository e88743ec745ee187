// Collects secret values: those filled into config fields from variables, and those written literally into credential fields.
import type { Overlay } from '#contracts';
import { configFields } from './config-fields.ts';
import type { ConfigEntry, ConfigField } from './config-fields.ts';
import { fillText, findPlaceholders, placeholderValue } from './config-placeholders.ts';
import { secretCharsMin } from './redact.ts';

export type Secrets = {
  /** For `makeRedact`. */
  readonly values: readonly string[];
  /** Variables or config fields whose value is too short to be searched for. */
  readonly tooShort: readonly string[];
};

/** `entries`: the providers and servers of one session, each with its name for messages; `plain`: variables that are not secret. */
export const collectSecrets = (
  entries: readonly (readonly [name: string, config: ConfigEntry])[],
  overlay: Overlay,
  plain: readonly string[],
): Secrets => {
  const values = new Set<string>();
  const tooShort = new Set<string>();
  const addSecret = (label: string, found: readonly string[]): void => {
    const long = found.flatMap(valueParts).filter((value) => !isGuessable(value));
    for (const value of long) values.add(value);
    if (long.length === 0 && found.some((value) => value !== '')) tooShort.add(label);
  };
  for (const [name, config] of entries)
    for (const field of configFields(config)) {
      for (const { name: variable } of findPlaceholders(field.text))
        if (!plain.includes(variable)) addSecret(variable, [placeholderValue(overlay, variable) ?? '']);
      addSecret(`${name}.${field.label}`, literalCredentials(field, overlay));
    }
  return { values: [...values], tooShort: [...tooShort] };
};

/** The credentials of a field that the config contains literally, including defaults that are used. */
const literalCredentials = ({ text, credentials }: ConfigField, overlay: Overlay): readonly string[] => {
  const fromOverlay = Object.fromEntries(Object.keys(overlay).map((name) => [name, overlayMarker]));
  return credentials(fillText(text, fromOverlay)).filter((value) => !value.includes(overlayMarker));
};

/** Cannot occur in an environment variable. */
const overlayMarker = '\0';

/** Clients trim what they send, and a multi-line value may be shown one line at a time. */
const valueParts = (value: string): readonly string[] => [
  value,
  value.trim(),
  ...value.split('\n').map((line) => line.trim()),
];

/** With few possible values, a text that lists all of them would reveal the secret by the one that is replaced. */
const isGuessable = (value: string): boolean =>
  value.trim().length < secretCharsMin || (value.length < digitsMin && /^\d+$/u.test(value.trim()));

const digitsMin = 16;
