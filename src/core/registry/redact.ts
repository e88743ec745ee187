// Takes secrets out of everything that is recorded or shown, by their values.
//
//   R1. No form of a secret that `formsOf` lists is left, wherever a stream was cut.
//   R2. What holds no secret stays what it is, to the byte.
//   R3. Redacting twice is redacting once: a mark that is there already is never looked into, nor joined with its neighbours.
import type { Json } from '#base';
import type { Redact } from '#contracts';
import { formsOf } from './redact-forms.ts';
import { redactJson } from './redact-json.ts';
import { buildMachine, patternUnitsMin } from './redact-machine.ts';
import type { Machine } from './redact-machine.ts';
import { RegionStream, replaceAll } from './redact-regions.ts';

/** Shorter values would be found in ordinary words. */
export const secretCharsMin = patternUnitsMin;

const mark = '[redacted]';

/** Null when there is nothing to look for. */
export const makeRedact = (secrets: readonly string[]): Redact | null => {
  const values = [...new Set(secrets)].filter((secret) => secret.length >= secretCharsMin);
  // A value that holds the mark itself is looked for in its parts: see R3.
  const forms = values.flatMap(formsOf).flatMap((form) => form.split(mark));
  const patterns = [...new Set(forms)].filter((form) => form.length >= patternUnitsMin);
  // probe: redact-nothing
  if (patterns.length === 0) return null;

  const machine = buildMachine(patterns);
  const text = (whole: string): string => redactText(machine, whole);
  const overBytes = once(() => (patterns.every(isAscii) ? machine : buildMachine(patterns.map(unitPerByte))));
  return Object.freeze({
    text,
    json: <T extends Json>(value: T): T => redactJson(value, text),
    bytes: (bytes: Uint8Array): Uint8Array => redactBytes(overBytes(), bytes),
    stream: () => openStream(machine),
  });
};

const redactText = (machine: Machine, text: string): string => {
  if (text.length < patternUnitsMin) return text;
  if (!text.includes(mark)) return replaceAll(machine, text, mark);
  return text
    .split(mark)
    .map((part) => replaceAll(machine, part, mark))
    .join(mark);
};

/** Byte by byte, so that what is not UTF-8 is searched too and stays as it is. */
const redactBytes = (machine: Machine, bytes: Uint8Array): Uint8Array => {
  const before = unitsOf(bytes);
  const after = redactText(machine, before);
  return after === before ? bytes : new Uint8Array(Buffer.from(after, 'latin1'));
};

const openStream = (machine: Machine): ReturnType<Redact['stream']> => {
  const regions = new RegionStream(machine, mark);
  let tail = '';
  return {
    push: (piece) => {
      const parts = (tail + piece).split(mark);
      const last = parts.pop()!;
      tail = markBegun(last);
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

/** The end of a text that may be the beginning of a mark. */
const markBegun = (text: string): string => {
  const end = text.slice(Math.max(0, text.lastIndexOf(mark.charAt(0))));
  return end.length < mark.length && mark.startsWith(end) ? end : '';
};

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/u.test(text);

const unitPerByte = (text: string): string => unitsOf(new TextEncoder().encode(text));

const unitsOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');

const once = <T>(make: () => T): (() => T) => {
  let made: { readonly value: T } | null = null;
  return () => (made ??= { value: make() }).value;
};
