// Compares JSON values, counting steps.
import { isObject } from '#base';
import type { Json } from '#base';
import { charsPerStep, TooCostly } from './check-run.ts';
import type { CheckRun } from './check-run.ts';

const depthMax = 400;

const checkDepth = (depth: number): void => {
  if (depth > depthMax) throw new TooCostly(`values nested deeper than ${depthMax} levels are not compared`);
};

export const equalValues = (one: Json, other: Json, run: CheckRun, depth = 0): boolean => {
  run.take(1);
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) {
    if (typeof one === 'string' && typeof other === 'string' && one.length === other.length)
      run.take(Math.ceil(one.length / charsPerStep));
    return false;
  }
  checkDepth(depth);
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((item: Json, at) => equalValues(item, other[at] as Json, run, depth + 1));
  }
  const keys = Object.keys(one);
  run.take(keys.length);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every(
    (key) =>
      Object.hasOwn(other, key) &&
      equalValues((one as Record<string, Json>)[key]!, (other as Record<string, Json>)[key]!, run, depth + 1),
  );
};

/** Writing a value or a name as text and looking it up takes longer than comparing it. */
const textSteps = 10;
const textCharsPerStep = 4;

/** Equal values have equal texts. */
export const valueText = (value: Json, run: CheckRun, depth = 0): string => {
  run.take(textSteps);
  checkDepth(depth);
  if (typeof value === 'string') {
    run.take(Math.ceil(value.length / textCharsPerStep));
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${value.map((item: Json) => valueText(item, run, depth + 1)).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const keys = Object.keys(value);
  run.take(textSteps * keys.length + Math.ceil(keys.reduce((sum, { length }) => sum + length, 0) / textCharsPerStep));
  const entries = keys.sort().map((key) => `${JSON.stringify(key)}:${valueText(value[key] as Json, run, depth + 1)}`);
  return `{${entries.join(',')}}`;
};
