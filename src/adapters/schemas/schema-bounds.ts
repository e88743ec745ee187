import { truncateChars } from './values.ts';

const depthMax = 100;
const valuesMax = 50_000;
const tooMany = `It contains more than ${valuesMax} values.`;

/** Says what is wrong with the size, depth or kind of what should be a JSON Schema. Nothing else looks at it before. */
export const boundsProblem = (schema: unknown): string | null => {
  let values = 0;
  const open = [{ value: schema, path: '', depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path, depth } = next;
    values++;
    if (depth > depthMax) return `It is nested deeper than ${depthMax} levels.`;
    if (['function', 'symbol', 'bigint'].includes(typeof value))
      return problemAt(path, `a ${typeof value} is not JSON`);
    if (typeof value !== 'object' || value === null) continue;
    if (!isPlain(value)) return problemAt(path, 'a class instance is not JSON');
    const keys = Array.isArray(value) ? value.keys() : Object.keys(value);
    const count = Array.isArray(value) ? value.length : (keys as readonly string[]).length;
    if (values + open.length + count > valuesMax) return tooMany;
    for (const key of keys)
      open.push({
        value: (value as Readonly<Record<string | number, unknown>>)[key],
        path: childPointer(path, String(key)),
        depth: depth + 1,
      });
  }
  return null;
};

/** Also true for an object of another realm. */
const isPlain = (value: object): boolean => {
  const above = Object.getPrototypeOf(value) as object | null;
  return Array.isArray(value) || above === null || Object.getPrototypeOf(above) === null;
};

export const childPointer = (path: string, key: string): string =>
  `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;

export const problemAt = (path: string, text: string): string =>
  `${truncateChars(path)}${path === '' ? '' : ': '}${text}.`;
