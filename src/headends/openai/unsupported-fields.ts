// What of OpenAI's interface is not offered, by field. A field asks for nothing when it is left out, null or one of its `fine`
// values; else the request is refused, for whoever sends it would wait for something that does not come.
//
// All other fields that are not read elsewhere are accepted and change nothing. An agent's definition says how it works:
//   its model      temperature, top_p, top_k, frequency_penalty, presence_penalty, seed, reasoning, reasoning_effort, verbosity
//   its limits     max_tokens, max_completion_tokens, max_output_tokens, max_tool_calls: of one answer there, while a tree of
//                  agents has a budget; truncation and context_management: windows are fitted here in any case
//   its provider   service_tier, prompt_cache_key, prompt_cache_options, prompt_cache_retention
//   its tools      parallel_tool_calls: where a client's own are taken, it holds for those
// and the rest is a client's own: metadata, user, safety_identifier, store (runs are recorded in any case), include,
// stream_options.include_obfuscation, and whatever servers of this kind have invented besides.
import { canonicalJson, CloisterError } from '#base';
import type { Json } from '#base';
import type { ClientRules } from '#contracts';
import { mayAllow } from '#headends/shared';
import type { BodyFields } from '#headends/shared';

export type UnsupportedFields = Readonly<Record<string, { readonly fine: readonly Json[]; readonly words: string }>>;

/** Throws `request_unsupported`. */
export const refuseUnsupported = (body: BodyFields, unoffered: UnsupportedFields): void => {
  for (const [field, { fine, words }] of Object.entries(unoffered)) {
    if (!body.has(field)) continue;
    const value = canonicalJson(body.value[field]);
    if (!fine.some((harmless) => canonicalJson(harmless) === value))
      throw new CloisterError('request_unsupported', `${body.path(field)}: ${words}`);
  }
};

export const toolsAreOwn = 'an agent has tools of its own; a client cannot bring any, nor call them.';
const noLogprobs = 'probabilities of tokens are not told.';
const textOnly = 'an agent reads and writes text only.';

const toolsInBoth: UnsupportedFields = {
  tools: { fine: [[]], words: `${toolsAreOwn} ${mayAllow.tools}` },
  tool_choice: { fine: ['none', 'auto'], words: toolsAreOwn },
};

/** Where a client's tools are taken. */
const choiceInBoth: UnsupportedFields = {
  tool_choice: { fine: ['none', 'auto'], words: 'an agent itself decides which tools it calls.' },
};

const inBoth: UnsupportedFields = {
  top_logprobs: { fine: [0], words: noLogprobs },
  moderation: { fine: [], words: 'what is said is not moderated here.' },
};

export const unofferedInChat = ({ tools }: ClientRules): UnsupportedFields => ({
  ...(tools ? choiceInBoth : toolsInBoth),
  ...inChat,
});

export const unofferedInResponses = ({ tools }: ClientRules): UnsupportedFields => ({
  ...(tools ? choiceInBoth : toolsInBoth),
  ...inResponses,
});

const inChat: UnsupportedFields = {
  ...inBoth,
  functions: { fine: [[]], words: toolsAreOwn },
  function_call: { fine: ['none', 'auto'], words: toolsAreOwn },
  n: { fine: [1], words: 'there is one answer to a request.' },
  logprobs: { fine: [false], words: noLogprobs },
  logit_bias: { fine: [{}], words: 'an agent chooses its own words.' },
  stop: { fine: [[], ''], words: 'an answer is not cut at a word.' },
  prediction: { fine: [], words: 'an answer cannot be foretold.' },
  audio: { fine: [], words: textOnly },
  modalities: { fine: [['text'], []], words: textOnly },
  web_search_options: { fine: [], words: toolsAreOwn },
};

const inResponses: UnsupportedFields = {
  ...inBoth,
  background: { fine: [false], words: 'a run ends with its request; POST /v1/:agent can leave it running.' },
  conversation: { fine: [], words: 'go on from an answer with previous_response_id.' },
  prompt: { fine: [], words: 'an agent has a prompt of its own.' },
};
