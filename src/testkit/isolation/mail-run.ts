// One run of agents that exchange messages. Its models reply what and when the acts say, and it can crash at any moment.
//
//   request-names-cell. The latest record at the time of a model request names the requesting cell, so two sessions of one
//       agent are distinct.
//   act-takes-fixed-time. An act takes the same time, whatever private work precedes it.
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { JsonObject } from '#base';
import type { Agent, Birth, Frame, Outcome, SessionResources, ToolOutput } from '#contracts';
import { checkResume, resumeRun, startRun } from '#core/orchestration';
import type { Run } from '#core/orchestration';
import { Rng } from './rng.ts';
import { createTestModel } from './test-model.ts';
import type { TestModelOutput } from './test-model.ts';
import { aideWorkflow, isVariedSession, MailCell } from './mail-cell.ts';
import type { Act, MailVariation } from './mail-cell.ts';
import { actMs, buildMailReply, settleAides, workPrivately } from './private-work.ts';
import type { MailContent } from './private-work.ts';
import { createStandInSource, drawToolOutput } from './stand-in-tools.ts';
import type { TestAgent, AgentTree } from './agent-tree.ts';
import { TestRun } from './test-run.ts';
import type { TestRunSetting } from './test-run.ts';

type MailSetting = TestRunSetting & {
  readonly seed: string;
  readonly root: TestAgent;
  readonly goal: string;
  /** Null: the root ends with its goal. Otherwise it is a resident with these initial topics. */
  readonly resident: readonly string[] | null;
  readonly variation: MailVariation | null;
};

export class MailRun extends TestRun<MailCell, MailSetting> {
  outcome: Outcome | null = null;
  /** Why the run could not be recorded, or not be resumed after a crash. */
  broken: string | null = null;
  /** How many frames there were when the run was cancelled: nobody is told of what ended later. */
  framesAtClose = Infinity;
  readonly #tree: AgentTree;
  /** During private work, ids come from a source of their own, so that the others stay the same. */
  #privateIds: Rng | null = null;
  readonly #agents = new Map<string, Agent>();
  /** Incremented by a crash; whatever an earlier generation still does has no effect. */
  #generation = 0;
  live!: Run;

  constructor(team: AgentTree, setting: MailSetting) {
    super(setting);
    this.#tree = team;
  }

  async start(): Promise<void> {
    const { root, goal, resident } = this.setting;
    const options = { system: this.#system(), ...(resident === null ? {} : { resident: { topics: resident } }) };
    this.#follow(startRun(root.agent, goal, undefined, this.#portsOfProcess(), options));
    await this.time.settle();
  }

  /** Draws the caller's own instructions. They are private to the root. */
  #system(): readonly string[] {
    const { seed, variation, root } = this.setting;
    if (!new Rng(`${seed} system`).percent(25)) return [];
    const { name } = root.agent;
    const isVaried = variation !== null && (variation.place === null ? variation.agent : variation.place) === name;
    return [new Rng(`${seed} ${isVaried ? variation.salt : ''} system`).words()];
  }

  get isOver(): boolean {
    return this.outcome !== null || this.broken !== null;
  }

  /** Sessions with a pending model request, in the order in which they started. */
  get waitingForReply(): readonly MailCell[] {
    return this.cells.filter(({ pendingRequest, isAide }) => pendingRequest !== null && !isAide);
  }

  agentOf({ birth }: MailCell): Agent {
    return this.#agents.get(`${birth.agent} ${birth.digest}`)!;
  }

  testAgentOf(state: MailCell): TestAgent | undefined {
    return this.findTestAgent(this.agentOf(state));
  }

  /** An act that is no longer possible has no effect. */
  async perform(act: Act): Promise<void> {
    if (this.isOver) return;
    await this.#perform(act);
    const before = this.frames.length;
    await settleAides(this, (state) => this.#rngFor(state, `is woken ${state.replies}`));
    const late = this.frames.slice(before).flatMap(({ contents = [] }) => contents);
    if (late.some(({ kind, cell }) => kind === 'message' && this.cellState(cell)?.isAide === false))
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
  async answer(state: MailCell, content: MailContent, rng: Rng): Promise<void> {
    const { pendingRequest: question } = state;
    if (question === null) return;
    const reply = buildMailReply(state, content, rng);
    state.pendingRequest = null;
    state.failures = 0;
    question.answer({ ...reply, turn: state.replies++, delayMs: 0 });
    await this.time.settle();
  }

  /** A session's model fails with this HTTP status. */
  async fail(state: MailCell, fault: number, message: string): Promise<void> {
    const { pendingRequest: question } = state;
    state.pendingRequest = null;
    question?.answer({ fault, message, turn: state.replies, delayMs: 0 });
    await this.time.settle();
  }

  /** The source of a session's private content. */
  #rngFor(state: MailCell | undefined, of: string): Rng {
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
        this.#portsOfProcess(),
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

  #portsOfProcess() {
    const life = this.#generation;
    return this.ports(() => this.#generation !== life);
  }

  protected override drawId(): string {
    return this.#privateIds?.hex() ?? super.drawId();
  }

  protected override onFrame({ record }: Frame): void {
    const birth: Birth | undefined = record.type === 'open' || record.type === 'begin' ? record.birth : undefined;
    if (birth === undefined) return;
    const parent = birth.parent === null ? null : (this.cellState(birth.parent) ?? null);
    const isAide = birth.spawned?.workflow?.startsWith(aideWorkflow) === true;
    const nth =
      this.cells.filter((one) => one.parent === parent && one.birth.agent === birth.agent && one.isAide === isAide)
        .length + 1;
    const label = isAide ? `${birth.agent} besides` : birth.agent;
    const place = parent === null ? birth.agent : `${parent.place} › ${label} #${nth}`;
    const testAgent = this.#tree.all.find((one) => one.agent.name === birth.agent);
    this.addCell(new MailCell(birth, place, parent), testAgent);
  }

  protected override equip(agent: Agent): SessionResources {
    const life = this.#generation;
    const isOver = (): boolean => this.#generation !== life;
    this.#agents.set(`${agent.name} ${agent.digest}`, agent);
    const testAgent = this.findTestAgent(agent);
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
        source: createStandInSource(source, this),
      })),
    };
  }

  /** An agent that was defined inline, or that shares more, is not in the tree; then the one with its name is used. */
  protected override findTestAgent(agent: Agent): TestAgent | undefined {
    return this.#tree.find(agent) ?? this.#tree.all.find((testAgent) => testAgent.agent.name === agent.name);
  }

  #waitForReply(options: LanguageModelV4CallOptions, model: number, isOver: () => boolean): Promise<TestModelOutput> {
    const cell = this.frames.at(-1)?.cell;
    const state = cell === undefined ? undefined : this.cellState(cell);
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

  protected override drawOutput(state: MailCell, name: string, args: JsonObject): ToolOutput {
    const testAgent = this.testAgentOf(state);
    const secrets = testAgent === undefined ? [] : this.setting.secretsOf(testAgent);
    return drawToolOutput(name, args, this.#rngFor(state, `${name} ${JSON.stringify(args)}`), { secrets });
  }
}

const closingMs = 1_000_000;
