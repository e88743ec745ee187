// An agent takes one turn at a time in a conversation, across all processes.
import type { History, Writing } from '../history.ts';
import type { Judge } from './judge.ts';
import { conversationKey } from './conversation-turns.ts';

export const turns: Judge = {
  name: 'one turn at a time',
  check: (history, report) => {
    let checks = 0;
    const byConversation = new Map<string, Writing[]>();
    for (const writing of history.writings) {
      const request = history.runs.find(({ run }) => run === writing.run);
      // A process that only checks for an owner writes nothing.
      if (!request?.conversation || writing.begunAt === null) continue;
      const key = `${request.agent.name} in ${conversationKey(request.conversation)}`;
      byConversation.set(key, [...(byConversation.get(key) ?? []), writing]);
    }
    for (const [key, writings] of byConversation)
      for (const [index, one] of writings.entries())
        for (const other of writings.slice(index + 1)) {
          if (one.run === other.run) continue;
          checks++;
          if (one.begunAt! < endOf(other, history) && other.begunAt! < endOf(one, history))
            report(
              `one run at a time of ${key}`,
              `${one.run} in ${one.process} from ${one.begunAt} to ${endOf(one, history)} ms, ${other.run} in ${other.process} from ${other.begunAt} ms`,
            );
        }
    return checks;
  },
};

/** After the end in the log, the process may still close servers before it releases the run. */
const endOf = ({ closedAt, releasedAt, process }: Writing, { processes }: History): number =>
  closedAt ?? releasedAt ?? processes.find((one) => one.process === process)?.diedAt ?? Infinity;
