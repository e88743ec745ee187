// A run whose models reply with what a test says, when it says it; the run can be crashed at any moment.
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { validate } from '#adapters/schemas';
import { memoryCellFolders } from '#adapters/cell-folders';
import type { RunId } from '#base';
import type { Agent, Frame, History, RunPorts } from '#contracts';
import { auditRun } from '#core/audit';
import { readRunMail } from '#core/events';
import { checkResume, resumeRun, startRun } from '#core/orchestration';
import type { Run } from '#core/orchestration';
import { countingIds, rehearse, virtualClock } from '#testkit';
import type { ScriptedReply } from '#testkit';

type OnRequest = (request: { readonly agent: string; readonly options: LanguageModelV4CallOptions }) => void;
/** What the root starts with. */
type Beginning = { readonly goal: string | null; readonly history?: History };
type PendingRequest = { readonly options: LanguageModelV4CallOptions; proceed(): void };

export class Stage {
  readonly clock = virtualClock(1_000_000);
  readonly ids = countingIds();
  readonly agents: readonly Agent[];
  frames: Frame[] = [];
  /** Called before each frame that is appended, except while a run is being resumed. */
  beforeFrame: ((frame: Frame) => void) | null = null;
  /** The timers of the current process. */
  timers = new Set<unknown>();
  live: Run;
  readonly #pending = new Map<string, PendingRequest>();
  readonly #replies = new Map<string, ScriptedReply>();
  #firstReply: ((agent: string) => ScriptedReply | null) | null = null;
  /** Incremented by a crash: whatever an earlier process still does has no effect. */
  #incarnation = 0;
  #isResuming = false;
  readonly #onRequest: OnRequest | undefined;

  /** `agents`: the first is the root. */
  constructor(
    agents: readonly Agent[],
    resident: boolean,
    onRequest?: OnRequest,
    begin: Beginning = { goal: 'Begin.' },
  ) {
    this.agents = agents;
    this.#onRequest = onRequest;
    const { goal, history } = begin;
    this.live = startRun(agents[0]!, goal, undefined, this.#world(), {
      history,
      ...(resident ? { resident: {} } : {}),
    });
    this.live.outcome.catch(() => undefined);
  }

  /** Waits until everything that can happen without time passing has happened. */
  async settle(): Promise<void> {
    await this.clock.advance(0);
    await this.clock.advance(0);
  }

  /** Work on long texts takes many turns of the event loop, though no virtual time passes. */
  async until(condition: () => boolean): Promise<void> {
    for (let round = 0; !condition(); round++) {
      if (round > 100_000) throw new Error('The condition was never met.');
      await this.settle();
    }
  }

  /** The agents whose models have a pending request. */
  get pending(): readonly string[] {
    return [...this.#pending.keys()];
  }

  async say(agent: string, reply: ScriptedReply): Promise<void> {
    const request = this.#pending.get(agent);
    if (request === undefined) throw new Error(`${agent} has no pending request.`);
    this.#pending.delete(agent);
    this.#replies.set(agent, reply);
    request.proceed();
    await this.settle();
  }

  /** From now on every agent replies with this immediately to its first request; null: it waits for `say`. */
  answerAll(first: (agent: string) => ScriptedReply | null): void {
    this.#firstReply = first;
    for (const [agent, { options, proceed }] of this.#pending) this.#answer(agent, options, proceed);
  }

  #answer(agent: string, options: LanguageModelV4CallOptions, proceed: () => void): void {
    const isFirst = !options.prompt.some(({ role }) => role === 'assistant');
    const reply = isFirst ? (this.#firstReply?.(agent) ?? null) : null;
    if (reply === null) return void this.#pending.set(agent, { options, proceed });
    this.#pending.delete(agent);
    this.#replies.set(agent, reply);
    proceed();
  }

  /** The tool results of the newest turn in an agent's pending request. */
  results(agent: string): readonly string[] {
    const prompt = this.#pending.get(agent)?.options.prompt ?? [];
    const start = prompt.findLastIndex(({ role }) => role === 'assistant') + 1;
    return prompt
      .slice(start)
      .flatMap((message) =>
        message.role === 'tool'
          ? message.content.flatMap((part) =>
              part.type === 'tool-result' && (part.output.type === 'text' || part.output.type === 'error-text')
                ? [part.output.value]
                : [],
            )
          : [],
      );
  }

  /** The whole prompt of an agent's pending request, as JSON. */
  shown(agent: string): string {
    return JSON.stringify(this.#pending.get(agent)?.options.prompt ?? []);
  }

  /** The newest user message in an agent's pending request, as JSON. */
  shownLast(agent: string): string {
    return JSON.stringify(this.#pending.get(agent)?.options.prompt.findLast(({ role }) => role === 'user') ?? null);
  }

  /** Simulates a crash: a new process resumes the run from the log. */
  async crash(): Promise<void> {
    this.#incarnation++;
    this.#pending.clear();
    this.frames = [...this.frames];
    this.#isResuming = true;
    this.live = resumeRun(
      checkResume([...this.frames], (name) => this.agents.find((agent) => agent.name === name)),
      this.#world(),
    );
    this.#isResuming = false;
    this.live.outcome.catch(() => undefined);
    await this.settle();
  }

  mail() {
    return readRunMail(this.frames);
  }

  audit() {
    return auditRun(this.frames, { readBlob: async () => new Uint8Array(), damaged: [] });
  }

  #world(): RunPorts {
    const incarnation = this.#incarnation;
    const { frames } = this;
    const isDead = (): boolean => this.#incarnation !== incarnation;
    const timers = (this.timers = new Set());
    const workspaces = memoryCellFolders();
    return {
      run: 'c0ffee000001' as RunId,
      log: {
        append: (frame) => {
          if (isDead()) return;
          if (!this.#isResuming) this.beforeFrame?.(frame);
          frames.push(frame);
        },
        durable: () => undefined,
        close: async () => undefined,
      },
      clock: {
        now: () => this.clock.now(),
        timer: (ms, due) => {
          const stop = this.clock.timer(ms, () => {
            timers.delete(stop);
            if (!isDead()) due();
          });
          timers.add(stop);
          return () => {
            timers.delete(stop);
            stop();
          };
        },
      },
      ids: this.ids,
      workspaces,
      validate,
      resources: { resourcesFor: ({ name }) => ({ models: [{ language: this.#model(name, isDead) }], sources: [] }) },
      storeBlob: async () => 'kept',
      readBlob: async () => new Uint8Array(),
      lane: () => undefined,
    };
  }

  #model(agent: string, isDead: () => boolean): LanguageModelV4 {
    const model = rehearse([{ reply: () => this.#replies.get(agent)! }], { clock: this.clock, keepRequests: false });
    return {
      ...model,
      doStream: async (options) => {
        if (!isDead()) this.#onRequest?.({ agent, options });
        await new Promise<void>((resolve, reject) => {
          options.abortSignal?.addEventListener('abort', () => {
            if (this.#pending.get(agent)?.options === options) this.#pending.delete(agent);
            reject(new Error('aborted'));
          });
          if (!isDead()) this.#answer(agent, options, resolve);
        });
        return model.doStream(options);
      },
    };
  }
}
