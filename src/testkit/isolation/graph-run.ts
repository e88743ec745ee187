// One run of a team through a task graph, with a clock that jumps and with test models.
import type { JsonObject } from '#base';
import type { Agent, Birth, Frame, Outcome, SessionResources, TeamGoal, ToolOutput } from '#contracts';
import { startRun } from '#core/orchestration';
import type { Run } from '#core/orchestration';
import type { GraphCase, GraphEvent } from './graph-case.ts';
import type { PreparedTeam } from './test-team.ts';
import { drawTeamReply, drawTeamToolOutput, TeamCell } from './team-model.ts';
import type { TeamModelPorts } from './team-model.ts';
import { createTestModel } from './test-model.ts';
import { createStandInSource } from './stand-in-tools.ts';
import type { TestAgent } from './agent-tree.ts';
import { TestRun } from './test-run.ts';
import type { TestRunSetting } from './test-run.ts';

type GraphSetting = TestRunSetting & {
  readonly graph: GraphCase;
  readonly team: PreparedTeam;
  readonly modelPorts: TeamModelPorts;
  readonly goal: string | null;
};

export class GraphRun extends TestRun<TeamCell, GraphSetting> {
  live!: Run;
  outcome!: Outcome;
  /** Of the agents whose sessions have started. */
  readonly #testAgents = new Map<Agent, TestAgent>();
  #newCell: Birth | null = null;

  /** Rejects if the run could not be recorded, or waits for something outside. */
  async run(): Promise<void> {
    const { graph, team, goal } = this.setting;
    const { isPlanned, tasks, answer, events, budget } = graph;
    const request: TeamGoal = { goal, tasks: isPlanned ? null : tasks, answer };
    this.live = startRun(team.agent, JSON.stringify(request), budget ?? undefined, this.ports());
    for (const event of events) this.time.timer(event.atMs, () => this.#applyEvent(event));
    this.outcome = await this.time.finish(this.live.outcome);
  }

  override nameOf(cell: string): string {
    return cell === this.live.root.cellId ? 'the team' : super.nameOf(cell);
  }

  protected override drawOutput(state: TeamCell, name: string, args: JsonObject): ToolOutput {
    return drawTeamToolOutput(state, name, args, this.setting.modelPorts);
  }

  protected override findTestAgent(agent: Agent): TestAgent | undefined {
    return this.#testAgents.get(agent);
  }

  protected override onFrame({ record }: Frame): void {
    if (record.type === 'begin' && record.birth !== undefined) this.#newCell = record.birth;
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

  protected override equip(agent: Agent): SessionResources {
    const birth = this.#newCell;
    const parent = birth?.parent == null ? null : (this.cellState(birth.parent) ?? null);
    const testAgent = birth === null ? undefined : this.setting.team.findAgent(birth, agent, parent?.testAgent ?? null);
    if (birth === null || testAgent === undefined) throw new Error(`No cell was about to start as "${agent.name}".`);
    this.#newCell = null;
    this.#testAgents.set(agent, testAgent);
    const state = this.addCell(new TeamCell(birth, this.#placeOf(birth, parent), parent, testAgent), testAgent);
    return {
      models: testAgent.models.map(({ contextTokens: _tokens, ...model }) =>
        createTestModel(model, {
          reply: (options) => {
            state.firstRequest ??= options;
            return drawTeamReply(state, options, this.setting.modelPorts);
          },
          sleep: (ms) => this.time.sleep(ms),
        }),
      ),
      sources: testAgent.sources.map((source) => ({
        only: source.only,
        source: createStandInSource(source, this),
      })),
    };
  }

  #placeOf({ task, agent }: Birth, parent: TeamCell | null): string {
    if (task?.part === 'task') return `${task.task} #${task.attempt}`;
    if (task !== undefined) return `the ${task.part}`;
    const nth = this.cells.filter((one) => one.parent === parent && one.birth.agent === agent).length + 1;
    return `${parent?.place} › ${agent} #${nth}`;
  }
}
