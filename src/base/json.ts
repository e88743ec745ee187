// JSON types, and the only way to serialise JSON for hashing.
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };
export type JsonObject = { readonly [key: string]: Json | undefined };

/** Neither null nor an array. */
export function isObject(value: Json | undefined): value is JsonObject;
export function isObject(value: unknown): value is Readonly<Record<string, unknown>>;
export function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Serialises with sorted keys, so that equal values give equal bytes. */
export const canonicalJson = (value: Json | undefined): string => {
  if (value === null || typeof value !== 'object') return JSON.stringify(value ?? null);
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) text += text === '' ? canonicalJson(item) : `,${canonicalJson(item)}`;
    return `[${text}]`;
  }
  const object = value as JsonObject;
  for (const key of Object.keys(object).sort()) {
    const item = object[key];
    if (item !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(item)}`;
  }
  return `{${text}}`;
};

/** Freezes a JSON value recursively and returns it. */
export const deepFreeze = <T>(value: T): T => {
  if (value !== null && typeof value === 'object' && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const key in value) {
      const part = value[key];
      if (part !== null && typeof part === 'object') deepFreeze(part);
    }
  }
  return value;
};

/** Removes the keys whose value is undefined, so that they do not hide a default. */
export const omitUndefined = <T extends object>(value: T | undefined): Partial<T> =>
  Object.fromEntries(Object.entries(value ?? {}).filter(([, item]) => item !== undefined)) as Partial<T>;

/** A frozen copy that shares nothing mutable with the original. */
export const frozenCopy = <T extends Json>(value: T): T =>
  value === null || typeof value !== 'object' ? value : deepFreeze(structuredClone(value));
