// The limits of a session: the defaults, how they fit together, and what agents inherit from the agent that spawned them.
import type { EffectiveLimits, Limits } from '#contracts';

export type CellLimits = Required<Limits>;

/** The seed document's defaults for child cells, but with time for a model request of the default `llmTimeout`. */
const childLimits = {
  max_steps: 20,
  max_tokens_per_step: 2_000,
  max_output_files: 10,
  max_output_size_bytes: 1_000_000,
  timeout_ms: 600_000,
  mailTimeout: 600_000,
};

/** A root is limited only by its budget, but the shown part of one result is bounded here too. */
const rootLimits = {
  max_steps: Infinity,
  max_tokens_per_step: 4_000,
  max_output_files: Infinity,
  max_output_size_bytes: Infinity,
  timeout_ms: Infinity,
  mailTimeout: Infinity,
};

const sessionLimits = {
  maxToolTurns: 10,
  llmTimeout: 120_000,
  toolTimeout: 60_000,
  maxRetries: 2,
  maxToolCallsPerTurn: 50,
  parallelToolCalls: 4,
  maxHops: 100,
  answersPerMinute: 60,
  questionTimeout: 86_400_000,
  /** 0: the model's own maximum, or 8,192 if it has none. */
  maxOutputTokens: 0,
  /** 0: the model's own window. */
  contextTokensMax: 0,
};

/**
 * The values in effect. They depend on the definition alone, never on a balance or on another cell. Where only one of
 * `timeout_ms` and `llmTimeout` is written, it moves the other's default if the two would contradict each other.
 */
export const resolveLimits = (written: Limits, isRoot: boolean): CellLimits => {
  const limits: CellLimits = { ...sessionLimits, ...(isRoot ? rootLimits : childLimits), ...written };
  const timeoutMs = written.timeout_ms ?? Math.max(limits.timeout_ms, written.llmTimeout ?? 0);
  return { ...limits, timeout_ms: timeoutMs, llmTimeout: Math.min(limits.llmTimeout, timeoutMs) };
};

/** The limits in effect, for reports. */
export const effectiveLimits = (limits: Limits, isRoot: boolean): EffectiveLimits => {
  const defaults = resolveLimits({}, isRoot);
  const entries = entriesOf(resolveLimits(limits, isRoot)).filter(
    ([key, value]) => value !== 0 || !openAtZero.has(key),
  );
  return {
    values: Object.fromEntries(entries),
    changed: entries.flatMap(([key, value]) => (value === defaults[key] ? [] : [key])),
  };
};

/** 0 stands for the model's own maximum. */
const openAtZero: ReadonlySet<string> = new Set(['maxOutputTokens', 'contextTokensMax']);

const entriesOf = (limits: Limits): readonly (readonly [keyof Limits, number])[] =>
  (Object.entries(limits) as [keyof Limits, number][]).filter(([, value]) => value !== Infinity);

/** The limits of a sub-agent that may have at most `most` of each: only what would exceed that is changed. */
export const lowerLimits = (limits: Limits, most: Limits): Limits => {
  const inEffect = resolveLimits(limits, false);
  const exceeded = entriesOf(most).filter(([key, value]) => {
    const own = inEffect[key];
    return value < (own === 0 && openAtZero.has(key) ? Infinity : own);
  });
  return exceeded.length === 0 ? limits : { ...limits, ...Object.fromEntries(exceeded) };
};

/** The lower of both, for every limit that one of them sets. */
export const lowestLimits = (one: Limits, other: Limits): Limits => {
  const lower = entriesOf(other).filter(([key, value]) => value < (one[key] ?? Infinity));
  return lower.length === 0 ? one : { ...one, ...Object.fromEntries(lower) };
};
