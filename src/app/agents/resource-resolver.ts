// Creates the models and tool sources of each session, for it alone, from the operator's config and the session's overlay.
//
//   resources-checked-first. Everything an agent names is looked up before anything runs; everything missing is reported
//       together.
//   resources-not-shared. A session gets new provider instances and new clients; it shares none of them with another session.
import { CloisterError } from '#base';
import type {
  Agent,
  Model,
  ModelSummary,
  Overlay,
  PassedOverModel,
  Redact,
  SessionResources,
  SourceUse,
} from '#contracts';
import { withKnownFacts } from '#adapters/models';
import {
  Redactors,
  collectSecrets,
  listVariables,
  missingVariablesMessage,
  operatorKeyText,
  storeAddress,
  storePassword,
  storeSecrets,
  operatorSecrets,
  overlayFor,
  requiredVariables,
} from '#core/registry';
import type { Secrets } from '#core/registry';
import { codeSources, resourcesFromCode, needsConfig, notLookedUp, withChildren } from './resources-from-code.ts';
import type { Configs } from './configs.ts';
import {
  failingSource,
  lookUpAgent,
  missingProblems,
  modelsLacking,
  operatorProblem,
  withFakeValues,
} from './look-up-agent.ts';
import type { ConfigLookup } from './look-up-agent.ts';
import { toolsByServer } from './required-config.ts';
import type { UnlocatedProblem } from './required-config.ts';

/** What was looked up, with the values of one environment filled in. */
type Recipe = {
  readonly models: readonly PreparedModel[];
  /** Those whose provider lacks variables. */
  readonly lacking: readonly PassedOverModel[];
  readonly sources: readonly {
    readonly name: string;
    readonly only: readonly string[] | null;
    make(): SourceUse['source'];
  }[];
  readonly secrets: readonly SourcedSecrets[];
  /** Why its agent cannot run. */
  readonly problems: readonly UnlocatedProblem[];
};

type PreparedModel = { readonly name: string; readonly summary: ModelSummary; make(): Model };

/** The values of one provider, or of one server, which a session without that server does not have. */
type SourcedSecrets = { readonly server: string | null; readonly own: readonly string[] };

type ResourceResolverOptions = {
  /** For agents that name no model. */
  readonly fallback: readonly Model[];
  /** Inspects only: modules must exist, but are not run. */
  readonly inspectOnly: boolean;
  /** Variables may be missing, because nothing will be connected to. */
  readonly offline: boolean;
  /** The address of the store: it may hold a password. */
  readonly store?: string | undefined;
};

export class ResourceResolver {
  readonly #configs: Configs;
  readonly #options: ResourceResolverOptions;
  /** The values of its run, which come before those of the config; none if it serves all runs without values of their own. */
  readonly #env: Overlay;
  /** By what an agent names. Shared with the resolvers of runs. */
  readonly #lookedUp: Map<string, ConfigLookup>;
  /** The same with the values of this resolver, which belong to it alone. */
  readonly #recipes = new Map<string, Recipe>();
  /** Recipes that were looked up, until more are prepared. */
  #byAgent = new WeakMap<Agent, Recipe>();
  readonly #resourcesFromCode: (agent: Agent) => SessionResources;
  readonly #redactors: Redactors;
  #hasOperatorSecrets = false;
  /** Variables whose values can be guessed, and those too short to be redacted at all, by agent; null: of the Slack app. */
  readonly weakSecrets: (Pick<Secrets, 'weak' | 'tooShort'> & { readonly agent: string | null })[] = [];

  /** `base`, `env`: for a run with values of its own, the resolver of the runs without. */
  constructor(configs: Configs, options: ResourceResolverOptions, base?: ResourceResolver, env: Overlay = {}) {
    this.#configs = configs;
    this.#options = options;
    this.#env = env;
    this.#lookedUp = base === undefined ? new Map<string, ConfigLookup>() : base.#lookedUp;
    // probe: run-redactors
    this.#redactors = new Redactors(base === undefined ? null : base.#redactors);
    this.#resourcesFromCode = base === undefined ? resourcesFromCode(options.fallback) : base.#resourcesFromCode;
  }

