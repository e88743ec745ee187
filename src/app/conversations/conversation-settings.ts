// How conversations and checkpoints are stored, from the options of `openCloister`.
import { CloisterError, omitUndefined } from '#base';
import type { Retention } from '#contracts';
import type { ExportFolder } from './export-folder.ts';
import { retentionDefault } from './retention.ts';

export type ConversationSettings = {
  /** Null in memory-only mode. */
  readonly files: ExportFolder | null;
  readonly defaultAgent: string | null;
  readonly retention: Retention;
  readonly autosaveMs: number;
};

export const defaultConversationSettings: ConversationSettings = {
  files: null,
  defaultAgent: null,
  retention: retentionDefault,
  autosaveMs: 30_000,
};

/** Throws `options_invalid`. */
export const readConversationSettings = (
  files: ExportFolder | null,
  options: ConversationOptions,
): ConversationSettings => {
  const { defaultAgent = null, autosaveMs = defaultConversationSettings.autosaveMs } = options;
  const retention = { ...retentionDefault, ...omitUndefined(options.retention) };
  for (const [name, value] of Object.entries({ autosaveMs, ...retention }))
    if (!(Number.isFinite(value) && value >= 1))
      throw new CloisterError('options_invalid', `${name}: expected a number ≥ 1; got ${String(value)}.`);
  if (defaultAgent !== null && typeof defaultAgent !== 'string')
    throw new CloisterError('options_invalid', 'defaultAgent: expected the name of an agent.');
  return { files, defaultAgent, retention, autosaveMs };
};

type ConversationOptions = {
  readonly defaultAgent?: string | null;
  readonly retention?: Partial<Retention>;
  readonly autosaveMs?: number;
};
