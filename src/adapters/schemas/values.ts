// Describes unknown values for the messages of schema checks.
import { isObject } from '#base';

export const describeValue = (value: unknown): string => {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'function') return 'a function';
  if (isObject(value)) return 'an object';
  return typeof value === 'string' ? JSON.stringify(truncateChars(value)) : String(value);
};

export const truncateChars = (text: string): string => (text.length > charsMax ? `${text.slice(0, charsMax)}…` : text);

const charsMax = 120;

/** As JSON, cut to a length that fits into a message. It is written once, and only when it is first needed. */
export const showLater = (value: unknown): (() => string) => {
  let shown: string | null = null;
  return () => {
    if (shown === null) {
      const text = JSON.stringify(value);
      shown = text.length > jsonCharsMax ? `${text.slice(0, jsonCharsMax)}…` : text;
    }
    return shown;
  };
};

const jsonCharsMax = 500;
