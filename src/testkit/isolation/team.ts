// The agents as they are played: the same definitions, with stand-ins for their models, tools, sources and servers.
//
//   P1. Nothing of the user's is called, unless their own tools were asked for.
//   P2. What others see of an agent is as it was: its tool's name, description and schema.
//   P3. What only time or an account could reach is out of reach: budgets are lifted, short time-outs made longer.
import { utf8Bytes } from '#base';
import type { JsonObject } from '#base';
import type { Agent, AgentOptions, Budget, Limits, ToolDefinition, ToolSource } from '#contracts';
import { limitsOf } from '#core/cells';
import type { CellLimits } from '#core/cells';
import { agentFrom, splitServer } from '#core/orchestration';
import { usesDateVariables } from '#core/rules';
import { thinkingTokens } from '#core/session';
import { agentOptions } from './agent-options.ts';
import type { Family } from './agent-options.ts';
import { ReadParts } from './observer.ts';
import type { PlayedModel, ShownTool, Subject } from './subject.ts';

/** One agent of the team. */
export type PlayedAgent = {
  readonly agent: Agent;
  /** As the user made it. */
  readonly own: Agent;
  readonly models: readonly PlayedModel[];
  readonly sources: readonly PlayedSource[];
  readonly children: ReadonlyMap<string, PlayedAgent>;
  /** The tools that its sessions have sent to their models. */
  readonly sent: ReadParts;
  readonly limits: { readonly root: CellLimits; readonly child: CellLimits };
};

export type PlayedSource = {
  readonly name: string;
  readonly only: readonly string[] | null;
  readonly tools: readonly ShownTool[];
  /** Set when it is to be used itself. */
  readonly own?: ToolSource;
};

type Change = (options: AgentOptions) => AgentOptions;

type Execute = ToolDefinition['execute'];

/** Calls of stand-ins go to whatever run is on stage; `own` is the tool itself, when it is to be used. */
export type StandInHandler = {
  tool(tool: string, call: Parameters<Execute>, own: ToolDefinition | null): ReturnType<Execute>;
};

export class Team {
  readonly root: PlayedAgent;
  readonly isDated: boolean;
  /** The most that one attempt may hold. */
  readonly #holdMax: number;
  /** What could not be looked at, in words. */
  readonly notes = new Set<string>();
  readonly #subject: Subject;
  readonly #stage: StandInHandler;
  readonly #parts = new Map<Agent, PlayedAgent>();
  readonly #byOwn = new Map<Agent, PlayedAgent>();

