// Which runs are no longer kept.
//
//   expiry-by-conversation. The turns of a conversation go together, when the newest of them is due: later turns hold the earlier ones.
//   expiry-spares. A run that has not ended, and one with a checkpoint that somebody asked for, stay, with their conversation.
//   expiry-by-agent. A limit of an agent's own replaces the common one for its runs, which then do not count for that.
import type { RunId } from '#base';
import type { ConversationRef, KeepLimits, KeepRules, RunSummary } from '#contracts';

/** What goes together: a conversation with its turns, or one run. */
export type KeepUnit = {
  readonly conversation: ConversationRef | null;
  readonly agent: string;
  readonly runs: readonly RunId[];
  /** When the newest of them ended. */
  readonly newestAt: number;
  readonly bytes: number;
  readonly mayGo: boolean;
};

/** `why`: the limit that it exceeds, as it is written in the config. */
export type ExpiredUnit = KeepUnit & { readonly why: string };

type RecordedConversation = { readonly conversation: ConversationRef; readonly runs: readonly RunId[] };

/** Puts runs together as they go. */
export class KeepUnits {
  readonly #conversationOf = new Map<RunId, RecordedConversation>();
  readonly #ofConversations = new Map<RecordedConversation, KeepUnit>();
  readonly #alone: KeepUnit[] = [];

  constructor(conversations: readonly RecordedConversation[]) {
    for (const one of conversations) for (const run of one.runs) this.#conversationOf.set(run, one);
  }

  add({ run, agent, startedAt, endedAt }: RunSummary, mayGo: boolean, bytes: number): void {
    const recorded = this.#conversationOf.get(run);
    const unit = { conversation: null, agent, runs: [run], newestAt: endedAt ?? startedAt, bytes, mayGo };
    if (recorded === undefined) {
      this.#alone.push(unit);
      return;
    }
    const before = this.#ofConversations.get(recorded);
    this.#ofConversations.set(recorded, {
      ...recorded,
      agent: recorded.conversation.agent,
      newestAt: Math.max(unit.newestAt, before?.newestAt ?? 0),
      bytes: bytes + (before?.bytes ?? 0),
      mayGo: mayGo && before?.mayGo !== false,
    });
  }

  /** Newest first. */
  all(): readonly KeepUnit[] {
    const all = [...this.#alone, ...this.#ofConversations.values()];
    return all.toSorted((one, other) => other.newestAt - one.newestAt);
  }
}

const dayMs = 86_400_000;

/** `newestFirst`: all that is recorded. Returns the oldest first. */
export const expiredUnits = (
  newestFirst: readonly KeepUnit[],
  rules: KeepRules,
  now: number,
): readonly ExpiredUnit[] => {
  const counts = new Map<string, number>();
  const due = newestFirst.flatMap((unit): readonly ExpiredUnit[] => {
    const used: KeepLimits = { days: (now - unit.newestAt) / dayMs, runs: unit.runs.length, bytes: unit.bytes };
    // Each limit is counted, also when another one is exceeded.
    const [why] = limitNames.flatMap((name) => {
      const { at, limit } = limitOf(rules, unit.agent, name);
      const count = (used[name] ?? 0) + (name === 'days' ? 0 : (counts.get(at) ?? 0));
      counts.set(at, count);
      return count > limit ? [`${at}: ${limit}`] : [];
    });
    return why !== undefined && unit.mayGo ? [{ ...unit, why }] : [];
  });
  return due.toReversed();
};

const limitNames = ['days', 'runs', 'bytes'] as const;

/** `at`: where it is written. */
const limitOf = (rules: KeepRules, agent: string, name: keyof KeepLimits) => {
  const { agents = {} } = rules;
  const own = Object.hasOwn(agents, agent) ? agents[agent]?.[name] : undefined;
  if (own !== undefined) return { at: `keep.agents.${agent}.${name}`, limit: own };
  return { at: `keep.${name}`, limit: rules[name] ?? Infinity };
};
