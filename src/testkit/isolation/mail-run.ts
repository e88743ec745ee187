// One run of agents that exchange messages. Its models reply what and when the acts say, and it can crash at any moment.
//
//   K1. The latest record at the time of a model request names the requesting cell, so two sessions of one agent are distinct.
//   K2. An act takes the same time, whatever private work precedes it.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { sha256 } from '#base';
import type { CellId, RunId } from '#base';
import { memoryCellFolders } from '#adapters/cell-folders';
import type { Agent, Birth, SessionResources, Frame, Outcome, ToolDefinition, Validate, RunPorts } from '#contracts';
import { checkResume, resumeRun, startRun } from '#core/orchestration';
import type { Run } from '#core/orchestration';
import { Rng } from './rng.ts';
import { trackCall, FakeTime } from './fake-time.ts';
import type { OpenCalls } from './fake-time.ts';
import { createTestModel } from './test-model.ts';
import type { TestModelOutput } from './test-model.ts';
import { aideWorkflow } from './mail-act.ts';
import type { Act } from './mail-act.ts';
import { actMs, buildMailReply, drawToolOutput, settleAides, workPrivately } from './private-work.ts';
import type { MailContent } from './private-work.ts';
import { isVariedSession, MailCellState } from './mail-cell-state.ts';
import type { MailVariation } from './mail-cell-state.ts';
import { createObservedSource } from './observed-source.ts';
import type { TestAgent, AgentTree } from './agent-tree.ts';
import type { RedactFor } from './test-environment.ts';

export type MailSetting = {
  readonly seed: string;
  readonly root: TestAgent;
  readonly goal: string;
  /** Null: the root ends with its goal. Otherwise it is a resident with these initial topics. */
  readonly resident: readonly string[] | null;
  readonly variation: MailVariation | null;
  readonly validate: Validate;
  readonly usesRealTools: boolean;
  /** Whether clients listen during the run. */
  readonly hasListeners: boolean;
  environmentOf(testAgent: TestAgent): string | null;
  readonly redactFor: RedactFor;
};

export class MailRun {
  readonly cells: MailCellState[] = [];
  outcome: Outcome | null = null;
  /** Why the run could not be recorded, or not be resumed after a crash. */
  broken: string | null = null;
  frames: Frame[] = [];
  /** How many frames there were when the run was cancelled: nobody is told of what ended later. */
  framesAtClose = Infinity;
  readonly setting: MailSetting;
  readonly time: FakeTime;
  readonly #tree: AgentTree;
  readonly #ids: Rng;
  /** During private work, ids come from a source of their own, so that the others stay the same. */
  #privateIds: Rng | null = null;
  readonly #calls: OpenCalls = { count: 0 };
  readonly #byCell = new Map<CellId, MailCellState>();
  readonly #agents = new Map<string, Agent>();
  readonly #blobs = new Map<string, Uint8Array>();
  readonly #workspaces = memoryCellFolders();
  /** The cell that is about to get its resources. */
  #starting: MailCellState | null = null;
  /** Incremented by a crash; whatever an earlier generation still does has no effect. */
  #generation = 0;
  live!: Run;

