// Teams whose members reply with what a test says, in virtual time; every request is kept.
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { defineAgent, defineTeam, openCloister } from 'cloister';
import type { Agent, AgentOptions, TaskSpec, TeamOptions, TeamSession } from 'cloister';
import { virtualClock } from 'cloister/testkit';

export type Reply = {
  readonly text: string;
  readonly ms?: number;
  readonly tokens?: number;
  readonly call?: { tool: string; args: object };
};
export type Request = {
  readonly agent: string;
  readonly prompt: string;
  readonly options: LanguageModelV4CallOptions;
};
/** The reply of a member; if this throws, the model fails. */
export type Say = (request: Request) => Reply | string;

const usageOf = (tokens: number) => ({
  inputTokens: { total: tokens, noCache: tokens, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
});

export class TeamStage {
  readonly clock = virtualClock(1_000_000);
  readonly requests: Request[] = [];
  readonly say: Say;

  constructor(say: Say) {
    this.say = say;
  }

  agent(name: string, options: Partial<AgentOptions> = {}): Agent {
    return defineAgent({
      name,
      description: `${name} works.`,
      prompt: `You are ${name}.`,
      models: [this.#model(name)],
      limits: { maxRetries: 0 },
      ...options,
    });
  }

  team(names: readonly string[], options: Partial<TeamOptions> = {}): Agent {
    return defineTeam({ name: 'crew', agents: names.map((name) => this.agent(name)), ...options });
  }

  async open(...agents: readonly Agent[]) {
    return openCloister({ agents, store: 'memory', clock: this.clock });
  }

  /** Runs tasks to the end; virtual time passes as needed. */
  async run(
    team: Agent,
    tasks: readonly TaskSpec[],
    options: Parameters<Awaited<ReturnType<TeamStage['open']>>['runTasks']>[2] = {},
  ) {
    const cloister = await this.open(team);
    const session = cloister.runTasks(team, tasks, options);
    const outcome = await this.finish(session);
    return { cloister, session, outcome, tasks: [...session.queue.tasks()] };
  }

  async finish(session: TeamSession) {
    const ended = { is: false };
    const end = (): void => void (ended.is = true);
    session.outcome.then(end, end);
    for (let round = 0; !ended.is; round++) {
      if (round > 100_000) throw new Error('The team does not finish.');
      await this.clock.advance(10);
    }
    return session.outcome;
  }

  /** The first prompt of a task: its user messages, joined by blank lines. */
  shown(title: string): string {
    const found = this.requests.find(({ prompt }) => prompt.startsWith(`# Task: ${title}\n`));
    if (found === undefined) throw new Error(`There is no request for the task ${title}.`);
    return found.prompt;
  }

  #model(agent: string): LanguageModelV4 {
    return {
      specificationVersion: 'v4',
      provider: 'test',
      modelId: agent,
      supportedUrls: {},
      doGenerate: () => Promise.reject(new Error('Not used.')),
      doStream: async (options) => {
        const request = { agent, prompt: userText(options), options };
        this.requests.push(request);
        const reply = this.say(request);
        const { text, ms = 0, call, tokens = 10 } = typeof reply === 'string' ? { text: reply } : reply;
        if (ms > 0) await new Promise<void>((resolve) => void this.clock.timer(ms, resolve));
        return { stream: streamOf(text, call, tokens) };
      },
    };
  }
}

const userText = ({ prompt }: LanguageModelV4CallOptions): string =>
  prompt
    .slice(1)
    .filter(({ role }) => role === 'user')
    .map(({ content }) =>
      typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    )
    .join('\n\n');

const streamOf = (text: string, call: Reply['call'], tokens: number) =>
  new ReadableStream({
    start: (controller) => {
      controller.enqueue({ type: 'stream-start', warnings: [] });
      controller.enqueue({ type: 'text-start', id: '0' });
      controller.enqueue({ type: 'text-delta', id: '0', delta: text });
      controller.enqueue({ type: 'text-end', id: '0' });
      if (call !== undefined)
        controller.enqueue({
          type: 'tool-call',
          toolCallId: 'c1',
          toolName: call.tool,
          input: JSON.stringify(call.args),
        });
      const unified = call === undefined ? 'stop' : 'tool-calls';
      controller.enqueue({ type: 'finish', finishReason: { unified, raw: unified }, usage: usageOf(tokens) });
      controller.close();
    },
  }) as Awaited<ReturnType<LanguageModelV4['doStream']>>['stream'];

/** A minimal task. */
export const task = (id: string, dependsOn: readonly string[] = [], more: Partial<TaskSpec> = {}): TaskSpec => ({
  id,
  title: `Title ${id}`,
  description: `Do ${id}.`,
  ...(dependsOn.length === 0 ? {} : { dependsOn }),
  ...more,
});
