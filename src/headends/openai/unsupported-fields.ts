// The fields of OpenAI's API that are not supported. A field is harmless if it is missing, null or one of its `accepted` values. Otherwise
// the request is refused, because its sender would wait for an effect that never comes. With `--compat`, fields that the answer does not
// depend on (`ignorable`) are ignored, and so are tools other than functions.
//
// All other fields that are not parsed elsewhere are accepted without effect. The agent's definition decides about
//   its model      temperature, top_p, top_k, frequency_penalty, presence_penalty, seed, reasoning, reasoning_effort, verbosity
//   its limits     max_tokens, max_completion_tokens, max_output_tokens, max_tool_calls: these bound one answer of a model, while a tree
//                  of agents has a budget; truncation and context_management: windows are always fitted here
//   its provider   service_tier, prompt_cache_key, prompt_cache_options, prompt_cache_retention
//   its tools      parallel_tool_calls: applies to client tools, if those are allowed
// and the rest concerns only the client: metadata, user, safety_identifier, store (runs are always recorded), include,
// stream_options.include_obfuscation, prediction (which only makes an answer faster), and the extensions of other compatible servers.
import { canonicalJson, CloisterError } from '#base';
import type { Json } from '#base';
import type { ClientRules } from '#contracts';
import { operatorHints } from '#headends/shared';
import type { BodyFields } from '#headends/shared';

type UnsupportedField = {
  readonly accepted: readonly Json[];
  readonly reason: string;
  /** Ignored with `--compat`. */
  readonly ignorable?: true;
};

type UnsupportedFields = Readonly<Record<string, UnsupportedField>>;

/** Throws `request_unsupported`. */
export const refuseUnsupported = (body: BodyFields, unsupported: UnsupportedFields): void => {
  for (const [field, { accepted, reason, ignorable }] of Object.entries(unsupported))
    if (body.has(field) && !isHarmless(body.value[field]!, accepted))
      throw new CloisterError(
        'request_unsupported',
        `${body.path(field)}: ${reason}${ignorable === true ? ` ${operatorHints.compat}` : ''}`,
      );
};

const isHarmless = (value: Json, accepted: readonly Json[]): boolean =>
  accepted.some((harmless) => canonicalJson(harmless) === canonicalJson(value));

export const noClientTools = 'client tools are not allowed here; the agent has its own.';
const functionsInTools = 'functions of a client come in `tools`, if the operator allows them.';
const noLogprobs = 'token probabilities are not available.';
const textOnly = 'agents write only text.';

const toolsInBoth: UnsupportedFields = {
  tools: { accepted: [[]], reason: `${noClientTools} ${operatorHints.tools}` },
  tool_choice: { accepted: ['none', 'auto'], reason: noClientTools },
};

/** If client tools are allowed. */
const choiceInBoth: UnsupportedFields = {
  tool_choice: { accepted: ['none', 'auto'], reason: 'an agent decides for itself which tools it calls.' },
};

const inBoth: UnsupportedFields = {
  top_logprobs: { accepted: [0], reason: noLogprobs, ignorable: true },
  moderation: { accepted: [], reason: 'moderation is not supported.', ignorable: true },
};

/** `isForced`: the client's only tool stands for a schema. */
export const unsupportedInChat = ({ tools }: ClientRules, isForced: boolean): UnsupportedFields => ({
  ...(isForced ? {} : tools ? choiceInBoth : toolsInBoth),
  ...inChat,
});

export const unsupportedInResponses = ({ tools }: ClientRules, isForced: boolean): UnsupportedFields => ({
  ...(isForced ? {} : tools ? choiceInBoth : toolsInBoth),
  ...inResponses,
});

const inChat: UnsupportedFields = {
  ...inBoth,
  functions: { accepted: [[]], reason: functionsInTools },
  function_call: { accepted: ['none', 'auto'], reason: functionsInTools },
  n: { accepted: [1], reason: 'each request has exactly one answer.' },
  logprobs: { accepted: [false], reason: noLogprobs, ignorable: true },
  logit_bias: { accepted: [{}], reason: 'logit bias is not supported.', ignorable: true },
  stop: { accepted: [[], ''], reason: 'stop sequences are not supported.', ignorable: true },
  audio: { accepted: [], reason: textOnly },
  modalities: { accepted: [['text'], []], reason: textOnly },
  web_search_options: { accepted: [], reason: 'an agent searches with its own tools.', ignorable: true },
};

const inResponses: UnsupportedFields = {
  ...inBoth,
  background: { accepted: [false], reason: 'a run ends with its request; to leave it running, use POST /v1/:agent.' },
  conversation: { accepted: [], reason: 'use previous_response_id to continue from a response.' },
  prompt: { accepted: [], reason: 'stored prompts are not supported; the agent has its own prompt.' },
};

const ignorableIn = (unsupported: UnsupportedFields) => ({
  isField: (name: string, value: Json): boolean => {
    const field = unsupported[name];
    return field?.ignorable === true && !isHarmless(value, field.accepted);
  },
  clientToolType: 'function',
});

export const ignorableInChat = ignorableIn(inChat);
export const ignorableInResponses = ignorableIn(inResponses);
