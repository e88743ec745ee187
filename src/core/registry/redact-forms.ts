// The encodings in which programs may write a secret. Equal forms are searched for once, so an ordinary key of letters and
// digits has about a dozen.

/** For longer values, such as whole documents, only the common forms are used: all forms together are 60 times as long as the value. */
const everyFormUnitsMax = 4096;

export const encodedForms = (value: string): readonly string[] => {
  const encoded = [...new Set(base64Forms(bytesOf(value)))];
  const escaped = escapeJson(value, minimal);
  const forms = [value, escaped, escapeJson(escaped, minimal), ...encoded];
  if (value.length <= everyFormUnitsMax) forms.push(...rareForms(value, encoded));
  return [...new Set(forms)];
};

const rareForms = (value: string, encoded: readonly string[]): string[] => {
  const forms = [...hexForms(bytesOf(value)), ...spelledForms(value)];
  if (!isPlain(value)) {
    const escaped = jsonForms(value);
    forms.push(...escaped, ...escaped.map((form) => escapeJson(form, minimal)), ...htmlForms(value));
    forms.push(...urlForms(value), ...urlForms(escapeJson(value, minimal)));
  }
  for (const form of encoded)
    if (!isPlain(form))
      forms.push(...base64Unsafe.flatMap((unsafe) => urlCases(form, unsafe)), escapeJson(form, withSlash));
  return forms;
};

/** Characters that no text encoder changes. */
const isPlain = (text: string): boolean => /^[\w\-.]*$/u.test(text);

const encoder = new TextEncoder();

const bytesOf = (text: string): Uint8Array => encoder.encode(text);

const hex = (byte: number): string => byte.toString(16).padStart(2, '0');

const hexForms = (bytes: Uint8Array): string[] => {
  const text = Array.from(bytes, hex).join('');
  return [text, text.toUpperCase()];
};

/** The value alone, and as part of a longer encoded text, where only the middle of its encoding is always the same. */
const base64Forms = (bytes: Uint8Array): string[] =>
  // probe: base64-offsets
  [0, 1, 2].flatMap((before) => {
    const shifted = new Uint8Array(before + bytes.length);
    shifted.set(bytes, before);
    const padded = base64(shifted).slice(Math.ceil((before * 8) / 6));
    const whole = padded.replace(/=+$/u, '');
    const middle = (shifted.length * 8) % 6 === 0 ? whole : whole.slice(0, -1);
    return [middle, whole, padded].flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]);
  });

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

const base64 = (bytes: Uint8Array): string => {
  let text = '';
  for (let at = 0; at < bytes.length; at += 3) {
    const three = (bytes[at]! << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    for (let digit = 0; digit < 4; digit++)
      text += at + digit <= bytes.length ? digits[(three >> (18 - 6 * digit)) & 63]! : '=';
  }
  return text;
};

/** The characters that encoders escape: `encodeURIComponent`, HTML forms, RFC 3986, RFC 3986 except slashes, `encodeURI`. */
const urlUnsafe = [/[^\w\-.!~*'()]/gu, /[^\w\-.*]/gu, /[^\w\-.~]/gu, /[^\w\-.~/]/gu, /[^\w\-.!~*'();/?:@&=+$,#]/gu];

const base64Unsafe = [/[+/=]/gu, /[+=]/gu];

const urlForms = (text: string): string[] =>
  urlUnsafe.flatMap((unsafe) => urlCases(text, unsafe)).flatMap((form) => [form, form.replaceAll('%20', '+')]);

const urlCases = (text: string, unsafe: RegExp): string[] => {
  const form = escapeUrl(text, unsafe);
  return [form, lowerUrl(form)];
};

const escapeUrl = (text: string, unsafe: RegExp): string => text.replaceAll(unsafe, percent);

const percent = (character: string): string =>
  character < '\x80'
    ? `%${hex(character.charCodeAt(0)).toUpperCase()}`
    : Array.from(bytesOf(character), (byte) => `%${hex(byte).toUpperCase()}`).join('');

const lowerUrl = (text: string): string => text.replaceAll(/%[0-9A-F]{2}/gu, (escape) => escape.toLowerCase());

type JsonStyle = {
  readonly slash?: true;
  readonly upper?: true;
  /** Characters written as `\u…` in addition to control characters. */
  readonly unicode?: RegExp;
};

/** Like `JSON.stringify`. */
const minimal: JsonStyle = {};
/** Like PHP, which also escapes slashes. */
const withSlash: JsonStyle = { slash: true };

/** Everything but ASCII; HTML characters, in two variants; both of these; and the set of .NET. */
const jsonUnicode = [/[^\0-\x7e]/u, /[<>&']/u, /[<>&'\u2028\u2029]/u, /[<>&']|[^\0-\x7e]/u, /[<>&'"+`]|[^\0-\x7e]/u];

const jsonForms = (text: string): string[] =>
  [minimal, ...jsonUnicode.map((unicode) => ({ unicode }))].flatMap((style) =>
    [style, { ...style, ...withSlash }].flatMap((chosen) => [
      escapeJson(text, chosen),
      escapeJson(text, { ...chosen, upper: true }),
    ]),
  );

const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

const escapeJson = (text: string, style: JsonStyle): string =>
  text.replaceAll(/\W/gu, (character) => {
    if (style.unicode?.test(character) === true) return escapeUnits(character, style);
    if (character === '/' && style.slash === true) return '\\/';
    return shortEscapes[character] ?? (character < ' ' ? escapeUnits(character, style) : character);
  });

const escapeUnits = (character: string, style: JsonStyle): string =>
  character
    .split('')
    .map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'))
    .map((code) => `\\u${style.upper === true ? code.toUpperCase() : code}`)
    .join('');

const htmlQuotes = [
  ['"', "'"],
  ['&quot;', "'"],
  ['&quot;', '&#39;'],
  ['&quot;', '&#x27;'],
  ['&quot;', '&#039;'],
  ['&quot;', '&apos;'],
  ['&#34;', '&#39;'],
] as const;

const htmlForms = (text: string): string[] => {
  const angles = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return htmlQuotes.map(([double, single]) => angles.replaceAll('"', double).replaceAll("'", single));
};

/** Every character escaped, as some encoders do. */
const spelledForms = (value: string): string[] => {
  const bytes = escapeUrl(value, /[\s\S]/gu);
  const units = [escapeUnits(value, {}), escapeUnits(value, { upper: true })];
  return [bytes, lowerUrl(bytes), ...units, ...units.map((form) => escapeJson(form, minimal))];
};
