// A run whose models say what a test tells them, when it tells them; it can be crashed at any moment.
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { validate } from '#adapters/schemas';
import { memoryCellFolders } from '#adapters/cell-folders';
import type { RunId } from '#base';
import type { Agent, Frame } from '#contracts';
import { auditRun, mailIn } from '#core/audit';
import { resumeRun, startRun } from '#core/orchestration';
import type { RunHandle, RunWorldPorts } from '#core/orchestration';
import { countingIds, rehearse, virtualClock } from '#testkit';
import type { ScriptedReply } from '#testkit';

type OnAsk = (asked: { readonly agent: string; readonly options: LanguageModelV4CallOptions }) => void;
type Asked = { readonly options: LanguageModelV4CallOptions; go(): void };

export class Stage {
  readonly clock = virtualClock(1_000_000);
  readonly ids = countingIds();
  readonly agents: readonly Agent[];
  frames: Frame[] = [];
  /** Those that this life has set. */
  timers = new Set<unknown>();
  live: RunHandle;
  readonly #asked = new Map<string, Asked>();
  readonly #said = new Map<string, ScriptedReply>();
  #first: ((agent: string) => ScriptedReply | null) | null = null;
  /** Raised by a crash: what an earlier life still does reaches nobody. */
  #life = 0;
  readonly #onAsk: OnAsk | undefined;

  /** `agents`: the first is the root. */
  constructor(agents: readonly Agent[], resident: boolean, onAsk?: OnAsk) {
    this.agents = agents;
    this.#onAsk = onAsk;
    this.live = startRun(agents[0]!, 'Begin.', undefined, this.#world(), resident ? { resident: {} } : {});
    this.live.outcome.catch(() => undefined);
  }

  /** Everything that can happen without time passing has happened. */
  async settle(): Promise<void> {
    await this.clock.advance(0);
    await this.clock.advance(0);
  }

  /** What is long takes many turns of the event loop, though no time passes. */
  async until(isSo: () => boolean): Promise<void> {
    for (let round = 0; !isSo(); round++) {
      if (round > 100_000) throw new Error('It does not come to that.');
      await this.settle();
    }
  }

  /** The agents whose models are being asked something. */
  get asked(): readonly string[] {
    return [...this.#asked.keys()];
  }

  async say(agent: string, reply: ScriptedReply): Promise<void> {
    const asked = this.#asked.get(agent);
    if (asked === undefined) throw new Error(`${agent} is asked nothing`);
    this.#asked.delete(agent);
    this.#said.set(agent, reply);
    asked.go();
    await this.settle();
  }

  /** From now on every agent says this at once the first time it is asked; null: it waits to be told. */
  answerAll(first: (agent: string) => ScriptedReply | null): void {
    this.#first = first;
    for (const [agent, { options, go }] of this.#asked) this.#answer(agent, options, go);
  }

  #answer(agent: string, options: LanguageModelV4CallOptions, go: () => void): void {
    const isFirst = !options.prompt.some(({ role }) => role === 'assistant');
    const reply = isFirst ? (this.#first?.(agent) ?? null) : null;
    if (reply === null) return void this.#asked.set(agent, { options, go });
    this.#asked.delete(agent);
    this.#said.set(agent, reply);
    go();
  }

  /** The results of the newest turn in what an agent's model is shown now. */
  results(agent: string): readonly string[] {
    const prompt = this.#asked.get(agent)?.options.prompt ?? [];
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

  /** All that its model is shown, in words. */
  shown(agent: string): string {
    return JSON.stringify(this.#asked.get(agent)?.options.prompt ?? []);
  }

  /** The process dies, and another goes on from the log. */
  async crash(): Promise<void> {
    this.#life++;
    this.#asked.clear();
    this.frames = [...this.frames];
    this.live = resumeRun([...this.frames], (name) => this.agents.find((agent) => agent.name === name), this.#world());
    this.live.outcome.catch(() => undefined);
    await this.settle();
  }

  mail() {
    return mailIn(this.frames);
  }

  audit() {
    return auditRun(this.frames, { blob: async () => new Uint8Array(), damaged: [] });
  }

  #world(): RunWorldPorts {
    const life = this.#life;
    const { frames } = this;
    const isOver = (): boolean => this.#life !== life;
    const timers = (this.timers = new Set());
    const workspaces = memoryCellFolders();
    return {
      run: 'c0ffee000001' as RunId,
      log: {
        append: (frame) => void (isOver() || frames.push(frame)),
        durable: () => undefined,
        close: async () => undefined,
      },
      clock: {
        now: () => this.clock.now(),
        timer: (ms, due) => {
          const stop = this.clock.timer(ms, () => {
            timers.delete(stop);
            if (!isOver()) due();
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
      equip: ({ name }) => ({ models: [{ language: this.#model(name, isOver) }], sources: [] }),
      keep: async () => 'kept',
      blob: async () => new Uint8Array(),
      lane: () => undefined,
    };
  }

  #model(agent: string, isOver: () => boolean): LanguageModelV4 {
    const played = rehearse([{ reply: () => this.#said.get(agent)! }], { clock: this.clock, keepRequests: false });
    return {
      ...played,
      doStream: async (options) => {
        if (!isOver()) this.#onAsk?.({ agent, options });
        await new Promise<void>((resolve, reject) => {
          options.abortSignal?.addEventListener('abort', () => {
            if (this.#asked.get(agent)?.options === options) this.#asked.delete(agent);
            reject(new Error('aborted'));
          });
          if (!isOver()) this.#answer(agent, options, resolve);
        });
        return played.doStream(options);
      },
    };
  }
}
