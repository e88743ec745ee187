// Warnings of `check` about budgets: those in which no request fits, and levels of thinking that have no room in them.
import { recordFormats } from '#base';
import type { Agent, Amounts, Model, Price, TopologyAgent, Warning } from '#contracts';
import { amountText } from '#core/cells';
import { lowerCaps } from '#core/orchestration';
import { holdRules, replyTokensMin, thinkingTokens } from '#core/rules';
import { windowTokensDefault } from '#core/session';

/** `files`: the facts of agents that were read from files. */
export const budgetWarnings = (agents: readonly Agent[], files: readonly TopologyAgent[]): readonly Warning[] => {
  const facts = new Map(files.map((file) => [file.file, file]));
  return [...smallestCaps(agents)].flatMap(([agent, caps]) => {
    const model = firstModel(agent, agent.file === null ? undefined : facts.get(agent.file));
    return model === null || agent.team !== null ? [] : warningsFor(agent, caps, model);
  });
};

/** For each agent, the smallest caps that it can have: its own, and those of whoever may start it. */
const smallestCaps = (agents: readonly Agent[]): ReadonlyMap<Agent, Amounts> => {
  const found = new Map<Agent, Amounts>();
  const waiting: (readonly [Agent, Amounts])[] = agents.map((agent) => [agent, {}]);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [agent, above] = next;
    const before = found.get(agent);
    const caps = lowerCaps(agent.budget, before === undefined ? above : lowestCaps(before, above));
    if (before !== undefined && before.tokens === caps.tokens && before.nanoUsd === caps.nanoUsd) continue;
    found.set(agent, caps);
    for (const child of startableBy(agent)) waiting.push([child, caps]);
  }
  return found;
};

const lowestCaps = (one: Amounts, other: Amounts): Amounts => ({
  tokens: Math.min(one.tokens ?? Infinity, other.tokens ?? Infinity),
  nanoUsd: Math.min(one.nanoUsd ?? Infinity, other.nanoUsd ?? Infinity),
});

const startableBy = ({ agents, spawnable, members, coordinator }: Agent): readonly Agent[] => [
  ...agents,
  ...spawnable,
  ...members,
  ...(coordinator === null ? [] : [coordinator.plans, coordinator.answers]),
];

type ModelForCheck = {
  readonly name: string;
  readonly price: Price | undefined;
  readonly modelMax: number | undefined;
  readonly windowTokens: number;
};

/** The model that is asked first; a refused request is not sent to another one. */
const firstModel = ({ models, limits }: Agent, file: TopologyAgent | undefined): ModelForCheck | null => {
  const windowTokens = (own: number | null | undefined): number =>
    Math.min(limits.contextTokensMax || Infinity, own ?? windowTokensDefault);
  const listed = file?.models[0];
  if (listed !== undefined) {
    const { name, price, maxOutputTokens, contextTokens } = listed;
    const modelMax = maxOutputTokens ?? undefined;
    return { name, price: price ?? undefined, modelMax, windowTokens: windowTokens(contextTokens) };
  }
  const own = models.find((model): model is Model => typeof model !== 'string');
  if (own === undefined) return null;
  const { language, price, maxOutputTokens: modelMax, contextTokens } = own;
  const name = `${language.provider}/${language.modelId}`;
  return { name, price, modelMax, windowTokens: windowTokens(contextTokens) };
};

const warningsFor = (agent: Agent, caps: Amounts, model: ModelForCheck): readonly Warning[] => {
  const { definition, limits, settings, name } = agent;
  const { price, modelMax, windowTokens } = model;
  const rules = holdRules(recordFormats.newest);
  const reasoning = settings.reasoning ?? 'none';
  const agentMax = limits.maxOutputTokens ?? 0;
  const { tokens: reply, tooSmallFor } = rules.replyCap({ agentMax, modelMax, reasoning, windowTokens, caps, price });
  const { prompt, guidance, tools, output } = definition;
  const needed = rules.hold({
    model: model.name,
    promptTokens: rules.partTokens(JSON.stringify([prompt, guidance, tools])),
    reported: null,
    hasTools: tools.length > 0,
    schema: output.schema,
    reply: Math.max(reply, agentMax || replyTokensMin),
    price,
  });
  const unit = tooSmallFor ?? (['tokens', 'nanoUsd'] as const).find((one) => needed[one]! > (caps[one] ?? Infinity));
  if (unit !== undefined) {
    const setting = unit === 'tokens' ? 'tokens' : 'usd';
    // A reply may use a quarter of the budget.
    const shortest = 4 * replyTokensMin * (unit === 'tokens' ? 1 : (price?.output ?? 0) * 1_000);
    const least = Math.max(needed[unit]!, tooSmallFor === null ? 0 : shortest);
    const message =
      `\`${name}\` can make no request: one needs a budget of ${amountText(unit, least)}, and the smallest that ` +
      `applies to it has ${amountText(unit, caps[unit]!)}; raise \`budget.${setting}\` or ${agentMax > replyTokensMin ? 'lower' : 'set'} \`maxOutputTokens\``;
    return [{ code: 'budget-small', agent: name, message }];
  }
  const wanted = thinkingTokens[reasoning];
  if (wanted === 0 || reply >= wanted + replyTokensMin) return [];
  const message =
    `\`${name}\` sets \`reasoning: ${reasoning}\`, for which ${amountText('tokens', wanted)} of thinking are usual, but thinking and answer ` +
    `share ${amountText('tokens', reply)}; raise the budget or choose a lower level`;
  return [{ code: 'thinking-small', agent: name, message }];
};
