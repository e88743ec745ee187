// The arguments of a call in its step file: always an object, also if the log holds only the beginning of their text.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';

/** `args`: as recorded; if it was cut, a text that ends with `…`. Text that is not an object is under the key `input`. */
export const minimalArgs = (args: Json | undefined, isCut: boolean): JsonObject => {
  if (typeof args !== 'string') return isObject(args) ? args : {};
  if (args.trim() === '') return {};
  return parseObject(isCut ? closeJson(args.slice(0, -1)) : args) ?? { input: args };
};

const parseObject = (text: string): JsonObject | null => {
  try {
    const value = JSON.parse(text) as Json;
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
};

/** What is whole in the beginning of a JSON text, and the beginning of the text value that it was cut in. */
const closeJson = (cut: string): string => {
  let closers = '';
  let isInText = false;
  /** The text up to the newest comma, closed. */
  let whole = cut.trimStart().startsWith('{') ? '{}' : '';
  for (let at = 0; at < cut.length; at++) {
    const char = cut[at]!;
    if (char === '"') isInText = !isInText;
    else if (isInText && char === '\\') at++;
    else if (isInText) continue;
    else if (char === '{' || char === '[') closers = (char === '{' ? '}' : ']') + closers;
    else if (char === '}' || char === ']') closers = closers.slice(1);
    else if (char === ',') whole = cut.slice(0, at) + closers;
  }
  if (!isInText) return whole;
  // Not within an escape or a surrogate pair.
  const text = `${cut.replace(/\\(?:u[\da-f]{0,3})?$/iu, '').toWellFormed()}…"${closers}`;
  return parseObject(text) === null ? whole : text;
};
