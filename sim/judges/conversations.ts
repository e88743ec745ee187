// A turn gets the history of its conversation: everything that counts, once, in order, and nothing else.
import type { History, RunHistory } from '../history.ts';
import type { Judge } from './judge.ts';
import { conversationKey, historyGivenTo, turnsIn } from './conversation-turns.ts';
import type { ConversationEntry } from './conversation-turns.ts';

export const conversations: Judge = {
  name: 'a turn gets the conversation history',
  check: (history, report) => {
    let checks = 0;
    if (history.workspaceLog.entries.length === 0) return checks;
    for (const { run: id, conversation, before } of turnsIn(history)) {
      const run = history.runs.find((one) => one.run === id);
      if (run === undefined || run.frames.length === 0) continue;
      checks++;
      const open = run.frames[0]!.record;
      const named = open.type === 'open' ? open.conversation : undefined;
      if (named === undefined || conversationKey(named) !== conversationKey(conversation))
        report(
          `run ${id} to belong to ${conversationKey(conversation)}, as in the workspace log`,
          named ? conversationKey(named) : 'none',
        );
      const told = historyGivenTo(run);
      const all = told?.entries.slice(0, told.entries.length - (told.given ?? 0)) ?? [];
      const isOther = callsOther(run);
      const entries = all.filter((entry) => !isOther(entry));
      const messages = before.filter(({ category }) => category !== 'TOOLS');
      const leftOut = told?.leftOut ?? 0;
      const due = newestEntries(
        before.filter((entry) => !isOther(entry)),
        entries,
      );
      const shown = entries.filter(({ category }) => category !== 'TOOLS').length;
      if (entriesText(due) !== entriesText(entries) || messages.length !== leftOut + shown)
        report(`run ${id} to get ${entriesText(due)}, with ${messages.length - shown} left out`, entriesText(entries));
      const calls = before.filter((entry) => entry.category === 'TOOLS' && !isOther(entry)).length;
      if (calls > entries.length - shown && !hasSmallWindow(run))
        report(`run ${id} to get all ${calls} tool calls`, `${entries.length - shown}`);
      if (leftOut > 0 && !hasSmallWindow(run))
        report(`run ${id} to get the complete history`, `${leftOut} were left out`);
    }
    for (const { run, conversation, frames } of history.runs) {
      const open = frames[0]?.record;
      checks++;
      if (conversation !== null && frames.length > 0 && !hasRecord(history, run))
        report(`a workspace record for run ${run} of ${conversationKey(conversation)}`, 'there is none');
      if (open?.type === 'open' && open.conversation !== undefined && conversation === null)
        report(`run ${run} to belong to no conversation`, conversationKey(open.conversation));
    }
    return checks;
  },
};

const hasRecord = ({ workspaceLog: { entries } }: History, run: string): boolean =>
  entries.some(({ record }) => 'run' in record && record.run === run);

const entriesText = (entries: readonly ConversationEntry[]): string => entries.map(entryText).join(' | ');

const entryText = ({ agent, category, text, call }: ConversationEntry): string => {
  const shown = call === undefined ? text.slice(0, 100) : `${call.name} ${call.failed ? 'failed' : text.slice(0, 100)}`;
  return `${agent ?? 'person'} (${category}): ${shown}`;
};

/** Calls of agents and mail have rules of their own, so only plain tools are compared. */
const callsOther = ({ agent: { tools, builtins } }: RunHistory): ((entry: ConversationEntry) => boolean) => {
  const plain = new Set<string>(['read_output', ...builtins, ...tools.map(({ name }) => name)]);
  return ({ call }) => call !== undefined && !plain.has(call.name);
};

/** The latest entries of each category, as many as the turn got, in order. */
const newestEntries = (
  before: readonly ConversationEntry[],
  told: readonly ConversationEntry[],
): readonly ConversationEntry[] => {
  const left = new Map<string, number>();
  for (const { category } of told) left.set(category, (left.get(category) ?? 0) + 1);
  return before
    .toReversed()
    .filter(({ category }) => {
      const more = left.get(category) ?? 0;
      left.set(category, more - 1);
      return more > 0;
    })
    .toReversed();
};

/** Whether there may not be room for everything. */
const hasSmallWindow = ({ agent }: RunHistory): boolean => agent.limits.contextTokensMax !== undefined;
