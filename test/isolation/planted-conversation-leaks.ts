// Leaks between conversations, and between the agents of one: each an edit that lets files or tool calls show to another.
import type { Edit } from '../planted/plant.ts';

export type ConversationLeak = { readonly name: string; readonly edits: readonly Edit[] };

const leak = (name: string, probe: string, put: string): ConversationLeak => ({ name, edits: [{ probe, put }] });

export const conversationLeaks: readonly ConversationLeak[] = [
  leak('a turn takes over the files of whoever took the turn before', 'turns-of-agent', ''),
  leak(
    'a turn takes over the files of another conversation of its agent',
    'turn-files',
    `const other = [...state.conversations.values()].findLast((one) => one.newest?.agent === agent.name);
      const $(declarations.0.id) = other === undefined ? undefined : await inheritFiles(other, agent.name, store);`,
  ),
  leak(
    'a child takes over the files of the cell before it',
    'inherited-crossing',
    `const $(declarations.0.id) = ($(declarations.0.init)) ?? (globalThis as any).planted;
    (globalThis as any).planted = $(declarations.0.id);`,
  ),
  leak(
    'the history holds the tool calls of other agents',
    'history-own-calls',
    'const $(declarations.0.id) = entries.filter(({ correlation }) => turns.has(correlation));',
  ),
];
