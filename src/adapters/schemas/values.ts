// Values of unknown form, as the checks of a schema look at them and as their messages show them.
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const shown = (value: unknown): string => {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof value === 'function') return 'a function';
  if (isObject(value)) return 'an object';
  return typeof value === 'string' ? JSON.stringify(cut(value)) : String(value);
};

export const cut = (text: string): string => (text.length > charsMax ? `${text.slice(0, charsMax)}…` : text);

const charsMax = 120;
