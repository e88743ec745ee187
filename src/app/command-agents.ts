// The agents and runs of one command, which reads each config file once.
import { Configs, findAgent, isModule, problemsError, suggestAgent } from '#app/agents';
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { Cloister } from '#contracts';
import type { CliRuntime } from '#headends/cli';
import { demoFolder } from './demo-folder.ts';
import { lostLogNotice } from './lost-log.ts';
import { openConfigured } from './open-cloister.ts';
import { storeOfCommand } from './open-store.ts';
import { systemLaunchEnvironment } from './system-world.ts';

type OpenOptions = Parameters<CliRuntime['open']>[0];
type StaleOptions = Parameters<CliRuntime['staleQuestions']>[0];

export class CommandAgents {
  /** By `--config`. */
  readonly #configs = new Map<string | null, Configs>();
  /** The value of `--store`. */
  readonly #store: () => string | null;

  constructor(store: () => string | null) {
    this.#store = store;
  }

  async open({ notice, ...options }: OpenOptions): Promise<Cloister> {
    const cloister = await this.#open(options);
    const lost = notice === undefined ? null : await lostLogNotice(cloister);
    if (lost !== null) notice?.(lost);
    return cloister;
  }

  async #open({ workspace, agents, agent, config = null, parallel = null, ...rest }: OpenOptions): Promise<Cloister> {
    const { demo = false, ofRun, offline = false, archive } = rest;
    const configs = this.#configsFor(config);
    const { password, ...stored } = await storeOfCommand(this.#store(), configs);
    if (demo) return openConfigured({ workspace, ...stored, cwd: demoFolder, agents: ['desk.ai'] });
    const defaultAgent = await configs.defaultAgent();
    const opened =
      archive === undefined ? undefined : (await (await import('./open-archive.ts')).openArchive(archive)).store;
    const from = opened === undefined ? {} : { archive: opened };
    const given = { workspace, ...stored, offline, defaultAgent, ...(config === null ? {} : { config }) };
    if (ofRun !== undefined && agents.length === 0) {
      const { readRunStart } = await import('./read-run-start.ts');
      return openConfigured(
        { ...(await readRunStart({ workspace, ...stored, password }, ofRun, opened)), ...given },
        from,
      );
    }
    const paths = await pathsFor(agents, agent, configs);
    return openConfigured(
      { ...given, ...(parallel === null ? {} : { parallel }), agents: paths },
      { configs, ...from },
    );
  }

  async staleQuestions({ runs, ...given }: StaleOptions): Promise<ReadonlySet<string>> {
    const groups = given.agents.length > 0 ? [runs] : await this.#groupByStart(given, runs);
    const stale = new Set<string>();
    for (const [first, ...others] of groups) {
      if (first === undefined) continue;
      try {
        await using cloister = await this.open({ ...given, ofRun: first, offline: true });
        for (const run of [first, ...others])
          for (const { id, state } of await cloister.questions({ run })) if (state === 'stale') stale.add(id);
      } catch (error) {
        // Agents that were named must be there. Those of a run may be gone: nobody can say then how they have changed.
        if (given.agents.length > 0 || !(error instanceof CloisterError)) throw error;
      }
    }
    return stale;
  }

  /** Runs that were started with the same agents, which are loaded once. */
  async #groupByStart(
    { workspace, config }: Pick<StaleOptions, 'workspace' | 'config'>,
    runs: readonly RunId[],
  ): Promise<readonly (readonly RunId[])[]> {
    const place = { workspace, ...(await storeOfCommand(this.#store(), this.#configsFor(config))) };
    const { readRunStarts } = await import('./read-run-start.ts');
    const groups = new Map<string, RunId[]>();
    for (const [run, start] of await readRunStarts(place, runs)) {
      if (start.agents.some(isModule)) continue;
      const key = JSON.stringify(start);
      groups.set(key, [...(groups.get(key) ?? []), run]);
    }
    return [...groups.values()];
  }

  async defaultAgent(config: string | null): Promise<string | null> {
    const configs = this.#configsFor(config);
    const agent = await configs.defaultAgent();
    if (agent !== null || configs.problems.length === 0) return agent;
    throw problemsError(configs.problems);
  }

  #configsFor(config: string | null): Configs {
    const configs = this.#configs.get(config) ?? new Configs(systemLaunchEnvironment(config));
    this.#configs.set(config, configs);
    return configs;
  }
}

/** The given paths; without any, the agent by name: in this folder, in `agents` below it, in the folders of the config, or in the home folder. */
const pathsFor = async (
  given: readonly string[],
  agent: string | undefined,
  configs: Configs,
): Promise<readonly string[]> => {
  if (given.length > 0 || agent === undefined) return given;
  const found = await findAgent(agent, configs);
  if (found !== null) return [found];
  // Only a likely typo is reported here: a command that reads records may know the agent from there.
  const suggestion = await suggestAgent(agent, configs);
  if (suggestion !== '') throw new CloisterError('agent_unknown', `There is no "${agent.slice(0, 80)}".${suggestion}`);
  return [];
};
