import { isObject } from '#base';
import type { Shape, ShapeForm } from './shape.ts';

/** Whether a value is of the type of this shape, right or wrong in itself. Decides between alternatives. */
export const isOfType = (shape: Shape, value: unknown): boolean => {
  switch (shape.is) {
    case 'text':
      return typeof value === 'string';
    case 'number':
      return typeof value === 'number';
    case 'flag':
      return typeof value === 'boolean';
    case 'choice':
      return value === null
        ? shape.of.includes(null)
        : typeof value === 'string' && shape.of.some((one) => one !== null);
    case 'json':
      return true;
    case 'value':
      return shape.fits(value);
    case 'list':
      return Array.isArray(value) || (shape.single === true && isOfType(shape.of, value));
    case 'map':
      return isObject(value);
    case 'object':
      return isObject(value) || (shape.short !== undefined && isOfType(shape.fields[shape.short]!, value));
    case 'either':
      return shape.of.some((one) => isOfType(one, value));
  }
};

/** Whether a value without parts of its own fits. `inCode`: Infinity means no cap. */
export const fitsLeaf = (
  shape: Exclude<ShapeForm, { is: 'list' | 'map' | 'object' | 'either' }>,
  value: unknown,
  inCode: boolean,
): boolean => {
  switch (shape.is) {
    case 'text':
      if (typeof value !== 'string' || (shape.pattern !== undefined && !regexOf(shape.pattern).test(value)))
        return false;
      return shape.never === undefined || !regexOf(shape.never).test(value);
    case 'number':
      if (value === Infinity && inCode && shape.cap === true) return true;
      if (typeof value !== 'number' || !(value >= shape.min && value <= shape.max)) return false;
      return shape.whole ? Number.isInteger(value) : Number.isFinite(value);
    case 'flag':
      return typeof value === 'boolean';
    case 'choice':
      return shape.of.includes(value as string);
    case 'json':
      return !['undefined', 'function', 'symbol', 'bigint'].includes(typeof value);
    case 'value':
      return shape.fits(value);
  }
};

const regexes = new Map<string, RegExp>();

const regexOf = (source: string): RegExp => {
  let regex = regexes.get(source);
  if (regex === undefined) regexes.set(source, (regex = new RegExp(source, 'u')));
  return regex;
};
