// The agents under test: the same definitions, with stand-ins for their models, tools, sources and servers.
//
//   kit-calls-no-user-code. Unless `realTools` is set.
//   kit-tool-face-unchanged. What others see of an agent is unchanged: the name, description and schema of its tool.
//   kit-limits-lifted. Limits that only time or spending could reach are lifted: budgets are removed, and short timeouts are
//       lengthened.
import { utf8Bytes } from '#base';
import type { JsonObject } from '#base';
import type { Agent, AgentOptions, Budget, Limits, ToolDefinition, NamedSource } from '#contracts';
import { resolveLimits } from '#core/registry';
import type { CellLimits } from '#core/registry';
import { buildAgent, splitServer } from '#core/orchestration';
import { thinkingTokens, usesDateVariables } from '#core/rules';
import { agentOptions } from './agent-options.ts';
import type { ChildAgents } from './agent-options.ts';
import { PartCache } from './observer.ts';
import type { TestModelFacts, StandInTool, Subject } from './subject.ts';

/** One agent under test. */
export type TestAgent = {
  readonly agent: Agent;
  /** The user's own definition. */
  readonly own: Agent;
  readonly models: readonly TestModelFacts[];
  readonly sources: readonly StandInSource[];
  readonly children: ReadonlyMap<string, TestAgent>;
  /** A cache of the tools that its sessions have sent to their models. */
  readonly sentTools: PartCache;
  readonly limits: { readonly root: CellLimits; readonly child: CellLimits };
};

export type StandInSource = {
  readonly name: string;
  readonly only: readonly string[] | null;
  readonly tools: readonly StandInTool[];
  /** The real source, if `realTools` is set. */
  readonly own?: NamedSource;
};

type Change = (options: AgentOptions) => AgentOptions;

type Execute = ToolDefinition['execute'];

/** Passes calls of stand-ins to the current run. `own` is the real tool, if `realTools` is set. */
export type StandInHandler = {
  tool(tool: string, call: Parameters<Execute>, own: ToolDefinition | null): ReturnType<Execute>;
};

export class AgentTree {
  readonly root: TestAgent;
  readonly usesDates: boolean;
  /** The largest hold of one attempt. */
  readonly #holdMax: number;
  /** What could not be checked, for the report. */
  readonly notes = new Set<string>();
  readonly #subject: Subject;
  readonly #handler: StandInHandler;
  readonly #all = new Map<Agent, TestAgent>();
  readonly #byOwn = new Map<Agent, TestAgent>();

