import type { LanguageModelV4FunctionTool, LanguageModelV4Message } from '@ai-sdk/provider';
import { deepFreeze, recordFormats, sha256, utf8Bytes, zeroHash } from '#base';
import type { Hash } from '#base';
import type { Agent, Origin, PromptPart, Segment, SegmentRecord, Source, ViewChange, CellPort } from '#contracts';
import { holdRules, ruleInFormat, usesDateVariables, rules } from '#core/rules';
import type { KnownRule, ResolvedSource } from '#core/rules';

/** A segment with its canonical text, from which the prompt hash is computed. */
export type BuiltSegment = { readonly segment: Segment; readonly text: string };

/** The only way to create a segment: a named rule applied to resolved sources. */
export const makeSegment = (
  { id, origin, category }: Pick<Segment, 'id' | 'origin' | 'category'>,
  resolved: readonly ResolvedSource[],
  format: number,
): BuiltSegment => {
  const part: PromptPart = rules[origin.rule as KnownRule](resolved, origin.with ?? noNumbers);
  // Serialise before freezing: JSON.stringify is slower on frozen objects.
  const json = JSON.stringify(part);
  freezePart(part);
  const tokens = holdRules(format).partTokens(json, part);
  const segment: Segment = { id, origin, category, part, bytes: utf8Bytes(json), chars: json.length, tokens };
  return { segment, text: `+${id}${JSON.stringify(origin)}${category}${json}` };
};

/** Freezes a part deeply. Common shapes are frozen by hand, because this runs for every message. */
const freezePart = (part: PromptPart): void => {
  if ('message' in part && typeof part.message.content !== 'string') {
    for (const item of part.message.content)
      if (item.type === 'text') Object.freeze(item);
      else deepFreeze(item);
    Object.freeze(part.message.content);
    Object.freeze(part.message);
    Object.freeze(part);
  } else deepFreeze(part);
};

const noNumbers: readonly number[] = [];

export type ModelRequest = { readonly prompt: LanguageModelV4Message[]; readonly tools: LanguageModelV4FunctionTool[] };

/** Splits the view into messages and tool schemas, in order. */
export const buildRequest = (view: readonly Segment[]): ModelRequest => {
  const prompt: LanguageModelV4Message[] = [];
  const tools: LanguageModelV4FunctionTool[] = [];
  for (const { part } of view)
    if ('message' in part) prompt.push(part.message);
    else tools.push(part.tool);
  return { prompt, tools };
};

type PreparedDefinition = ModelRequest & {
  readonly segments: readonly Segment[];
  /** The first change of every session's view, and the hash after it. */
  readonly changes: readonly ViewChange[];
  readonly hash: Hash;
  readonly bytes: number;
  readonly chars: number;
  readonly tokens: number;
};

const preparedByAgent = new WeakMap<Agent, PreparedDefinition>();

/**
 * The segments every session of an agent begins with. Built once per agent and shared as frozen objects; a prompt with date
 * variables is built per session, and so is one of an earlier format.
 */
export const definitionSegments = (
  agent: Agent,
  { runStartedAt: startedAt, format }: Pick<CellPort, 'runStartedAt' | 'format'>,
): PreparedDefinition => {
  let prepared = format === recordFormats.newest ? preparedByAgent.get(agent) : undefined;
  if (prepared === undefined) {
    if (usesDateVariables(agent.definition.prompt)) return prepare(agent, format, startedAt);
    prepared = prepare(agent, format, null);
    if (format !== recordFormats.newest) return prepared;
    preparedByAgent.set(agent, prepared);
  }
  return prepared;
};

const prepare = ({ definition, digest }: Agent, format: number, startedAt: number | null): PreparedDefinition => {
  const source = (path: 'prompt' | 'guidance' | `tools/${number}`): Source => ({ from: 'definition', digest, path });
  const sources = [source('prompt'), source('guidance')];
  const origin: Origin =
    startedAt === null
      ? { rule: ruleInFormat('system@1', format), of: sources }
      : { rule: ruleInFormat('system@2', format), of: sources, with: [startedAt] };
  const system = makeSegment(
    { id: 0, origin, category: 'SYSTEM' },
    [
      { from: 'definition', value: /* probe: system-prompt */ definition.prompt },
      { from: 'definition', value: definition.guidance },
    ],
    format,
  );
  const tools = definition.tools.map((schema, index) => {
    const toolOrigin: Origin = { rule: ruleInFormat('tool@1', format), of: [source(`tools/${index}`)] };
    const segment = { id: index + 1, origin: toolOrigin, category: 'SYSTEM' } as const;
    return makeSegment(segment, [{ from: 'definition', value: schema }], format);
  });
  const all = [system, ...tools];
  const segments = all.map(({ segment }) => segment);
  return {
    ...buildRequest(segments),
    segments,
    changes: [{ add: segments.map(segmentRecord) }],
    hash: sha256(zeroHash + all.map(({ text }) => text).join('')),
    bytes: all.reduce((sum, { segment }) => sum + segment.bytes, 0),
    chars: all.reduce((sum, { segment }) => sum + segment.chars, 0),
    tokens: all.reduce((sum, { segment }) => sum + segment.tokens, 0),
  };
};

/** The form in which the log keeps a segment. */
export const segmentRecord = ({ id, origin, category, bytes }: Segment): SegmentRecord => ({
  id,
  origin,
  category,
  bytes,
});
