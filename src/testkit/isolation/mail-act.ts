// What happens in a run of agents that talk, as others can see it: the same in both runs of a pair.
import type { JsonObject } from '#base';

/** Sessions are known by their place: whose they are, and the how manieth of its kind. */
export type Act =
  /** A session's model says something: calls, or an answer. */
  | { readonly do: 'say'; readonly place: string; readonly calls: readonly SaidCall[]; readonly text: string }
  /** The process dies, and another goes on from the log. */
  | { readonly do: 'crash' }
  | { readonly do: 'pass'; readonly ms: number }
  /** Whoever runs them asks one to come to an end, or writes to it. */
  | { readonly do: 'end'; readonly place: string }
  | { readonly do: 'tell'; readonly text: string; readonly topic?: string };

export type SaidCall = { readonly name: string; readonly args: JsonObject };

/** In a few words. */
export const actText = (act: Act): string => {
  switch (act.do) {
    case 'say':
      return `${act.place}: ${act.calls.length === 0 ? 'an answer' : act.calls.map(callText).join(', ')}`;
    case 'crash':
      return 'a crash';
    case 'pass':
      return `${act.ms / 1_000} s pass`;
    case 'end':
      return `${act.place} is asked to end`;
    case 'tell':
      return act.topic === undefined ? 'a message from outside' : 'a broadcast from outside';
  }
};

const about = ['agent_id', 'to', 'sub_agent_id', 'topic'] as const;

const callText = ({ name, args }: SaidCall): string => {
  const whom = about.map((key) => args[key]).find((value) => typeof value === 'string');
  return whom === undefined ? name : `${name} ${whom}`;
};
