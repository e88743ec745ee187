// One run of a team through a graph, in a world in which time jumps and the models are played.
import { sha256 } from '#base';
import type { CellId, RunId } from '#base';
import { memoryCellFolders } from '#adapters/cell-folders';
import type {
  Agent,
  Birth,
  SessionResources,
  Frame,
  Outcome,
  Redact,
  TeamGoal,
  ToolDefinition,
  Validate,
} from '#contracts';
import { startRun } from '#core/orchestration';
import type { RunHandle, RunWorldPorts } from '#core/orchestration';
import { Rng } from './rng.ts';
import { counted, FakeTime } from './fake-time.ts';
import type { OpenCalls } from './fake-time.ts';
import type { GraphCase, GraphEvent } from './graph-case.ts';
import type { TestAgents } from './test-team.ts';
import { drawTeamReply, toolSays } from './team-model.ts';
import type { TeamModelPorts } from './team-model.ts';
import { TeamCellState } from './team-cell-state.ts';
import { playedModel } from './played-model.ts';
import { talkSource } from './mail-source.ts';
import type { PlayedAgent } from './team.ts';

export type GraphSetting = {
  readonly of: GraphCase;
  readonly cast: TestAgents;
  readonly mind: TeamModelPorts;
  readonly ids: string;
  readonly goal: string | null;
  readonly validate: Validate;
  readonly isReal: boolean;
  told(part: PlayedAgent): string | null;
  readonly redact: Redact | null;
};

export class GraphRun {
  readonly seats: TeamCellState[] = [];
  readonly frames: Frame[] = [];
  readonly setting: GraphSetting;
  live!: RunHandle;
  outcome!: Outcome;
  readonly #time: FakeTime;
  readonly #ids: Rng;
  readonly #calls: OpenCalls = { count: 0 };
  readonly #byCell = new Map<CellId, TeamCellState>();
  readonly #blobs = new Map<string, Uint8Array>();
  readonly #workspaces = memoryCellFolders();
  #newborn: Birth | null = null;

  constructor(setting: GraphSetting) {
    this.setting = setting;
    this.#time = new FakeTime(1_800_000_000_000, setting.isReal ? this.#calls : null);
    this.#ids = new Rng(setting.ids);
  }

  /** Rejects when it could not be recorded, or waits for something outside. */
  async play(): Promise<void> {
    const { of, cast, goal } = this.setting;
    const { isPlanned, tasks, answer, events, budget } = of;
    const asked: TeamGoal = { goal, tasks: isPlanned ? null : tasks, answer };
    this.live = startRun(cast.agent, JSON.stringify(asked), budget ?? undefined, this.#world());
    for (const event of events) this.#time.timer(event.atMs, () => this.#happen(event));
    this.outcome = await this.#time.finish(this.live.outcome);
  }

  seatOf(cell: string): TeamCellState | undefined {
    return this.#byCell.get(cell as CellId);
  }

  /** A cell by its place, which is the same in every run. */
  nameOf(cell: string): string {
    return this.seatOf(cell)?.place ?? (cell === this.live.cell ? 'the team' : cell);
  }

  /** A tool of an agent's own. */
  tool(name: string, call: Parameters<ToolDefinition['execute']>, own: ToolDefinition | null) {
    const [args, context] = call;
    const cell = context.key.slice(0, context.key.lastIndexOf('/'));
    const seat = this.seatOf(cell);
    const key = context.key.replace(cell, '<cell>');
    seat?.eye.record(`call of ${name}`, JSON.stringify({ args, key, context: Object.keys(context) }));
    if (own !== null) return counted(this.#calls, () => own.execute(args, context));
    return seat === undefined ? '' : toolSays(seat, name, args, this.setting.mind);
  }

  #happen(event: GraphEvent): void {
    try {
      if (event.do === 'cancel') this.live.cancel();
      else if (event.do === 'tell') this.live.send(event.text, { to: event.to });
      // It may have ended, or they depend on tasks that are not there.
      else this.live.addTasks(event.tasks).catch(() => undefined);
    } catch {
      // It has ended.
    }
  }

  #world(): RunWorldPorts {
    const { validate, redact, of } = this.setting;
    return {
      run: 'f00d00000002' as RunId,
      log: {
        append: (frame) => {
          this.frames.push(frame);
          const { record } = frame;
          if (record.type === 'begin' && record.birth !== undefined) this.#newborn = record.birth;
        },
        durable: () => undefined,
        close: async () => undefined,
      },
      clock: this.#time,
      ids: { random: () => this.#ids.hex() },
      workspaces: this.#workspaces,
      validate,
      redact,
      equip: (agent) => this.#equip(agent),
      keep: async (bytes) => {
        const ref = sha256(bytes);
        this.#blobs.set(ref, bytes);
        return ref;
      },
      blob: async (ref) => this.#blobs.get(ref)!,
      lane: () => undefined,
      heard: () => of.heard,
      onLive: (cell, _agent, event) => this.#byCell.get(cell)?.eye.record('live', JSON.stringify(event)),
    };
  }

  #equip(agent: Agent): SessionResources {
    const birth = this.#newborn;
    const parent = birth?.parent == null ? null : (this.#byCell.get(birth.parent) ?? null);
    const part = birth === null ? undefined : this.setting.cast.partOf(birth, agent, parent?.part ?? null);
    if (birth === null || part === undefined) throw new Error(`Nobody was about to be "${agent.name}".`);
    this.#newborn = null;
    const seat = new TeamCellState(birth, part, this.#placeOf(birth, parent), parent);
    this.seats.push(seat);
    this.#byCell.set(birth.cell, seat);
    const told = this.setting.told(part);
    if (told !== null) seat.eye.record('environment', told);
    return {
      models: part.models.map(({ contextTokens: _tokens, ...model }) =>
        playedModel(model, {
          say: (options) => {
            seat.first ??= options;
            return drawTeamReply(seat, options, this.setting.mind);
          },
          sleep: (ms) => this.#time.sleep(ms),
        }),
      ),
      sources: part.sources.map((source) => ({
        only: source.only,
        source: talkSource(source, (...called) => this.tool(...called)),
      })),
    };
  }

  #placeOf({ task, agent }: Birth, parent: TeamCellState | null): string {
    if (task?.part === 'task') return `${task.task} #${task.attempt}`;
    if (task !== undefined) return `the ${task.part}`;
    const nth = this.seats.filter((one) => one.parent === parent && one.birth.agent === agent).length + 1;
    return `${parent?.place} › ${agent} #${nth}`;
  }
}
