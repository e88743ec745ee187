// Warnings of `check` about budgets: those in which no request fits, and levels of thinking that have no room in them.
import { isSameJson, recordFormats } from '#base';
import type { Agent, Amounts, Model, Price, TopologyAgent, Warning } from '#contracts';
import { amountText } from '#core/events';
import { lowerCaps, startableAgents } from '#core/orchestration';
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

/** An agent's caps, then those of whoever starts it, and so on upwards. */
type CapsUpwards = readonly Amounts[];

/** For each agent, the smallest caps that it can have at each level. */
const smallestCaps = (agents: readonly Agent[]): ReadonlyMap<Agent, CapsUpwards> => {
  const found = new Map<Agent, CapsUpwards>();
  const visit = (agent: Agent, above: CapsUpwards, callers: readonly Agent[]): void => {
    const caps = [lowerCaps(agent.caps.budget, above[0] ?? {}), ...above];
    const before = found.get(agent) ?? [];
    const smallest = lowest(before, caps);
    if (found.has(agent) && isSameJson(before, smallest)) return;
    found.set(agent, smallest);
    const path = [...callers, agent];
    if (path.length > path[0]!.caps.depth) return;
    for (const child of startableAgents(agent)) if (!path.includes(child)) visit(child, caps, path);
  };
  for (const agent of agents) visit(agent, [], []);
  return found;
};

const lowest = (one: CapsUpwards, other: CapsUpwards): CapsUpwards =>
  (one.length > other.length ? one : other).map((_, level) => ({
    ...lower('tokens', one[level], other[level]),
    ...lower('nanoUsd', one[level], other[level]),
  }));

const lower = (unit: 'tokens' | 'nanoUsd', one: Amounts = {}, other: Amounts = {}): Amounts => {
  const amount = Math.min(one[unit] ?? Infinity, other[unit] ?? Infinity);
  return amount === Infinity ? {} : { [unit]: amount };
};

type ModelForCheck = {
  readonly name: string;
  readonly price: Price | undefined;
  readonly modelMax: number | undefined;
  readonly windowTokens: number;
};

/** The model that is asked first; a refused request is not sent to another one. */
const firstModel = (
  { resources: { models }, caps: { limits } }: Agent,
  file: TopologyAgent | undefined,
): ModelForCheck | null => {
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

const warningsFor = (agent: Agent, caps: CapsUpwards, model: ModelForCheck): readonly Warning[] => {
  const {
    definition,
    caps: { limits },
    resources: { settings },
    name,
  } = agent;
  const { price, modelMax, windowTokens } = model;
  const rules = holdRules(recordFormats.newest);
  const reasoning = settings.reasoning ?? 'none';
  const agentMax = limits.maxOutputTokens ?? 0;
  const { tokens: reply, tooSmall } = rules.replyCap({ agentMax, modelMax, reasoning, windowTokens, caps, price });
  const { prompt, guidance, tools, output } = definition;
  const promptTokens = rules.partTokens(JSON.stringify([prompt, guidance, tools]));
  const request = { model: model.name, promptTokens, reported: null, hasTools: tools.length > 0, price };
  const holdWith = (tokens: number): Amounts => rules.hold({ ...request, schema: output.schema, reply: tokens });
  const needed = holdWith(Math.max(reply, agentMax || replyTokensMin));
  const [own = {}] = caps;
  const unit = tooSmall?.unit ?? (['tokens', 'nanoUsd'] as const).find((one) => needed[one]! > (own[one] ?? Infinity));
  if (unit !== undefined) {
    const setting = unit === 'tokens' ? 'tokens' : 'usd';
    const shortest = (tooSmall?.parts ?? 0) * replyTokensMin * (unit === 'tokens' ? 1 : (price?.output ?? 0) * 1_000);
    const least = Math.max(needed[unit]!, shortest);
    const shorter = `${agentMax > replyTokensMin ? 'lower' : 'set'} \`maxOutputTokens\``;
    const other =
      holdWith(Math.min(reply, replyTokensMin))[unit]! > (own[unit] ?? Infinity) ? 'shorten its prompt' : shorter;
    const message =
      `\`${name}\` can make no request: one needs a budget of ${amountText(unit, least)}, and the smallest that ` +
      `applies to it has ${amountText(unit, tooSmall?.cap ?? own[unit]!)}; raise \`budget.${setting}\` or ${other}`;
    return [{ code: 'budget-small', agent: name, message }];
  }
  const wanted = thinkingTokens[reasoning];
  if (wanted === 0 || reply >= wanted + replyTokensMin) return [];
  const message =
    `\`${name}\` sets \`reasoning: ${reasoning}\`, for which ${amountText('tokens', wanted)} of thinking are usual, but thinking and answer ` +
    `share ${amountText('tokens', reply)}; raise the budget or choose a lower level`;
  return [{ code: 'thinking-small', agent: name, message }];
};