  constructor(subject: Subject, stage: StandInHandler) {
    this.#subject = subject;
    this.#handler = stage;
    for (const note of subject.notes ?? []) this.notes.add(note);
    this.root = this.#create(subject.agent);
    const tools = new Set(this.all.flatMap(({ own }) => own.resources.tools.map(({ name }) => name)));
    if (tools.size > 0 && subject.realTools !== true)
      this.notes.add(`Tools are not run, so what the code of ${[...tools].join(', ')} does is not covered.`);
    const compacted = this.all.filter(({ own }) => own.children.compactor !== null).map(({ own }) => own.name);
    if (compacted.length > 0)
      this.notes.add(
        `Old turns of ${compacted.join(', ')} are dropped or shortened by code, not summarised by their \`compaction\` model.`,
      );
    this.#holdMax = Math.max(...this.all.map(largestHold));
    this.usesDates = [...this.#byOwn.keys()].some(({ definition }) => usesDateVariables(definition.prompt));
  }

  get all(): readonly TestAgent[] {
    return [...this.#byOwn.values()];
  }

  /** A budget for more attempts than a run makes: its balance could leak, but it is never used up. */
  budgetFor(attempts: number): Budget {
    return { tokens: attempts * this.#holdMax, usd: 1e6, spawns: 1_000, ms: 1e9 };
  }

  find(agent: Agent): TestAgent | undefined {
    return this.#all.get(agent);
  }

  /** The root of a tree in which the agent at one path has another definition. */
  withChangeAt(path: string, change: Change): TestAgent {
    return this.#withChangeAt(this.root, '', path, change);
  }

  /** The root of a tree in which any agent may have another definition. */
  rebuild(change: (own: Agent, options: AgentOptions) => AgentOptions): TestAgent {
    const made = new Map<Agent, TestAgent>();
    const rebuildOne = (own: Agent): TestAgent => {
      const known = made.get(own);
      if (known !== undefined) return known;
      const original = this.#byOwn.get(own)!;
      const children = own.children.agents.map(rebuildOne);
      const childAgents = {
        agents: children.map(({ agent }) => agent),
        spawnable: own.children.spawnable.map((one) => rebuildOne(one).agent),
      };
      const testAgent = this.#define(own, change(own, testOptions(original.agent, childAgents)), children, original);
      made.set(own, testAgent);
      return testAgent;
    };
    return rebuildOne(this.root.own);
  }

  /** The number of places of an agent in the tree. Exact only for 0 and 1. */
  countPlaces({ own }: TestAgent): number {
    const callers = this.all.filter((testAgent) => testAgent.own.children.agents.includes(own));
    if (own === this.root.own) return 1 + callers.length;
    return callers.length === 1 ? this.countPlaces(callers[0]!) : callers.length;
  }

  /** Drops the agents of earlier changes. */
  forgetChanges(): void {
    if (this.#all.size === this.#byOwn.size) return;
    this.#all.clear();
    for (const testAgent of this.#byOwn.values()) this.#all.set(testAgent.agent, testAgent);
  }

  #create(own: Agent): TestAgent {
    const known = this.#byOwn.get(own);
    if (known !== undefined) return known;
    const [agents, spawnable] = [own.children.agents, own.children.spawnable].map((some) =>
      some.map((one) => this.#create(one).agent),
    );
    const children = { agents: agents!, spawnable: spawnable! };
    const testAgent = this.#define(
      own,
      testOptions(own, children, (tool) => this.#standIn(tool)),
    );
    this.#byOwn.set(own, testAgent);
    return testAgent;
  }

  #withChangeAt(testAgent: TestAgent, above: string, path: string, change: Change): TestAgent {
    const here = pathBelow(above, testAgent.agent.signature.modelToolName);
    if (path !== here && !path.startsWith(`${here}/`)) return testAgent;
    const children = [...testAgent.children.values()].map((child) => this.#withChangeAt(child, here, path, change));
    const options = testOptions(testAgent.agent, {
      agents: children.map(({ agent }) => agent),
      spawnable: testAgent.agent.children.spawnable,
    });
    return this.#define(testAgent.own, path === here ? change(options) : options, children, testAgent);
  }

  #define(own: Agent, options: AgentOptions, givenChildren?: readonly TestAgent[], original?: TestAgent): TestAgent {
    const agent = buildAgent(options, own.file, { depth: own.caps.depth });
    const children = givenChildren ?? agent.children.agents.map((child) => this.#all.get(child)!);
    const testAgent: TestAgent = {
      agent,
      own,
      models: original?.models ?? this.#models(own),
      sources: original?.sources ?? this.#sources(own),
      sentTools: new PartCache(),
      children: new Map(children.map((child) => [child.agent.signature.modelToolName, child])),
      limits: { root: resolveLimits(agent.caps.limits, true), child: resolveLimits(agent.caps.limits, false) },
    };
    this.#all.set(agent, testAgent);
    return testAgent;
  }

  #standIn(tool: ToolDefinition): ToolDefinition {
    const own = this.#subject.realTools === true ? tool : null;
    return { ...tool, execute: (...call) => this.#handler.tool(tool.name, call, own) };
  }

  #models(own: Agent): readonly TestModelFacts[] {
    const models = own.resources.models.map((model): TestModelFacts => {
      if (typeof model !== 'string') {
        const { language, ...facts } = model;
        return { ...facts, provider: language.provider, modelId: language.modelId };
      }
      const at = model.indexOf('/');
      return {
        ...this.#subject.factsOf?.(own, model),
        provider: model.slice(0, at),
        modelId: model.slice(at + 1),
      };
    });
    return models.length > 0 ? models : [{ provider: 'any', modelId: 'model' }];
  }

  #sources(own: Agent): readonly StandInSource[] {
    const inCode = own.resources.sources.map((source): StandInSource => {
      if (this.#subject.realTools === true) return { name: source.name, only: null, tools: [], own: source };
      this.notes.add(
        `The tools of the source "${source.name}" are made up, because only the source itself could list them.`,
      );
      return { name: source.name, only: null, tools: placeholderTools };
    });
    const named = [...serverUses(own)].map(([name, only]): StandInSource => {
      const listed = only ?? this.#subject.toolsOf?.(own, name) ?? null;
      this.notes.add(
        listed === null
          ? `The tools of the server "${name}" are made up, because only the server itself could list them.`
          : `The parameters of the tools of the server "${name}" are made up, because only the server itself knows them.`,
      );
      return { name, only, tools: listed === null ? placeholderTools : listed.map(placeholderTool) };
    });
    return [...inCode, ...named];
  }
}

export const pathBelow = (above: string, tool: string): string => (above === '' ? tool : `${above}/${tool}`);

/** Options without a budget, and with enough time for whatever the stand-ins do. */
const testOptions = (
  agent: Agent,
  children: ChildAgents,
  mapTool?: (tool: ToolDefinition) => ToolDefinition,
): AgentOptions => ({
  ...agentOptions(agent, children, mapTool),
  models: [],
  budget: {},
  limits: lengthenTimeouts(agent.caps.limits),
  ...(agent.children.gather === null
    ? {}
    : { gather: { timeoutMs: Math.max(agent.children.gather.timeoutMs, gatherMsMin) } }),
});

const dialogTokens = 20_000;

/** The largest hold of one attempt of an agent, counting a byte as a token. */
const largestHold = ({ agent, models, limits }: TestAgent): number => {
  const outputs = models.map(({ maxOutputTokens = 8_192 }) => limits.child.maxOutputTokens || maxOutputTokens);
  const thinking = thinkingTokens[agent.resources.settings.reasoning ?? 'none'];
  return Math.max(...outputs) + thinking + 2 * utf8Bytes(JSON.stringify(agent.definition)) + dialogTokens;
};

const gatherMsMin = 600_000;
const msMin = { timeout_ms: 60_000, llmTimeout: 30_000, toolTimeout: 30_000 } as const;

const lengthenTimeouts = (limits: Limits): Limits => {
  const longer = { ...limits } as Record<keyof Limits, number>;
  for (const [key, ms] of Object.entries(msMin) as [keyof typeof msMin, number][])
    if (limits[key] !== undefined && limits[key] < ms) longer[key] = ms;
  return longer;
};

const serverUses = ({ resources: { servers } }: Agent): ReadonlyMap<string, readonly string[] | null> => {
  const uses = new Map<string, readonly string[] | null>();
  for (const reference of servers) {
    if (!reference.includes('/')) uses.set(reference, null);
    else {
      const [server, tool] = splitServer(reference);
      const before = uses.get(server);
      if (before !== null) uses.set(server, [...(before ?? []), tool]);
    }
  }
  return uses;
};

const anyObject: JsonObject = { type: 'object', properties: { query: { type: 'string' }, limit: { type: 'integer' } } };

const placeholderTool = (name: string): StandInTool => ({
  name,
  description: `Stands in for ${name}.`,
  inputSchema: anyObject,
});

const placeholderTools: readonly StandInTool[] = ['find', 'change'].map(placeholderTool);
