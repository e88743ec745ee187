// Values of unknown form, as the checks of a schema look at them and as their messages show them.
import { isObject } from '#base';

export const shown = (value: unknown): string => {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'function') return 'a function';
  if (isObject(value)) return 'an object';
  return typeof value === 'string' ? JSON.stringify(cut(value)) : String(value);
};

export const cut = (text: string): string => (text.length > charsMax ? `${text.slice(0, charsMax)}…` : text);

const charsMax = 120;
