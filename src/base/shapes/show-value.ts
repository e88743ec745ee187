import { isObject } from '#base';

/** A short description of a value of any size. */
export const showValue = (value: unknown): string => {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 59)}…` : value);
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'function') return 'a function';
  if (isObject(value)) return 'an object';
  return typeof value === 'symbol' ? 'a symbol' : `${value as number | boolean | bigint | null}`;
};
