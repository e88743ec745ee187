// One run of agents that talk, whose models say what they are told, when they are told; it can be crashed at any moment.
//
//   K1. A session is known by the cell that the newest record names when its model is asked: two of one agent are two.
//   K2. No time passes but by an act. So what a session does for itself takes none.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { sha256 } from '#base';
import type { CellId, RunId } from '#base';
import { memoryCellFolders } from '#adapters/cell-folders';
import type { Agent, Birth, SessionResources, Frame, Outcome, Redact, ToolDefinition, Validate } from '#contracts';
import { resumeRun, startRun } from '#core/orchestration';
import type { RunHandle, RunWorldPorts } from '#core/orchestration';
import { Rng } from './rng.ts';
import { counted, FakeTime } from './fake-time.ts';
import type { OpenCalls } from './fake-time.ts';
import { playedModel } from './played-model.ts';
import type { PlayedOutput } from './played-model.ts';
import type { Act } from './mail-act.ts';
import { drawLook, drawLooks, replyWith, toolTells } from './mail-private-turns.ts';
import { isVariedSeat, MailCellState } from './mail-cell-state.ts';
import type { TalkVariation } from './mail-cell-state.ts';
import { talkSource } from './mail-source.ts';
import type { PlayedAgent, Team } from './team.ts';

export type TalkSetting = {
  readonly seed: string;
  readonly root: PlayedAgent;
  readonly goal: string;
  /** Null: the root is there for its goal alone. Else what it hears from the start. */
  readonly resident: readonly string[] | null;
  readonly variation: TalkVariation | null;
  readonly validate: Validate;
  readonly isReal: boolean;
  /** Clients that listen while it runs. */
  readonly heard: boolean;
  told(part: PlayedAgent): string | null;
  readonly redact: Redact | null;
};

export class TalkRun {
  readonly seats: MailCellState[] = [];
  outcome: Outcome | null = null;
  /** Why it could not be recorded, or go on after a crash. */
  broken: string | null = null;
  frames: Frame[] = [];
  readonly setting: TalkSetting;
  readonly time: FakeTime;
  readonly #team: Team;
  readonly #ids: Rng;
  readonly #calls: OpenCalls = { count: 0 };
  readonly #byCell = new Map<CellId, MailCellState>();
  readonly #agents = new Map<string, Agent>();
  readonly #blobs = new Map<string, Uint8Array>();
  readonly #workspaces = memoryCellFolders();
  /** The one that is about to be equipped. */
  #born: MailCellState | null = null;
  /** Raised by a crash: what an earlier life still does reaches nobody. */
  #life = 0;
  live!: RunHandle;

  constructor(team: Team, setting: TalkSetting) {
    this.#team = team;
    this.setting = setting;
    this.time = new FakeTime(1_800_000_000_000, setting.isReal ? this.#calls : null);
    this.#ids = new Rng(`${setting.seed} ids`);
  }

  async start(): Promise<void> {
    const { root, goal, resident } = this.setting;
    const given = resident === null ? {} : { resident: { topics: resident } };
    this.#follow(startRun(root.agent, goal, undefined, this.#world(), given));
    await this.time.rest();
  }

  get isOver(): boolean {
    return this.outcome !== null || this.broken !== null;
  }

  /** Those whose models are being asked something, in the order of their births. */
  get asked(): readonly MailCellState[] {
    return this.seats.filter(({ question }) => question !== null);
  }

  agentOf({ birth }: MailCellState): Agent {
    return this.#agents.get(`${birth.agent} ${birth.digest}`)!;
  }

  partOf(seat: MailCellState): PlayedAgent | undefined {
    return this.#partFor(this.agentOf(seat));
  }

  seatOf(cell: CellId): MailCellState | undefined {
    return this.#byCell.get(cell);
  }

  /** What cannot happen here any more does not. */
  async play(act: Act): Promise<void> {
    if (this.isOver) return;
    switch (act.do) {
      case 'say':
        return this.#say(act);
      case 'crash':
        return this.#crash();
      case 'pass':
        await this.time.advance(act.ms);
        return this.time.rest();
      case 'end':
      case 'tell':
        this.#ask(act);
        return this.time.rest();
    }
  }

  /** However far it has come. */
  async close(): Promise<void> {
    if (!this.isOver) this.live.cancel();
    await this.time.advance(closingMs);
    await this.time.rest();
    if (!this.isOver) this.broken = 'It did not end when it was cancelled.';
  }

  async #say({ place, calls, text }: Extract<Act, { do: 'say' }>): Promise<void> {
    const seat = this.seats.find((one) => one.place === place);
    if (seat === undefined) return;
    const chance = this.#chanceOf(seat, `says ${seat.said}`);
    for (let looks = drawLooks(chance); looks > 0 && seat.question !== null; looks--)
      await this.#answer(seat, { calls: [drawLook(seat, this.partOf(seat), chance)], text: '' }, chance);
    await this.#answer(seat, { calls, text }, chance);
  }