  /** A resolver for one run: the same agents, with these values before those of the config. Nothing of it is seen by this one. */
  forRun(env: Overlay): ResourceResolver {
    return new ResourceResolver(this.#configs, this.#options, this, env);
  }

  /** Looks up everything that these agents and their children name. */
  async prepare(agents: readonly Agent[], report: (agent: Agent, problem: UnlocatedProblem) => void): Promise<void> {
    this.#addOperatorSecrets();
    const all = withChildren(agents);
    const compactors = new Set([...all].map(({ children: { compactor } }) => compactor));
    const seen = new Set<string>();
    for (const agent of all) {
      const key = recipeKey(agent);
      if (key === null || seen.has(key)) continue;
      seen.add(key);
      if (!this.#lookedUp.has(key)) {
        const { inspectOnly, offline } = this.#options;
        // Without its compactor, an agent works as if it had none.
        const options = { isOptional: compactors.has(agent), inspectOnly, offline };
        this.#lookedUp.set(key, await lookUpAgent(agent, this.#configs, options));
        this.#byAgent = new WeakMap();
      }
      for (const problem of this.#recipe(key)?.problems ?? []) report(agent, problem);
    }
  }

  /** What the process holds besides its agents' values must not be told by them either. */
  #addOperatorSecrets(): void {
    if (this.#hasOperatorSecrets) return;
    this.#hasOperatorSecrets = true;
    const { resolved, layers } = this.#configs.forFile(null);
    const { slack, plain } = resolved;
    this.#redactors.add(operatorSecrets(operatorKeyText(layers)));
    this.#redactors.add(storeSecrets([this.#options.store, storeAddress(layers)], storePassword(layers)));
    if (slack === null) return;
    const { overlay } = overlayFor([slack.value], layers);
    const { strong, weak, tooShort } = collectSecrets([['slack', slack.value]], overlay, plain);
    this.#redactors.add(strong);
    if (weak.length + tooShort.length > 0) this.weakSecrets.push({ agent: null, weak, tooShort });
  }

  /** Why the agent itself cannot run. */
  problemsOf(agent: Agent): readonly UnlocatedProblem[] {
    return (needsConfig(agent) ? this.#findRecipe(agent)?.problems : undefined) ?? [];
  }

  /** Which variables of its run these agents and their children use. */
  ownVariables(agents: readonly Agent[]): readonly string[] {
    const used = [...withChildren(agents)].flatMap(
      (agent) => this.#findLookedUp(agent)?.entries.flatMap(({ value }) => listVariables(value)) ?? [],
    );
    return [...new Set(used)].filter((name) => Object.hasOwn(this.#env, name)).sort();
  }

  /** For the cells of this agent, also with these models instead of its own; without an agent, for places outside any cell. */
  redactFor(agent: Agent | null, models: readonly string[] = []): Redact | null {
    // The strong values of every agent are searched for everywhere.
    if (this.#recipes.size < this.#lookedUp.size) for (const key of this.#lookedUp.keys()) this.#recipe(key);
    if (agent === null) return this.#redactors.forEveryone;
    const { resources } = agent;
    return this.#redactors.forAgent(agent, models, () =>
      [agent, ...models.map((model) => ({ ...agent, resources: { ...resources, models: [model] } }))].flatMap((one) =>
        this.#ownSecrets(one),
      ),
    );
  }

  #ownSecrets(agent: Agent): readonly string[] {
    return this.#findRecipe(agent)?.secrets.flatMap(({ own }) => own) ?? [];
  }

  /** The agent's models that cannot be used, because variables have no value; undefined: none. */
  passedOver(agent: Agent): readonly PassedOverModel[] | undefined {
    const lacking = this.lackingModels(agent);
    return lacking.length === 0 || lacking.length === agent.resources.models.length ? undefined : lacking;
  }

  /** The same, even if they are all the models that the agent has. */
  lackingModels(agent: Agent): readonly PassedOverModel[] {
    return (needsConfig(agent) ? this.#findRecipe(agent)?.lacking : undefined) ?? [];
  }

  resourcesFor(agent: Agent, without?: readonly string[]): SessionResources {
    if (!needsConfig(agent)) return this.#resourcesFromCode(agent);
    const recipe = this.#recipeFor(agent);
    return {
      models: this.#models(agent, recipe, without).map((model) => ('make' in model ? model.make() : model)),
      sources: [
        ...codeSources(agent),
        ...recipe.sources.map((source) => ({ only: source.only, source: source.make() })),
      ],
    };
  }

  modelsOf(agent: Agent): readonly ModelSummary[] {
    if (!needsConfig(agent)) return this.#resourcesFromCode(agent).models;
    const models = this.#models(agent, this.#recipeFor(agent));
    return models.map((model) => ('make' in model ? model.summary : model));
  }

  #recipeFor(agent: Agent): Recipe {
    const recipe = this.#findRecipe(agent);
    if (recipe === undefined) throw notLookedUp(agent);
    return recipe;
  }

  #models(agent: Agent, recipe: Recipe, without?: readonly string[]): readonly (PreparedModel | Model)[] {
    const left = without ?? this.passedOver(agent)?.map(({ model }) => model) ?? [];
    const models = agent.resources.models.flatMap((model): readonly (PreparedModel | Model)[] => {
      if (typeof model !== 'string') return [withKnownFacts(model)];
      return left.includes(model) ? [] : [recipe.models.find(({ name }) => name === model)!];
    });
    return models.length > 0 ? models : this.#options.fallback.map(withKnownFacts);
  }

  /** The context size of the agent's first model, if known. */
  contextTokens(agent: Agent): number | undefined {
    const [first = this.#options.fallback[0]] = agent.resources.models;
    if (typeof first !== 'string') return first?.contextTokens;
    return this.#findRecipe(agent)?.models.find(({ name }) => name === first)?.summary.contextTokens;
  }

  /** The agent's own recipe; for an agent that a model defined, its parent's recipe with fewer tools. */
  #findRecipe(agent: Agent): Recipe | undefined {
    const known = this.#byAgent.get(agent);
    if (known !== undefined) return known;
    const recipe = this.#recipe(recipeKey(agent) ?? '') ?? this.#partOfParent(agent);
    if (recipe !== undefined) this.#byAgent.set(agent, recipe);
    return recipe;
  }

  #recipe(key: string): Recipe | undefined {
    const known = this.#recipes.get(key);
    const lookedUp = this.#lookedUp.get(key);
    if (known !== undefined || lookedUp === undefined) return known;
    // probe: run-recipe
    const recipe = this.#fill(lookedUp);
    this.#recipes.set(key, recipe);
    return recipe;
  }

  #findLookedUp(agent: Agent): ConfigLookup | undefined {
    return this.#lookedUp.get(recipeKey(agent) ?? '') ?? this.#lookedUp.get(this.#parentKey(agent) ?? '');
  }

  #parentKey(agent: Agent): string | undefined {
    return [...this.#lookedUp].find(([, lookedUp]) => covers(lookedUp.agent, agent))?.[0];
  }

  #partOfParent(agent: Agent): Recipe | undefined {
    const whole = this.#recipe(this.#parentKey(agent) ?? '');
    if (whole === undefined) return undefined;
    const uses = toolsByServer(agent.resources.servers);
    const sources = whole.sources.flatMap((source) => {
      const only = uses.get(source.name);
      return only === undefined ? [] : [{ ...source, only }];
    });
    const secrets = whole.secrets.filter(({ server }) => server === null || uses.has(server));
    return { ...whole, sources, secrets };
  }

