// The `slack` block of the config: resolved for a server, and checked.
import { CloisterError, nearestName } from '#base';
import { slackAgents } from '#contracts';
import type { Problem, SlackAppNeeds, SlackConfig } from '#contracts';
import { fillSlack, missingVariablesMessage, overlayFor, slackAppNeeds } from '#core/registry';
import type { Configs } from './configs.ts';
import { problemsError } from './problems.ts';
import { findAgent } from './read-agent-files.ts';

/** As it is written; throws `config_invalid` if there is none. */
export const findSlackConfig = async (configs: Configs): Promise<SlackConfig> => {
  await configs.read([]);
  const { slack } = configs.forFile(null).resolved;
  if (configs.problems.length > 0) throw problemsError(configs.problems);
  if (slack !== null) return slack.value;
  throw new CloisterError(
    'config_invalid',
    'There is no `slack` block in .ai-agent.json. docs/SLACK.md shows one, and `cloister check` checks it.',
  );
};

/** With the values of its variables. Throws `config_invalid` or `env_missing`. */
export const readSlackConfig = async (configs: Configs): Promise<SlackConfig> => {
  const config = await findSlackConfig(configs);
  return fillSlack(config, overlayFor([config], configs.forFile(null).layers).overlay);
};

type SlackFindings = { readonly problems: readonly Problem[]; readonly needs: SlackAppNeeds | null };

/** `known`: names of the agents that were given or found. */
export const checkSlack = async (configs: Configs, known: readonly string[]): Promise<SlackFindings> => {
  const { resolved, layers } = configs.forFile(null);
  const { slack } = resolved;
  if (slack === null) return { problems: [], needs: null };
  const { value, source } = slack;
  const problems: Problem[] = [];
  const add = (path: readonly string[], message: string, nearest: string | null = null): void =>
    void problems.push(configs.locate(source, ['slack', ...path], message, nearest));
  const { missing } = overlayFor([value], layers);
  if (missing.length > 0) add([], `${missingVariablesMessage(missing)}.`);
  for (const { agent, path } of slackAgents(value))
    if (!known.includes(agent) && (await findAgent(agent, configs)) === null)
      add(path, `There is no agent "${agent}".`, nearestName(agent, known));
  return { problems, needs: slackAppNeeds(value) };
};
