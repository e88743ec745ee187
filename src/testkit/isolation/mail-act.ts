// The acts of a run of agents that exchange messages. Other agents can observe them, so they are the same in both runs of a
// pair.
import type { JsonObject } from '#base';

/** A session is identified by its place: its parent, its agent, and a number. */
export type Act =
  /** A session's model replies with calls or an answer. */
  | { readonly do: 'say'; readonly place: string; readonly calls: readonly DrawnCall[]; readonly text: string }
  /** The process crashes, and another one resumes from the log. */
  | { readonly do: 'crash' }
  | { readonly do: 'pass'; readonly ms: number }
  /** The user asks an agent to finish, or sends a message. */
  | { readonly do: 'end'; readonly place: string }
  | { readonly do: 'tell'; readonly text: string; readonly topic?: string };

/** The workflow of agents that a session starts as part of its private work begins with this. */
export const aideWorkflow = 'besides-';

export type DrawnCall = { readonly name: string; readonly args: JsonObject };

/** A short description for reports. */
export const actText = (act: Act): string => {
  switch (act.do) {
    case 'say':
      return `${act.place}: ${act.calls.length === 0 ? 'an answer' : act.calls.map(callText).join(', ')}`;
    case 'crash':
      return 'a crash';
    case 'pass':
      return `${act.ms / 1_000} s pass`;
    case 'end':
      return `${act.place} is asked to finish`;
    case 'tell':
      return act.topic === undefined ? 'a message from outside' : 'a broadcast from outside';
  }
};

const about = ['agent_id', 'to', 'sub_agent_id', 'topic'] as const;

const callText = ({ name, args }: DrawnCall): string => {
  const whom = about.map((key) => args[key]).find((value) => typeof value === 'string');
  return whom === undefined ? name : `${name} ${whom}`;
};
