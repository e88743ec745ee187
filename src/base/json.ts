// JSON types, and the only way to serialise JSON for hashing.
/** Any JSON value. An undefined field counts as absent. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };
/** A JSON object. */
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

/** Deep equality, regardless of key order. An undefined value counts as absent. Faster than comparing canonical texts. */
export const isSameJson = (one: unknown, other: unknown): boolean => {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  if (Array.isArray(one)) {
    const list = other as readonly unknown[];
    return one.length === list.length && one.every((item, index) => isSameJson(item, list[index]));
  }
  const [left, right] = [one as Record<string, unknown>, other as Record<string, unknown>];
  const ownValue = (object: Record<string, unknown>, key: string): unknown =>
    Object.hasOwn(object, key) ? object[key] : undefined;
  for (const key of Object.keys(left)) if (!isSameJson(left[key], ownValue(right, key))) return false;
  for (const key of Object.keys(right)) if (right[key] !== undefined && ownValue(left, key) === undefined) return false;
  return true;
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

/** Whether JSON text says exactly this value: no number that it cannot write. */
export const isExactJson = (value: unknown): boolean => {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
  return typeof value !== 'object' || value === null || Object.values(value).every(isExactJson);
};
