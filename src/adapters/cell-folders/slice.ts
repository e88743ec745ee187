/** The requested range within `size` bytes; values out of range or NaN are clamped. */
export const clampRange = (size: number, from = 0, length = size): { readonly start: number; readonly end: number } => {
  const start = clamp(from, 0, size);
  return { start, end: start + clamp(length, 0, size - start) };
};

const clamp = (value: number, low: number, high: number): number =>
  Number.isNaN(value) ? low : Math.min(Math.max(Math.trunc(value), low), high);
