// Durations as people write them, in milliseconds.

/** The pattern of a duration with a unit; the JSON Schema contains the same text. */
export const durationShape = '^[0-9]{1,12}(?:\\.[0-9]{1,3})? ?(?:ms|s|m|h)$';

export const durationExpected = 'milliseconds, or a duration such as 500ms, 30s, 5m or 2h';

/** The milliseconds of `1500`, `500ms`, `30s`, `5m` or `2h`; null for anything else. */
export const parseDuration = (value: unknown): number | null => {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : null;
  if (typeof value !== 'string' || value.length > 24 || !shape.test(value)) return null;
  const ms = Math.round(Number.parseFloat(value) * unitMs[/[a-z]+$/u.exec(value)![0]]!);
  return Number.isSafeInteger(ms) ? ms : null;
};

const shape = new RegExp(durationShape, 'u');
const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
