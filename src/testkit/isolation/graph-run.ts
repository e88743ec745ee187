// One run of a team through a task graph, with a clock that jumps and with test models.
import { sha256 } from '#base';
import type { CellId, RunId } from '#base';
import { memoryCellFolders } from '#adapters/cell-folders';
import type {
  Agent,
  Birth,
  SessionResources,
  Frame,
  Outcome,
  TeamGoal,
  ToolDefinition,
  Validate,
  RunPorts,
} from '#contracts';
import { startRun } from '#core/orchestration';
import type { Run } from '#core/orchestration';
import { Rng } from './rng.ts';
import { trackCall, FakeTime } from './fake-time.ts';
import type { OpenCalls } from './fake-time.ts';
import type { GraphCase, GraphEvent } from './graph-case.ts';
import type { PreparedTeam } from './test-team.ts';
import { drawTeamReply, drawTeamToolOutput } from './team-model.ts';
import type { TeamModelPorts } from './team-model.ts';
import { TeamCellState } from './team-cell-state.ts';
import { createTestModel } from './test-model.ts';
import { createObservedSource } from './observed-source.ts';
import type { TestAgent } from './agent-tree.ts';
import type { RedactFor } from './test-environment.ts';

export type GraphSetting = {
  readonly graph: GraphCase;
  readonly team: PreparedTeam;
  readonly modelPorts: TeamModelPorts;
  readonly ids: string;
  readonly goal: string | null;
  readonly validate: Validate;
  readonly usesRealTools: boolean;
  environmentOf(testAgent: TestAgent): string | null;
  readonly redactFor: RedactFor;
};

export class GraphRun {
  readonly cells: TeamCellState[] = [];
  readonly frames: Frame[] = [];
  readonly setting: GraphSetting;
  live!: Run;
  outcome!: Outcome;
  readonly #time: FakeTime;
  readonly #ids: Rng;
  readonly #calls: OpenCalls = { count: 0 };
  readonly #byCell = new Map<CellId, TeamCellState>();
  readonly #blobs = new Map<string, Uint8Array>();
  readonly #workspaces = memoryCellFolders();
  /** Of the agents whose sessions have started. */
  readonly #testAgents = new Map<Agent, TestAgent>();
  #newCell: Birth | null = null;

  constructor(setting: GraphSetting) {
    this.setting = setting;
    this.#time = new FakeTime(1_800_000_000_000, setting.usesRealTools ? this.#calls : null);
    this.#ids = new Rng(setting.ids);
  }

  /** Rejects if the run could not be recorded, or waits for something outside. */
  async run(): Promise<void> {
    const { graph, team, goal } = this.setting;
    const { isPlanned, tasks, answer, events, budget } = graph;
    const request: TeamGoal = { goal, tasks: isPlanned ? null : tasks, answer };
    this.live = startRun(team.agent, JSON.stringify(request), budget ?? undefined, this.#world());
    for (const event of events) this.#time.timer(event.atMs, () => this.#applyEvent(event));
    this.outcome = await this.#time.finish(this.live.outcome);
  }

  cellState(cell: string): TeamCellState | undefined {
    return this.#byCell.get(cell as CellId);
  }

  /** Names a cell by its place, which is the same in every run. */
  nameOf(cell: string): string {
    return this.cellState(cell)?.place ?? (cell === this.live.root.cellId ? 'the team' : cell);
  }

  /** Handles a call of an agent's own tool. */
  tool(name: string, call: Parameters<ToolDefinition['execute']>, own: ToolDefinition | null) {
    const [args, context] = call;
    const cell = context.key.slice(0, context.key.lastIndexOf('/'));
    const state = this.cellState(cell);
    const key = context.key.replace(cell, '<cell>');
    state?.observer.record(`call of ${name}`, JSON.stringify({ args, key, context: Object.keys(context) }));
    if (own !== null) return trackCall(this.#calls, () => own.execute(args, context));
    return state === undefined ? '' : drawTeamToolOutput(state, name, args, this.setting.modelPorts);
  }

  #applyEvent(event: GraphEvent): void {
    try {
      if (event.do === 'cancel') this.live.do({ do: 'cancel' });
      else if (event.do === 'tell') this.live.do({ do: 'send', text: event.text, to: event.to });
      // The run may have ended, or the tasks may depend on unknown tasks.
      else this.live.do({ do: 'add-tasks', tasks: event.tasks }).catch(() => undefined);
    } catch {
      // The run has ended.
    }
  }

  #world(): RunPorts {
    const { validate, redactFor, graph } = this.setting;
    return {
      run: 'f00d00000002' as RunId,
      log: {
        append: (frame) => {
          this.frames.push(frame);
          const { record } = frame;
          if (record.type === 'begin' && record.birth !== undefined) this.#newCell = record.birth;
        },
        durable: () => undefined,
        close: async () => undefined,
      },
      clock: this.#time,
      ids: { random: () => this.#ids.hex() },
      workspaces: this.#workspaces,
      validate,
      redactFor: (agent) => redactFor(agent, agent === null ? undefined : this.#testAgents.get(agent)),
      resources: { resourcesFor: (agent) => this.#equip(agent) },
      storeBlob: async (bytes) => {
        const ref = sha256(bytes);
        this.#blobs.set(ref, bytes);
        return ref;
      },
      readBlob: async (ref) => this.#blobs.get(ref)!,
      lane: () => undefined,
      listener: {
        hasLiveListeners: graph.hasListeners,
        onLive: (cell, _agent, event) => this.#byCell.get(cell)?.observer.record('live', JSON.stringify(event)),
      },
    };
  }

  #equip(agent: Agent): SessionResources {
    const birth = this.#newCell;
    const parent = birth?.parent == null ? null : (this.#byCell.get(birth.parent) ?? null);
    const testAgent = birth === null ? undefined : this.setting.team.findAgent(birth, agent, parent?.testAgent ?? null);
    if (birth === null || testAgent === undefined) throw new Error(`No cell was about to start as "${agent.name}".`);
    this.#newCell = null;
    this.#testAgents.set(agent, testAgent);
    const state = new TeamCellState(birth, testAgent, this.#placeOf(birth, parent), parent);
    this.cells.push(state);
    this.#byCell.set(birth.cell, state);
    const environment = this.setting.environmentOf(testAgent);
    if (environment !== null) state.observer.record('environment', environment);
    return {
      models: testAgent.models.map(({ contextTokens: _tokens, ...model }) =>
        createTestModel(model, {
          reply: (options) => {
            state.firstRequest ??= options;
            return drawTeamReply(state, options, this.setting.modelPorts);
          },
          sleep: (ms) => this.#time.sleep(ms),
        }),
      ),
      sources: testAgent.sources.map((source) => ({
        only: source.only,
        source: createObservedSource(source, (...called) => this.tool(...called)),
      })),
    };
  }

  #placeOf({ task, agent }: Birth, parent: TeamCellState | null): string {
    if (task?.part === 'task') return `${task.task} #${task.attempt}`;
    if (task !== undefined) return `the ${task.part}`;
    const nth = this.cells.filter((one) => one.parent === parent && one.birth.agent === agent).length + 1;
    return `${parent?.place} › ${agent} #${nth}`;
  }
}
