// How conversations and checkpoints are stored, from the options of `openCloister`.
import { omitUndefined } from '#base';
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

export const readConversationSettings = (
  files: ExportFolder | null,
  options: ConversationOptions,
): ConversationSettings => {
  const { defaultAgent = null, autosaveMs = defaultConversationSettings.autosaveMs } = options;
  const retention = { ...retentionDefault, ...omitUndefined(options.retention) };
  return { files, defaultAgent, retention, autosaveMs };
};

type ConversationOptions = {
  readonly defaultAgent?: string | null;
  readonly retention?: Partial<Retention>;
  readonly autosaveMs?: number;
};
