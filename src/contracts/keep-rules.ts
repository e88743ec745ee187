// How long recorded runs are kept, as the operator says it in the config or in code.

/** A run goes as soon as one of these says so; the oldest go first. */
export type KeepLimits = {
  /** Days since a run, or the newest turn of its conversation, has ended. */
  readonly days?: number;
  /** How many runs are kept. */
  readonly runs?: number;
  /** How many bytes of records are kept. */
  readonly bytes?: number;
};

/** How long runs are kept: those of all agents together, and those of single agents. */
export type KeepRules = KeepLimits & {
  /** By the name of an agent: what holds for its runs instead, limit by limit. They do not count for the common limit then. */
  readonly agents?: Readonly<Record<string, KeepLimits>>;
};