  constructor(team: AgentTree, setting: MailSetting) {
    this.#tree = team;
    this.setting = setting;
    this.time = new FakeTime(1_800_000_000_000, setting.usesRealTools ? this.#calls : null);
    this.#ids = new Rng(`${setting.seed} ids`);
  }

  async start(): Promise<void> {
    const { root, goal, resident } = this.setting;
    const options = resident === null ? {} : { resident: { topics: resident } };
    this.#follow(startRun(root.agent, goal, undefined, this.#world(), options));
    await this.time.settle();
  }

  get isOver(): boolean {
    return this.outcome !== null || this.broken !== null;
  }

  /** Sessions with a pending model request, in the order in which they started. */
  get waitingForReply(): readonly MailCellState[] {
    return this.cells.filter(({ pendingRequest, isAide }) => pendingRequest !== null && !isAide);
  }

  agentOf({ birth }: MailCellState): Agent {
    return this.#agents.get(`${birth.agent} ${birth.digest}`)!;
  }

  testAgentOf(state: MailCellState): TestAgent | undefined {
    return this.#findTestAgent(this.agentOf(state));
  }

  cellState(cell: CellId): MailCellState | undefined {
    return this.#byCell.get(cell);
  }

  /** An act that is no longer possible has no effect. */
  async perform(act: Act): Promise<void> {
    if (this.isOver) return;
    await this.#perform(act);
    const before = this.frames.length;
    await settleAides(this, (state) => this.#rngFor(state, `is woken ${state.replies}`));
    const late = this.frames.slice(before).flatMap(({ contents = [] }) => contents);
    if (late.some(({ kind, cell }) => kind === 'message' && this.#byCell.get(cell)?.isAide === false))
      this.broken = 'an aide answered too late';
  }

  async #perform(act: Act): Promise<void> {
    switch (act.do) {
      case 'say':
        return this.#reply(act);
      case 'crash':
        return this.#crash();
      case 'pass':
        await this.time.advance(act.ms);
        return this.time.settle();
      case 'end':
      case 'tell':
        this.#sendFromOutside(act);
        return this.time.settle();
    }
  }

  /** Cancels the run if it has not ended, and waits for its end. */
  async close(): Promise<void> {
    this.framesAtClose = this.frames.length;
    if (!this.isOver) this.live.do({ do: 'cancel' });
    await this.time.advance(closingMs);
    await this.time.settle();
    if (!this.isOver) this.broken = 'It did not end after it was cancelled.';
  }

  async #reply({ place, calls, text }: Extract<Act, { do: 'say' }>): Promise<void> {
    const state = this.cells.find((one) => one.place === place);
    if (state === undefined) return;
    const rng = this.#rngFor(state, `says ${state.replies}`);
    const until = this.time.now() + actMs;
    this.#privateIds = this.#rngFor(state, `ids ${state.replies}`);
    await workPrivately(this, state, rng);
    this.#privateIds = null;
    if (this.time.now() > until) this.broken = 'Private work took too long.';
    else await this.time.advance(until - this.time.now());
    await this.answer(state, { calls, text }, rng);
  }

  /** A reply of a session's model. */
  async answer(state: MailCellState, content: MailContent, rng: Rng): Promise<void> {
    const { pendingRequest: question } = state;
    if (question === null) return;
    const reply = buildMailReply(state, content, rng);
    state.pendingRequest = null;
    state.failures = 0;
    question.answer({ ...reply, turn: state.replies++, delayMs: 0 });
    await this.time.settle();
  }

  /** A session's model fails with this HTTP status. */
  async fail(state: MailCellState, fault: number, message: string): Promise<void> {
    const { pendingRequest: question } = state;
    state.pendingRequest = null;
    question?.answer({ fault, message, turn: state.replies, delayMs: 0 });
    await this.time.settle();
  }

  /** The source of a session's private content. */
  #rngFor(state: MailCellState | undefined, of: string): Rng {
    const { seed, variation } = this.setting;
    const salt = state !== undefined && isVariedSession(variation, state) ? variation!.salt : '';
    return new Rng(`${seed} ${salt} ${state?.place} ${of}`);
  }

  #sendFromOutside(act: Extract<Act, { do: 'end' | 'tell' }>): void {
    try {
      if (act.do === 'tell')
        this.live.do({ do: 'send', text: act.text, ...(act.topic === undefined ? {} : { topic: act.topic }) });
      else this.live.do({ do: 'finish', name: this.cells.find(({ place }) => place === act.place)?.birth.cell ?? '' });
    } catch {
      // The run has ended, or the mailbox is full.
    }
  }

