// Agents that talk, in a workspace of their own that is removed after the test.
import { rmSync } from 'node:fs';
import { defineAgent, openCloister } from 'cloister';
import type { Agent, AgentOptions, Cloister, CloisterOptions, ConversationRef } from 'cloister';
import { onTestFinished } from 'vitest';
import { rehearse } from '#testkit';
import type { ScriptLine, Rehearsal } from '#testkit';
import { newTemporaryFolder } from '../isolation/temporary-folder.ts';

export const newWorkspace = (): string => {
  const path = newTemporaryFolder();
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
};

export type Talk = { readonly cloister: Cloister; readonly model: Rehearsal; readonly agents: readonly Agent[] };

type TalkOptions = Partial<Omit<CloisterOptions, 'agents' | 'models'>> & {
  readonly says?: readonly ScriptLine[];
  readonly agents?: Readonly<Record<string, Partial<AgentOptions>>>;
};

/** Each agent answers “<name> heard <goal>” unless it is scripted. In a workspace of its own, unless one is named or it is in memory. */
export const openTalk = async ({ says = [], agents = { lead: {} }, ...options }: TalkOptions = {}): Promise<Talk> => {
  const echo: ScriptLine = { reply: ({ agent, lastText }) => `${agent ?? ''} heard ${taskIn(lastText)}` };
  const model = rehearse([...says, echo], options.clock === undefined ? {} : { clock: options.clock });
  const defined = Object.entries(agents).map(([name, more]) =>
    defineAgent({ name, description: 'Talks.', prompt: 'Talk.', ...more }),
  );
  const place = options.store === 'memory' ? {} : { workspace: newWorkspace() };
  const cloister = await openCloister({ ...place, agents: defined, models: [model], ...options });
  onTestFinished(() => cloister.close());
  return { cloister, model, agents: defined };
};

const taskIn = (text: string): string => /Your task: (?<task>[^]*)$/u.exec(text)?.groups?.['task']?.trim() ?? text;

export const ref = (name: string, agent = 'lead'): ConversationRef => ({ agent, name });

/** Runs a turn to its end; returns the run. */
export const takeTurn = async (
  { cloister }: Pick<Talk, 'cloister'>,
  text: string,
  { agent = 'lead', ...options }: { agent?: string; conversation?: string | ConversationRef; context?: string[] } = {},
) => {
  const session = await cloister.runTurn(agent, text, options);
  const outcome = await session.outcome;
  if (outcome.status !== 'completed') throw new Error(`${outcome.status}: ${JSON.stringify(outcome.failure)}`);
  return { run: session.run, output: outcome.output };
};

/** `<who>: <text>`, in order. */
export const historyLines = async ({ cloister }: Pick<Talk, 'cloister'>, conversation: ConversationRef) =>
  (await cloister.conversations.show(conversation)).entries.map(({ agent_id, text }) => `${agent_id}: ${text}`);

/** Everything a model was shown in its newest request, as one text. */
export const newestPrompt = ({ model }: Pick<Talk, 'model'>): string =>
  JSON.stringify(model.requests.at(-1)?.prompt ?? []);

/** A tool that waits until it is released; `each`: every call waits separately. */
export const gate = (each = false) => {
  const reached = Promise.withResolvers<void>();
  let waiting: (() => void)[] | null = [];
  const tool = {
    name: 'wait',
    description: 'Waits.',
    inputSchema: { type: 'object' as const },
    repeat: 'free' as const,
    execute: async () => {
      reached.resolve();
      if (waiting !== null) await new Promise<void>((resolve) => waiting?.push(resolve));
      return 'waited';
    },
  };
  const open = (): void => {
    for (const resolve of waiting ?? []) resolve();
    waiting = each ? [] : null;
  };
  return { tool, open, reached: reached.promise };
};

/** Calls `wait` first, then answers. */
export const waitsFirst: readonly ScriptLine[] = [
  { when: { text: 'Wait' }, times: 1, reply: { calls: [{ tool: 'wait', args: {} }] } },
];
