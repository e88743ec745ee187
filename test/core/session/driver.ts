// The one place where these tests touch the library: run an agent, move the virtual clock to the end, collect everything.
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { defineAgent, openCloister } from 'cloister';
import type { Agent, Budget, Cloister, CloisterOptions, RunEvent, RunSession, ToolDefinition } from 'cloister';
import { countingIds, rehearse, virtualClock } from '#testkit';
import type { ScriptLine, Rehearsal, ScriptedReply, VirtualClock } from '#testkit';
import { expect } from 'vitest';

type Options = Parameters<typeof defineAgent>[0];
type Reply = string | ScriptedReply;

/** A fresh clock and ids. The clock does not start at zero, so that a deadline of zero has passed. */
export const world = () => ({ clock: virtualClock(1_000_000), ids: countingIds() });

/** An agent with the fields that matter to a case. */
export const agent = (name: string, options: Partial<Options> = {}): Agent =>
  defineAgent({ name, description: `Does what ${name} does.`, prompt: `You do what ${name} does.`, ...options });

/** A tool that takes anything. */
export const tool = (
  name: string,
  execute: ToolDefinition['execute'],
  more: Partial<ToolDefinition> = {},
): ToolDefinition => ({ name, description: `The tool ${name}.`, inputSchema: { type: 'object' }, execute, ...more });

/** The replies of each agent, in order. */
export const lines = (replies: Readonly<Record<string, readonly Reply[]>>): ScriptLine[] =>
  Object.entries(replies).flatMap(([name, own]) => own.map((reply) => ({ when: { agent: name }, times: 1, reply })));

export const calls = (...tools: readonly (string | { tool: string; args?: any })[]): ScriptedReply => ({
  calls: tools.map((one) => (typeof one === 'string' ? { tool: one } : one)),
});

export const call = (name: string, args: any = {}): ScriptedReply => ({ calls: [{ tool: name, args }] });

/** A long reply with low reported usage, for replies that are long only to make something else long. */
export const cheap = (reply: ScriptedReply): ScriptedReply => ({ ...reply, usage: { input: 100, output: 100 } });

/** The same reply to every request. */
export const always = (reply: Reply, name?: string): ScriptLine => ({ ...(name && { when: { agent: name } }), reply });

type Ask = Pick<CloisterOptions, 'models' | 'concurrency'> & {
  readonly clock?: VirtualClock;
  readonly says?: readonly ScriptLine[];
  readonly goal?: string;
  readonly budget?: Budget;
  readonly signal?: AbortSignal;
  /** Whether the events are read; default true. */
  readonly listen?: boolean;
  /** Called for every event as it arrives. */
  readonly onEvent?: (event: RunEvent, session: RunSession) => void;
  /** Called when the run has started, before the clock moves. */
  readonly meanwhile?: (session: RunSession, cloister: Cloister) => void | Promise<void>;
  /** Set to `false` where the audit is the point of the case. */
  readonly audited?: boolean;
};

/** Runs the agent to its end. Whatever happens, the audit of the recorded run must be clean. */
export const ask = async (root: Agent, options: Ask = {}) => {
  const { clock = virtualClock(1_000_000), says, goal = 'Find it', budget, signal, listen = true } = options;
  const model = rehearse(says ?? [always('Done.')], { clock });
  const cloister = await openCloister({
    store: 'memory',
    agents: [root],
    models: options.models ?? [model],
    clock,
    ids: countingIds(),
    ...(options.concurrency && { concurrency: options.concurrency }),
  });
  const session = cloister.run(root.name, goal, { ...(budget && { budget }), ...(signal && { signal }) });
  const events: RunEvent[] = [];
  const reading = listen ? listenTo(session, events, options.onEvent) : undefined;
  await options.meanwhile?.(session, cloister);
  const outcome = await runUntilSettled(clock, session.outcome);
  await reading;
  const report = await cloister.show(session.run);
  const audit = await cloister.audit(session.run);
  if (options.audited !== false) expect(audit).toMatchObject({ ok: true, problems: [], unattributedBytes: 0 });
  expect(clock.waiting, 'timers left behind').toBe(0);
  return { outcome, events, report, audit, clock, cloister, requests: requestsOf(model), model };
};

const listenTo = async (session: RunSession, events: RunEvent[], onEvent: Ask['onEvent']): Promise<void> => {
  for await (const event of session) {
    events.push(event);
    onEvent?.(event, session);
  }
};

/** Moves the clock until the promise settles. */
export const runUntilSettled = async <T>(clock: VirtualClock, promise: Promise<T>): Promise<T> => {
  const ended = { over: false };
  const end = () => (ended.over = true);
  promise.then(end, end);
  for (let idle = 0; !ended.over && idle < 200; idle++) await clock.runAll();
  if (!ended.over) throw new Error('No timer is left, and the promise has not settled.');
  return promise;
};

export type SentRequest = { readonly options: LanguageModelV4CallOptions; readonly text: string };

const requestsOf = ({ requests }: Rehearsal): readonly SentRequest[] =>
  requests.map((options) => ({ options, text: JSON.stringify(options.prompt) }));

type Part = { readonly id: string; readonly name: string };
export type ShownResult = Part & { readonly type: string; readonly text: string };

/** Every tool call and every tool result of a prompt, in order. */
export const callsIn = (prompt: LanguageModelV4Prompt) => {
  const called: Part[] = [];
  const results: ShownResult[] = [];
  for (const message of prompt) {
    if (message.role === 'assistant')
      for (const part of message.content)
        if (part.type === 'tool-call') called.push({ id: part.toolCallId, name: part.toolName });
    if (message.role === 'tool')
      for (const part of message.content)
        if (part.type === 'tool-result')
          results.push({
            id: part.toolCallId,
            name: part.toolName,
            type: part.output.type,
            text: part.output.type === 'text' || part.output.type === 'error-text' ? part.output.value : '',
          });
  }
  return { called, results };
};

/** The tool results in the last request. */
export const lastResults = (requests: readonly SentRequest[]): readonly ShownResult[] =>
  callsIn(requests.at(-1)!.options.prompt).results;

export const ofType = <T extends RunEvent['type']>(events: readonly RunEvent[], type: T) =>
  events.filter((event): event is Extract<RunEvent, { type: T }> => event.type === type);

/** The error that a function throws. */
export const thrownBy = (work: () => unknown): any => {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('The function did not throw.');
};