  constructor(subject: Subject, stage: StandInHandler) {
    this.#subject = subject;
    this.#stage = stage;
    for (const note of subject.notes ?? []) this.notes.add(note);
    this.root = this.#part(subject.agent);
    const tools = new Set(this.parts.flatMap(({ own }) => own.tools.map(({ name }) => name)));
    if (tools.size > 0 && subject.realTools !== true)
      this.notes.add(`Tools are not run: what the code of ${[...tools].join(', ')} does by itself is not covered.`);
    const compacted = this.parts.filter(({ own }) => own.compactor !== null).map(({ own }) => own.name);
    if (compacted.length > 0)
      this.notes.add(`Old turns of ${compacted.join(', ')} are made room for by code, not by their \`compaction\`.`);
    this.#holdMax = Math.max(...this.parts.map(holdOf));
    this.isDated = [...this.#byOwn.keys()].some(({ definition }) => usesDateVariables(definition.prompt));
  }

  get parts(): readonly PlayedAgent[] {
    return [...this.#byOwn.values()];
  }

  /** Room for so many attempts, which is more than there will be: a balance that could be told, and is never used up. */
  budgetFor(attempts: number): Budget {
    return { tokens: attempts * this.#holdMax, usd: 1e6, spawns: 1_000, ms: 1e9 };
  }

  partOf(agent: Agent): PlayedAgent | undefined {
    return this.#parts.get(agent);
  }

  /** The root of a team in which the agent at one place of the tree has another definition. */
  changed(path: string, change: Change): PlayedAgent {
    return this.#changed(this.root, '', path, change);
  }

  /** The root of a team in which any agent may have another definition, wherever it is. */
  recast(change: (own: Agent, options: AgentOptions) => AgentOptions): PlayedAgent {
    const made = new Map<Agent, PlayedAgent>();
    const again = (own: Agent): PlayedAgent => {
      const known = made.get(own);
      if (known !== undefined) return known;
      const like = this.#byOwn.get(own)!;
      const children = own.agents.map(again);
      const family = {
        agents: children.map(({ agent }) => agent),
        spawnable: own.spawnable.map((one) => again(one).agent),
      };
      const part = this.#make(own, change(own, playedOptions(like.agent, family)), children, like);
      made.set(own, part);
      return part;
    };
    return again(this.root.own);
  }

  /** At how many places of the tree an agent can be; more than one is not counted. */
  placesOf({ own }: PlayedAgent): number {
    const callers = this.parts.filter((part) => part.own.agents.includes(own));
    if (own === this.root.own) return 1 + callers.length;
    return callers.length === 1 ? this.placesOf(callers[0]!) : callers.length;
  }

  /** Those that an earlier change has made are not needed any more. */
  forget(): void {
    if (this.#parts.size === this.#byOwn.size) return;
    this.#parts.clear();
    for (const part of this.#byOwn.values()) this.#parts.set(part.agent, part);
  }

  #part(own: Agent): PlayedAgent {
    const known = this.#byOwn.get(own);
    if (known !== undefined) return known;
    const [agents, spawnable] = [own.agents, own.spawnable].map((some) => some.map((one) => this.#part(one).agent));
    const family = { agents: agents!, spawnable: spawnable! };
    const part = this.#make(
      own,
      playedOptions(own, family, (tool) => this.#standIn(tool)),
    );
    this.#byOwn.set(own, part);
    return part;
  }

  #changed(part: PlayedAgent, above: string, path: string, change: Change): PlayedAgent {
    const here = pathBelow(above, part.agent.toolName);
    if (path !== here && !path.startsWith(`${here}/`)) return part;
    const children = [...part.children.values()].map((child) => this.#changed(child, here, path, change));
    const options = playedOptions(part.agent, {
      agents: children.map(({ agent }) => agent),
      spawnable: part.agent.spawnable,
    });
    return this.#make(part.own, path === here ? change(options) : options, children, part);
  }

  #make(own: Agent, options: AgentOptions, given?: readonly PlayedAgent[], like?: PlayedAgent): PlayedAgent {
    const agent = agentFrom(options, own.file);
    const children = given ?? agent.agents.map((child) => this.#parts.get(child)!);
    const part: PlayedAgent = {
      agent,
      own,
      models: like?.models ?? this.#models(own),
      sources: like?.sources ?? this.#sources(own),
      sent: new ReadParts(),
      children: new Map(children.map((child) => [child.agent.toolName, child])),
      limits: { root: limitsOf(agent, true), child: limitsOf(agent, false) },
    };
    this.#parts.set(agent, part);
    return part;
  }

  #standIn(tool: ToolDefinition): ToolDefinition {
    const own = this.#subject.realTools === true ? tool : null;
    return { ...tool, execute: (...call) => this.#stage.tool(tool.name, call, own) };
  }

  #models(own: Agent): readonly PlayedModel[] {
    const models = own.models.map((model): PlayedModel => {
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

  #sources(own: Agent): readonly PlayedSource[] {
    const inCode = own.sources.map((source): PlayedSource => {
      if (this.#subject.realTools === true) return { name: source.name, only: null, tools: [], own: source };
      this.notes.add(`The tools of the source "${source.name}" are made up: only the source itself could list them.`);
      return { name: source.name, only: null, tools: madeUp };
    });
    const named = [...serversOf(own)].map(([name, only]): PlayedSource => {
      const listed = only ?? this.#subject.toolsOf?.(own, name) ?? null;
      this.notes.add(
        listed === null
          ? `The tools of the server "${name}" are made up: only the server itself could list them.`
          : `What the tools of the server "${name}" take is made up: only the server itself could say.`,
      );
      return { name, only, tools: listed === null ? madeUp : listed.map(shownTool) };
    });
    return [...inCode, ...named];
  }
}

export const pathBelow = (above: string, tool: string): string => (above === '' ? tool : `${above}/${tool}`);

/** Without a budget, and with time enough for whatever the stand-ins do. */
const playedOptions = (
  agent: Agent,
  family: Family,
  toolOf?: (tool: ToolDefinition) => ToolDefinition,
): AgentOptions => ({
  ...agentOptions(agent, family, toolOf),
  models: [],
  budget: {},
  limits: patient(agent.limits),
  ...(agent.gather === null ? {} : { gather: { timeoutMs: Math.max(agent.gather.timeoutMs, gatherMsMin) } }),
});

const dialogTokens = 20_000;

/** The most that one attempt of an agent may hold: a byte counts as a token. */
const holdOf = ({ agent, models, limits }: PlayedAgent): number => {
  const outputs = models.map(({ maxOutputTokens = 8_192 }) => limits.child.maxOutputTokens || maxOutputTokens);
  const thinking = thinkingTokens[agent.settings.reasoning ?? 'none'];
  return Math.max(...outputs) + thinking + 2 * utf8Bytes(JSON.stringify(agent.definition)) + dialogTokens;
};

const gatherMsMin = 600_000;
const msMin = { timeout_ms: 60_000, llmTimeout: 30_000, toolTimeout: 30_000 } as const;

const patient = (limits: Limits): Limits => {
  const longer = { ...limits } as Record<keyof Limits, number>;
  for (const [key, ms] of Object.entries(msMin) as [keyof typeof msMin, number][])
    if (limits[key] !== undefined && limits[key] < ms) longer[key] = ms;
  return longer;
};

const serversOf = ({ servers }: Agent): ReadonlyMap<string, readonly string[] | null> => {
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

const shownTool = (name: string): ShownTool => ({
  name,
  description: `Stands in for ${name}.`,
  inputSchema: anyObject,
});

const madeUp: readonly ShownTool[] = ['find', 'change'].map(shownTool);
