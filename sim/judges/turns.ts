// An agent takes one turn at a time in a conversation, whatever the process.
import type { History, Writing } from '../history.ts';
import type { Judge } from './judge.ts';
import { keyOf } from './conversation-turns.ts';

export const turns: Judge = {
  name: 'one turn at a time',
  look: (history, say) => {
    let checks = 0;
    const byTalk = new Map<string, Writing[]>();
    for (const writing of history.writings) {
      const request = history.runs.find(({ run }) => run === writing.run);
      // Whoever only looks whether somebody has it writes nothing.
      if (!request?.conversation || writing.begunAt === null) continue;
      const key = `${request.agent.name} in ${keyOf(request.conversation)}`;
      byTalk.set(key, [...(byTalk.get(key) ?? []), writing]);
    }
    for (const [key, writings] of byTalk)
      for (const [index, one] of writings.entries())
        for (const other of writings.slice(index + 1)) {
          if (one.run === other.run) continue;
          checks++;
          if (one.begunAt! < endOf(other, history) && other.begunAt! < endOf(one, history))
            say(
              `one run at a time of ${key}`,
              `${one.run} in ${one.process} from ${one.begunAt} to ${endOf(one, history)} ms, ${other.run} in ${other.process} from ${other.begunAt} ms`,
            );
        }
    return checks;
  },
};

/** What has its end in the log may still have servers to close. */
const endOf = ({ closedAt, releasedAt, process }: Writing, { lives }: History): number =>
  closedAt ?? releasedAt ?? lives.find((one) => one.process === process)?.diedAt ?? Infinity;
