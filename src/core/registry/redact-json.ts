// A JSON value with every string of it redacted, keys too. Without recursion: how deep a value is, is up to strangers.
import type { Json } from '#base';

type Container = Json[] | Record<string, Json | undefined>;

/** The value itself when nothing in it changes. */
export const redactJson = <T extends Json>(value: T, redact: (text: string) => string): T =>
  isClean(value, redact) ? value : (copy(value, redact) as T);

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

const copy = (value: Json, redact: (text: string) => string): Json => {
  const left: { readonly from: object; readonly to: Container }[] = [];
  const begin = (one: Json | undefined): Json | undefined => {
    if (typeof one === 'string') return redact(one);
    if (one === null || typeof one !== 'object') return one;
    const to: Container = Array.isArray(one) ? [] : {};
    left.push({ from: one, to });
    return to;
  };
  const root = begin(value) as Json;
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const { from, to } = next;
    if (Array.isArray(to)) for (const item of from as readonly Json[]) to.push(begin(item) as Json);
    else for (const [key, item] of Object.entries(from)) put(to, redact(key), begin(item as Json));
  }
  return root;
};

/** Two keys that are redacted to the same word both stay. `__proto__` is a key like any other. */
const put = (object: Record<string, Json | undefined>, key: string, value: Json | undefined): void => {
  let name = key;
  for (let number = 2; Object.hasOwn(object, name); number++) name = `${key} ${number}`;
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
};