  async #crash(): Promise<void> {
    this.#generation++;
    for (const state of this.cells) state.pendingRequest = null;
    this.frames = [...this.frames];
    const { agent } = this.setting.root;
    this.#follow(
      resumeRun(
        checkResume([...this.frames], (name) => (name === agent.name ? agent : undefined)),
        this.#world(),
      ),
    );
    await this.time.settle();
  }

  #follow(live: Run): void {
    this.live = live;
    const life = this.#generation;
    live.outcome.then(
      (outcome) => void (this.#generation === life && (this.outcome = outcome)),
      (error: unknown) =>
        void (this.#generation === life && (this.broken = error instanceof Error ? error.message : 'unknown error')),
    );
  }

  #world(): RunPorts {
    const life = this.#generation;
    const { frames, setting } = this;
    const isOver = (): boolean => this.#generation !== life;
    return {
      run: 'f00d00000001' as RunId,
      log: {
        append: (frame) => void (isOver() || (frames.push(frame), this.#addCell(frame))),
        durable: () => undefined,
        close: async () => undefined,
      },
      clock: { now: () => this.time.now(), timer: (ms, due) => this.time.timer(ms, () => void (isOver() || due())) },
      ids: { random: () => (this.#privateIds ?? this.#ids).hex() },
      workspaces: this.#workspaces,
      validate: setting.validate,
      redactFor: (agent) => setting.redactFor(agent, agent === null ? undefined : this.#findTestAgent(agent)),
      resources: { resourcesFor: (agent) => this.#equip(agent, isOver) },
      storeBlob: async (bytes) => {
        const ref = sha256(bytes);
        this.#blobs.set(ref, bytes);
        return ref;
      },
      readBlob: async (ref) => this.#blobs.get(ref)!,
      lane: () => undefined,
      listener: {
        hasLiveListeners: setting.hasListeners,
        onLive: (cell, _agent, event) =>
          void (isOver() || this.#byCell.get(cell)?.observer.record('live', JSON.stringify(event))),
      },
    };
  }

  #addCell({ record }: Frame): void {
    const birth: Birth | undefined = record.type === 'open' || record.type === 'begin' ? record.birth : undefined;
    if (birth === undefined) return;
    const parent = birth.parent === null ? null : (this.#byCell.get(birth.parent) ?? null);
    const isAide = birth.spawned?.workflow?.startsWith(aideWorkflow) === true;
    const nth =
      this.cells.filter((one) => one.parent === parent && one.birth.agent === birth.agent && one.isAide === isAide)
        .length + 1;
    const label = isAide ? `${birth.agent} besides` : birth.agent;
    const place = parent === null ? birth.agent : `${parent.place} › ${label} #${nth}`;
    const state = new MailCellState(birth, place, parent);
    this.cells.push(state);
    this.#byCell.set(birth.cell, state);
    this.#starting = state;
  }

  #equip(agent: Agent, isOver: () => boolean): SessionResources {
    this.#agents.set(`${agent.name} ${agent.digest}`, agent);
    const testAgent = this.#findTestAgent(agent);
    const environment = testAgent === undefined ? null : this.setting.environmentOf(testAgent);
    // Only the first time: after a crash, the cell is not new.
    if (environment !== null) this.#starting?.observer.record('environment', environment);
    this.#starting = null;
    const models = testAgent?.models ?? [{ provider: 'any', modelId: 'model' }];
    return {
      models: models.map((model, index) =>
        createTestModel(model, {
          reply: (options) => this.#waitForReply(options, index, isOver),
          sleep: () => undefined,
        }),
      ),
      sources: (testAgent?.sources ?? []).map((source) => ({
        only: source.only,
        source: createObservedSource(source, (...called) => this.tool(...called)),
      })),
    };
  }

  /** An agent that was defined inline, or that shares more, is not in the tree; then the one with its name is used. */
  #findTestAgent(agent: Agent): TestAgent | undefined {
    return this.#tree.find(agent) ?? this.#tree.all.find((testAgent) => testAgent.agent.name === agent.name);
  }

  #waitForReply(options: LanguageModelV4CallOptions, model: number, isOver: () => boolean): Promise<TestModelOutput> {
    const cell = this.frames.at(-1)?.cell;
    const state = cell === undefined ? undefined : this.#byCell.get(cell);
    if (isOver()) return new Promise(() => undefined);
    if (state === undefined) throw new Error('A model was called, but no record says for which cell.');
    state.observer.request(options);
    return new Promise<TestModelOutput>((resolve, reject) => {
      const question = { options, model, answer: resolve };
      state.pendingRequest = question;
      options.abortSignal?.addEventListener('abort', () => {
        if (state.pendingRequest === question) state.pendingRequest = null;
        reject(new Error('Aborted.'));
      });
    });
  }

  /** Handles a call of an agent's own tool. */
  tool(name: string, call: Parameters<ToolDefinition['execute']>, own: ToolDefinition | null) {
    const [args, context] = call;
    const state = this.#byCell.get(context.key.slice(0, context.key.lastIndexOf('/')) as CellId);
    state?.observer.record(
      `call of ${name}`,
      JSON.stringify({ args, key: context.key, context: Object.keys(context) }),
    );
    if (own !== null) return trackCall(this.#calls, () => own.execute(args, context));
    return drawToolOutput(name, args, this.#rngFor(state, `${name} ${JSON.stringify(args)}`));
  }
}

const closingMs = 1_000_000;