  /** Fills in the values of this resolver. */
  #fill(lookedUp: ConfigLookup): Recipe {
    const { agent, isOptional, required, entries, layers, plain } = lookedUp;
    const found = overlayFor(
      entries.map(({ value }) => value),
      layers,
      this.#env,
    );
    const missing = this.#options.offline ? [] : found.missing;
    const overlay = this.#options.offline ? withFakeValues(found.overlay, found.missing) : found.overlay;
    const lacking = modelsLacking(agent.resources.models, required, missing);
    const hasModel = isOptional || lacking.length < agent.resources.models.length;
    const secrets = this.#collectSecrets(agent.name, entries, { overlay, plain });
    const problems: UnlocatedProblem[] = [
      ...required.problems,
      ...missingProblems(hasModel ? [] : lacking, required, missing),
      ...lookedUp.failures,
    ];
    const attempt = <T>(key: UnlocatedProblem['key'], make: () => T): readonly T[] => {
      try {
        return [make()];
      } catch (error) {
        problems.push(operatorProblem(key, error));
        return [];
      }
    };
    const models = lookedUp.models.flatMap(({ name, fill }) =>
      attempt('models', () => {
        const make = fill({
          // probe: provider-variables
          overlay,
          missing: lacking.find(({ model }) => model === name)?.missing ?? [],
        });
        // Creating a model now reveals an invalid key or address before anything runs.
        const { language, ...facts } = make();
        return { name, summary: { ...facts, language: { modelId: language.modelId } }, make };
      }),
    );
    const sources = lookedUp.servers.flatMap(({ name, only, fill }) => {
      const lost = requiredVariables(required.servers.get(name)!.sourced.value).filter((one) => missing.includes(one));
      // A run without these variables is refused, but it can be replayed.
      const error = new CloisterError('env_missing', missingVariablesMessage(lost));
      if (lost.length > 0) return [{ name, only, make: () => failingSource(name, error) }];
      return attempt('tools', () => {
        const make = fill({
          // probe: server-variables
          overlay,
        });
        return { name, only, make };
      });
    });
    return { models, lacking, sources, secrets, problems };
  }

  #collectSecrets(
    agent: string,
    entries: ConfigLookup['entries'],
    { overlay, plain }: { readonly overlay: Overlay; readonly plain: readonly string[] },
  ): readonly SourcedSecrets[] {
    const collected = entries.map(({ label, value, server }) => ({
      server,
      ...collectSecrets([[label, value]], overlay, plain),
    }));
    // probe: secrets-for-everyone
    this.#redactors.add(collected.flatMap(({ strong }) => strong));
    const weak = [...new Set(collected.flatMap((one) => one.weak))];
    const tooShort = [...new Set(collected.flatMap((one) => one.tooShort))];
    if (weak.length + tooShort.length > 0) this.weakSecrets.push({ agent, weak, tooShort });
    return collected;
  }
}

/** Whether one has the same models from the same file, and at least the same tools. */
const covers = (one: ConfigLookup['agent'], { file, resources: { caching, models, servers } }: Agent): boolean =>
  one.file === file &&
  one.resources.caching === caching &&
  one.resources.models.length === models.length &&
  one.resources.models.every((model, index) => isSameModel(model, models[index]!)) &&
  servers.every((server) => one.resources.servers.includes(server));

const isSameModel = (one: Model | string, other: Model | string): boolean =>
  one === other || (typeof one === 'object' && typeof other === 'object' && one.language === other.language);

/** Identifies what an agent needs from the config, and which config; null when it needs nothing. */
const recipeKey = (agent: Agent): string | null => {
  // probe: equipment-key
  const { file, resources } = agent;
  const { caching, models, servers } = resources;
  return needsConfig(agent)
    ? JSON.stringify([file, caching, models.filter((model) => typeof model === 'string'), servers])
    : null;
};
