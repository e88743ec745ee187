// Which values are secret: what was filled into a declared field, and what was written into one that holds credentials.
import type { Overlay } from '#contracts';
import { fieldsOf } from './config-fields.ts';
import type { ConfigEntry, ConfigField } from './config-fields.ts';
import { fillText, placeholdersIn, placeholderValue } from './config-placeholders.ts';
import { secretCharsMin } from './redact.ts';

export type Secrets = {
  /** For `makeRedact`. */
  readonly values: readonly string[];
  /** Variables, or fields of the config, whose value is too short to be looked for. */
  readonly tooShort: readonly string[];
};

/** `declared`: the providers and servers of one session, each with its name for messages; `plain`: variables that are not secret. */
export const secretsOf = (
  declared: readonly (readonly [name: string, config: ConfigEntry])[],
  overlay: Overlay,
  plain: readonly string[],
): Secrets => {
  const values = new Set<string>();
  const tooShort = new Set<string>();
  const note = (label: string, found: readonly string[]): void => {
    const long = found.flatMap(partsOf).filter((value) => !isGuessable(value));
    for (const value of long) values.add(value);
    if (long.length === 0 && found.some((value) => value !== '')) tooShort.add(label);
  };
  for (const [name, config] of declared)
    for (const field of fieldsOf(config)) {
      for (const { name: variable } of placeholdersIn(field.text))
        if (!plain.includes(variable)) note(variable, [placeholderValue(overlay, variable) ?? '']);
      note(`${name}.${field.label}`, writtenOut(field, overlay));
    }
  return { values: [...values], tooShort: [...tooShort] };
};

/** What of a field's credentials its author wrote out, defaults that are used among it. */
const writtenOut = ({ text, credentials }: ConfigField, overlay: Overlay): readonly string[] => {
  const fromOverlay = Object.fromEntries(Object.keys(overlay).map((name) => [name, notWritten]));
  return credentials(fillText(text, fromOverlay)).filter((value) => !value.includes(notWritten));
};

/** In no value of an environment. */
const notWritten = '\0';

/** Clients trim what they send, and a value of several lines may be told a line at a time. */
const partsOf = (value: string): readonly string[] => [
  value,
  value.trim(),
  ...value.split('\n').map((line) => line.trim()),
];

/** Where it is replaced, whoever lists all values would see which one it is. */
const isGuessable = (value: string): boolean =>
  value.trim().length < secretCharsMin || (value.length < digitsMin && /^\d+$/u.test(value.trim()));

const digitsMin = 16;
