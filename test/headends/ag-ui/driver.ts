// A team on a real port, and AG-UI's own client for it.
import { HttpAgent } from '@ag-ui/client';
import type { BaseEvent, Interrupt, ResumeEntry, RunAgentParameters } from '@ag-ui/client';
import { EventSchemas } from '@ag-ui/core/schemas';
import { defineAgent, hashToken } from 'cloister';
import type { Agent, ToolDefinition } from 'cloister';
import { rehearse } from 'cloister/testkit';
import type { Rehearsal } from 'cloister/testkit';
import { vi } from 'vitest';
import type { Sees, TokenEntry } from '#contracts';
import { serveAgents } from '../http/driver.ts';
import type { ServeOptions } from '../http/driver.ts';

/** Waits until it holds. A busy machine is slow, not wrong. */
export const eventually = (check: () => unknown): Promise<unknown> => vi.waitFor(check, { timeout: 120_000 });

export const callers = (sees: Sees = 'answers'): readonly TokenEntry[] => [
  { name: 'ann', sha256: hashToken('ann'), sees },
  { name: 'ben', sha256: hashToken('ben'), sees },
  { name: 'ops', sha256: hashToken('ops'), answers: ['*'] },
];

const toolOf = (name: string, execute: ToolDefinition['execute']): ToolDefinition => ({
  name,
  description: `It is ${name}.`,
  inputSchema: { type: 'object', properties: { to: { type: 'string' } }, additionalProperties: false },
  execute,
});

export type Team = { readonly agents: readonly Agent[]; readonly model: Rehearsal; readonly sent: string[] };

/**
 * A lead that calls `helper` once, which looks something up and, if its goal says so, sends. Goals for the lead: `plain` is answered at
 * once, `send` sends by itself, `fail` fails; everything else goes to the helper.
 */
export const team = (): Team => {
  const sent: string[] = [];
  const model = rehearse([
    {
      when: { agent: 'helper', turn: 1, text: 'send' },
      reply: { text: 'I look and send.', calls: [call('look'), call('send', { to: 'x' })] },
    },
    { when: { agent: 'helper', turn: 1, text: 'break' }, reply: { fault: 400 } },
    { when: { agent: 'helper', turn: 1 }, reply: { reasoning: 'Hm.', text: 'I look.', calls: [call('look')] } },
    {
      when: { agent: 'helper' },
      reply: ({ toolResults }) => `helped: ${toolResults.map(({ text }) => text).join(', ')}`,
    },
    { when: { agent: 'lead', text: 'plain' }, reply: 'Plain it is.' },
    {
      when: { agent: 'lead', turn: 1, text: 'own send' },
      reply: { text: 'I send.', calls: [call('send', { to: 'y' })] },
    },
    {
      when: { agent: 'lead', turn: 1 },
      reply: ({ goal }) => ({ text: 'I ask.', calls: [{ tool: 'helper', args: { prompt: goal, reason: 'r' } }] }),
    },
    { reply: ({ toolResults }) => `Done after ${toolResults.length}.` },
  ]);
  const send = toolOf('send', ({ to }) => {
    sent.push(to as string);
    return `sent to ${to as string}`;
  });
  const helper = defineAgent({
    name: 'helper',
    description: 'Helps.',
    prompt: 'Help.',
    models: [model],
    tools: [toolOf('look', () => 'seen'), send],
    approve: { send: {} },
    limits: { maxRetries: 1 },
  });
  const lead = defineAgent({
    name: 'lead',
    description: 'Leads.',
    prompt: 'Lead.',
    models: [model],
    agents: [helper],
    tools: [send],
    approve: { send: {} },
    asks: true,
  });
  const other = defineAgent({ name: 'other', description: 'Is another one.', prompt: 'Answer.', models: [model] });
  return { agents: [lead, other], model, sent };
};

const call = (tool: string, args: Readonly<Record<string, string>> = {}) => ({ tool, args });

/** The events of one stream, each of them accepted by the official schema. */
export type SeenRun = {
  readonly events: readonly BaseEvent[];
  readonly types: readonly string[];
  readonly error: Error | null;
};

export class Client {
  readonly agent: HttpAgent;

  constructor(url: string, token: string, path = 'lead') {
    this.agent = new HttpAgent({
      url: `${url}/ag-ui/${path}`,
      headers: { authorization: `Bearer ${token}` },
      threadId: 'thread-1',
    });
  }

  say(content: string): this {
    this.agent.addMessage({ id: crypto.randomUUID(), role: 'user', content });
    return this;
  }

  async run(
    parameters: RunAgentParameters = {},
    onEvent: (event: BaseEvent) => void = () => undefined,
  ): Promise<SeenRun> {
    const events: BaseEvent[] = [];
    let error: Error | null = null;
    await this.agent
      .runAgent(parameters, {
        onEvent: ({ event }) => {
          EventSchemas.parse(event);
          events.push(event);
          onEvent(event);
        },
      })
      .catch((failure: unknown) => void (error = failure as Error));
    return { events, types: events.map(({ type }) => type), error };
  }

  resume(entries: readonly ResumeEntry[]): Promise<SeenRun> {
    return this.run({ resume: [...entries] });
  }

  /** What the person reads, without sub-agents. */
  get texts(): readonly string[] {
    return this.agent.messages.flatMap((message) =>
      message.role === 'assistant' && message.subagentRunId === undefined && message.content !== undefined
        ? [message.content]
        : [],
    );
  }
}

export const interruptsOf = ({ events }: SeenRun): readonly Interrupt[] => {
  const outcome = events.at(-1)?.['outcome'] as { readonly interrupts?: readonly Interrupt[] } | undefined;
  return outcome?.interrupts ?? [];
};

export const serveTeam = async (options: Omit<ServeOptions, 'agents' | 'tokens'> = {}, sees?: Sees, made = team()) => {
  const served = await serveAgents({ agents: made.agents, tokens: callers(sees), ...options });
  const clientOf = (token: string, path?: string): Client => new Client(served.url, token, path);
  const rest = async (token: string, path: string, json?: object): Promise<any> =>
    (
      await fetch(served.url + path, {
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(json === undefined ? {} : { method: 'POST', body: JSON.stringify(json) }),
      })
    ).json();
  return { ...made, ...served, clientOf, ann: clientOf('ann'), rest };
};