  async #answer(seat: MailCellState, said: Pick<Extract<Act, { do: 'say' }>, 'calls' | 'text'>, chance: Rng) {
    const { question } = seat;
    if (question === null) return;
    const reply = replyWith(seat, said, chance);
    seat.question = null;
    question.answer({ ...reply, turn: seat.said++, delayMs: 0 });
    await this.time.rest();
  }

  /** What a session keeps to itself is drawn from this. */
  #chanceOf(seat: MailCellState | undefined, of: string): Rng {
    const { seed, variation } = this.setting;
    const salt = seat !== undefined && isVariedSeat(variation, seat) ? variation!.salt : '';
    return new Rng(`${seed} ${salt} ${seat?.place} ${of}`);
  }

  #ask(act: Extract<Act, { do: 'end' | 'tell' }>): void {
    try {
      if (act.do === 'tell') this.live.send(act.text, act.topic === undefined ? {} : { topic: act.topic });
      else this.live.finish(this.seats.find(({ place }) => place === act.place)?.birth.cell ?? '');
    } catch {
      // It has ended, or its box is full.
    }
  }

  async #crash(): Promise<void> {
    this.#life++;
    for (const seat of this.seats) seat.question = null;
    this.frames = [...this.frames];
    const { agent } = this.setting.root;
    this.#follow(resumeRun([...this.frames], (name) => (name === agent.name ? agent : undefined), this.#world()));
    await this.time.rest();
  }

  #follow(live: RunHandle): void {
    this.live = live;
    const life = this.#life;
    live.outcome.then(
      (outcome) => void (this.#life === life && (this.outcome = outcome)),
      (error: unknown) =>
        void (this.#life === life && (this.broken = error instanceof Error ? error.message : 'It broke.')),
    );
  }

  #world(): RunWorldPorts {
    const life = this.#life;
    const { frames, setting } = this;
    const isOver = (): boolean => this.#life !== life;
    return {
      run: 'f00d00000001' as RunId,
      log: {
        append: (frame) => void (isOver() || (frames.push(frame), this.#newborn(frame))),
        durable: () => undefined,
        close: async () => undefined,
      },
      clock: { now: () => this.time.now(), timer: (ms, due) => this.time.timer(ms, () => void (isOver() || due())) },
      ids: { random: () => this.#ids.hex() },
      workspaces: this.#workspaces,
      validate: setting.validate,
      redact: setting.redact,
      equip: (agent) => this.#equip(agent, isOver),
      keep: async (bytes) => {
        const ref = sha256(bytes);
        this.#blobs.set(ref, bytes);
        return ref;
      },
      blob: async (ref) => this.#blobs.get(ref)!,
      lane: () => undefined,
      heard: () => setting.heard,
      onLive: (cell, _agent, event) =>
        void (isOver() || this.#byCell.get(cell)?.eye.record('live', JSON.stringify(event))),
    };
  }

  #newborn({ record }: Frame): void {
    const birth: Birth | undefined = record.type === 'open' || record.type === 'begin' ? record.birth : undefined;
    if (birth === undefined) return;
    const parent = birth.parent === null ? null : (this.#byCell.get(birth.parent) ?? null);
    const nth = this.seats.filter((one) => one.parent === parent && one.birth.agent === birth.agent).length + 1;
    const place = parent === null ? birth.agent : `${parent.place} › ${birth.agent} #${nth}`;
    const seat = new MailCellState(birth, place, parent);
    this.seats.push(seat);
    this.#byCell.set(birth.cell, seat);
    this.#born = seat;
  }

  #equip(agent: Agent, isOver: () => boolean): SessionResources {
    this.#agents.set(`${agent.name} ${agent.digest}`, agent);
    const part = this.#partFor(agent);
    const told = part === undefined ? null : this.setting.told(part);
    // After a crash it is not told again.
    if (told !== null) this.#born?.eye.record('environment', told);
    this.#born = null;
    const models = part?.models ?? [{ provider: 'any', modelId: 'model' }];
    return {
      models: models.map((model) =>
        playedModel(model, { say: (options) => this.#listen(options, isOver), sleep: () => undefined }),
      ),
      sources: (part?.sources ?? []).map((source) => ({
        only: source.only,
        source: talkSource(source, (...called) => this.tool(...called)),
      })),
    };
  }

  /** One that was described in a call, or was given more to share, has no part of its own. */
  #partFor(agent: Agent): PlayedAgent | undefined {
    return this.#team.partOf(agent) ?? this.#team.parts.find((part) => part.agent.name === agent.name);
  }

  #listen(options: LanguageModelV4CallOptions, isOver: () => boolean): Promise<PlayedOutput> {
    const cell = this.frames.at(-1)?.cell;
    const seat = cell === undefined ? undefined : this.#byCell.get(cell);
    if (isOver()) return new Promise(() => undefined);
    if (seat === undefined) throw new Error('A model was asked, and no record says for whom.');
    seat.eye.request(options);
    return new Promise<PlayedOutput>((resolve, reject) => {
      const question = { options, answer: resolve };
      seat.question = question;
      options.abortSignal?.addEventListener('abort', () => {
        if (seat.question === question) seat.question = null;
        reject(new Error('Given up.'));
      });
    });
  }

  /** A tool of an agent's own. */
  tool(name: string, call: Parameters<ToolDefinition['execute']>, own: ToolDefinition | null) {
    const [args, context] = call;
    const seat = this.#byCell.get(context.key.slice(0, context.key.lastIndexOf('/')) as CellId);
    seat?.eye.record(`call of ${name}`, JSON.stringify({ args, key: context.key, context: Object.keys(context) }));
    if (own !== null) return counted(this.#calls, () => own.execute(args, context));
    return toolTells(name, args, this.#chanceOf(seat, `${name} ${JSON.stringify(args)}`));
  }
}

const closingMs = 1_000_000;
