// Removes secret values from everything that is recorded or shown.
//
//   redact-every-form. No form of a secret that `encodedForms` lists is left, wherever a stream is split.
//   redact-keeps-other-text. Text without a secret stays byte for byte the same.
//   redact-idempotent. An existing mark is never searched, nor joined with the text around it.
import type { Json } from '#base';
import type { Redact } from '#contracts';
import { encodedForms } from './redact-forms.ts';
import { buildMachine, patternUnitsMin } from './redact-machine.ts';
import type { Machine } from './redact-machine.ts';
import { RegionStream, replaceAll } from './redact-regions.ts';

/** Shorter values would match ordinary text. */
export const secretCharsMin = patternUnitsMin;

const mark = '[redacted]';

/** The machines for a set of secrets: one for text, and one for bytes. */
export type SecretPatterns = { readonly text: Machine; readonly bytes: () => Machine };

/** Null if there is nothing to search for. */
export const compileSecrets = (secrets: readonly string[]): SecretPatterns | null => {
  const values = [...new Set(secrets)].filter((secret) => secret.length >= secretCharsMin);
  // A value that contains the mark is searched for in its parts: see `redact-idempotent`.
  const forms = values.flatMap(encodedForms).flatMap((form) => form.split(mark));
  const patterns = [...new Set(forms)].filter((form) => form.length >= patternUnitsMin);
  // probe: redact-nothing
  if (patterns.length === 0) return null;

  const text = buildMachine(patterns);
  const bytes = lazy(() => (patterns.every(isAscii) ? text : buildMachine(patterns.map(unitPerByte))));
  return { text, bytes };
};

export const makeRedact = (secrets: readonly string[]): Redact | null => redactPatterns([compileSecrets(secrets)]);

/** Searches for all these sets at once, so that nothing is left of two secrets that overlap. Null if all sets are empty. */
export const redactPatterns = (given: readonly (SecretPatterns | null)[]): Redact | null => {
  const patterns = given.filter((one) => one !== null);
  if (patterns.length === 0) return null;
  const machines = patterns.map(({ text }) => text);
  const text = (whole: string): string => redactText(machines, whole);
  const byteMachines = lazy(() => patterns.map(({ bytes }) => bytes()));
  return Object.freeze({
    text,
    json: <T extends Json>(value: T): T => redactJson(value, text),
    bytes: (bytes: Uint8Array): Uint8Array => redactBytes(byteMachines(), bytes),
    stream: () => openStream(machines),
  });
};

const redactText = (machines: readonly Machine[], text: string): string => {
  if (text.length < patternUnitsMin) return text;
  if (!text.includes(mark)) return replaceAll(machines, text, mark);
  return text
    .split(mark)
    .map((part) => replaceAll(machines, part, mark))
    .join(mark);
};

/** Byte by byte, so that invalid UTF-8 is searched too and stays unchanged. */
const redactBytes = (machines: readonly Machine[], bytes: Uint8Array): Uint8Array => {
  const before = unitsOf(bytes);
  const after = redactText(machines, before);
  return after === before ? bytes : new Uint8Array(Buffer.from(after, 'latin1'));
};

const openStream = (machines: readonly Machine[]): ReturnType<Redact['stream']> => {
  const regions = new RegionStream(machines, mark);
  let tail = '';
  return {
    push: (piece) => {
      const parts = (tail + piece).split(mark);
      const last = parts.pop()!;
      tail = partialMark(last);
      const settled = parts.map((part) => regions.push(part) + regions.end() + mark).join('');
      return settled + regions.push(last.slice(0, last.length - tail.length));
    },
    end: () => {
      const rest = regions.push(tail) + regions.end();
      tail = '';
      return rest;
    },
  };
};

/** The end of a text that may be the start of a mark. */
const partialMark = (text: string): string => {
  const end = text.slice(Math.max(0, text.lastIndexOf(mark.charAt(0))));
  return end.length < mark.length && mark.startsWith(end) ? end : '';
};

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/u.test(text);

const unitPerByte = (text: string): string => unitsOf(new TextEncoder().encode(text));

const unitsOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');

const lazy = <T>(make: () => T): (() => T) => {
  let cached: { readonly value: T } | null = null;
  return () => (cached ??= { value: make() }).value;
};

// Redacts every string in a JSON value, including keys. It is not recursive, because the depth of a value is untrusted.

type Container = Json[] | Record<string, Json | undefined>;

/** Returns the same value if nothing changes. */
const redactJson = <T extends Json>(value: T, redact: (text: string) => string): T =>
  isClean(value, redact) ? value : (redactedCopy(value, redact) as T);

const isClean = (value: Json, redact: (text: string) => string): boolean => {
  const left: (Json | undefined)[] = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one === 'string' && redact(one) !== one) return false;
    if (one === null || typeof one !== 'object') continue;
    if (!Array.isArray(one) && Object.keys(one).some((key) => redact(key) !== key)) return false;
    for (const part of Object.values(one)) left.push(part as Json | undefined);
  }
  return true;
};

const redactedCopy = (value: Json, redact: (text: string) => string): Json => {
  const left: { readonly from: object; readonly to: Container }[] = [];
  const startCopy = (one: Json | undefined): Json | undefined => {
    if (typeof one === 'string') return redact(one);
    if (one === null || typeof one !== 'object') return one;
    const to: Container = Array.isArray(one) ? [] : {};
    left.push({ from: one, to });
    return to;
  };
  const root = startCopy(value) as Json;
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { from, to } = next;
    if (Array.isArray(to)) for (const item of from as readonly Json[]) to.push(startCopy(item) as Json);
    else for (const [key, item] of Object.entries(from)) addKey(to, redact(key), startCopy(item as Json));
  }
  return root;
};

/** If two keys are redacted to the same text, both are kept. `__proto__` is a key like any other. */
const addKey = (object: Record<string, Json | undefined>, key: string, value: Json | undefined): void => {
  let name = key;
  for (let number = 2; Object.hasOwn(object, name); number++) name = `${key} ${number}`;
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
};
