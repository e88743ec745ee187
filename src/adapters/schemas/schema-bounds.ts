import { truncateChars } from './check-run.ts';

const depthMax = 100;
export const valuesMax = 50_000;

type SchemaSize = { readonly values: number } | { readonly problem: string };

/** Says how large a schema is, or what is wrong with its size, depth or kind. Nothing else looks at it before. */
export const measureSchema = (schema: unknown): SchemaSize => {
  let values = 0;
  const open = [{ value: schema, path: '', depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, path, depth } = next;
    values++;
    if (depth > depthMax) return { problem: `It is nested deeper than ${depthMax} levels.` };
    if (['function', 'symbol', 'bigint'].includes(typeof value))
      return { problem: problemAt(path, `a ${typeof value} is not JSON`) };
    if (typeof value !== 'object' || value === null) continue;
    if (!isPlain(value)) return { problem: problemAt(path, 'a class instance is not JSON') };
    const keys = Array.isArray(value) ? value.keys() : Object.keys(value);
    const count = Array.isArray(value) ? value.length : (keys as readonly string[]).length;
    if (values + open.length + count > valuesMax) return { problem: `It contains more than ${valuesMax} values.` };
    for (const key of keys)
      open.push({
        value: (value as Readonly<Record<string | number, unknown>>)[key],
        path: childPointer(path, String(key)),
        depth: depth + 1,
      });
  }
  return { values };
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
