// Redacts every string in a JSON value, including keys. It is not recursive, because the depth of a value is untrusted.
import type { Json } from '#base';

type Container = Json[] | Record<string, Json | undefined>;

/** Returns the same value if nothing changes. */
export const redactJson = <T extends Json>(value: T, redact: (text: string) => string): T =>
  isClean(value, redact) ? value : (redactedCopy(value, redact) as T);

const isClean = (value: Json, redact: (text: string) => string): boolean => {
  const left: (Json | undefined)[] = [value];
  while (left.length > 0) {
    const one = left.pop();
    if (typeof one === 'string' && redact(one) !== one) return false;
    if (one === null || typeof one !== 'object') continue;
    if (!Array.isArray(one) && Object.keys(one).some((key) => redact(key) !== key)) return false;
    for (const part of Object.values(one)) left.push(part as Json | undefined);
  }
  return true;
};

const redactedCopy = (value: Json, redact: (text: string) => string): Json => {
  const left: { readonly from: object; readonly to: Container }[] = [];
  const startCopy = (one: Json | undefined): Json | undefined => {
    if (typeof one === 'string') return redact(one);
    if (one === null || typeof one !== 'object') return one;
    const to: Container = Array.isArray(one) ? [] : {};
    left.push({ from: one, to });
    return to;
  };
  const root = startCopy(value) as Json;
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { from, to } = next;
    if (Array.isArray(to)) for (const item of from as readonly Json[]) to.push(startCopy(item) as Json);
    else for (const [key, item] of Object.entries(from)) addKey(to, redact(key), startCopy(item as Json));
  }
  return root;
};

/** If two keys are redacted to the same text, both are kept. `__proto__` is a key like any other. */
const addKey = (object: Record<string, Json | undefined>, key: string, value: Json | undefined): void => {
  let name = key;
  for (let number = 2; Object.hasOwn(object, name); number++) name = `${key} ${number}`;
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
};
