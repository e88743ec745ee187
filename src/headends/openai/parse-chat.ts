// Parses the body of a chat completion request.
import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { AgentRequest, CallResult, ClientRules, DialogMessage } from '#contracts';
import {
  allowedSystem,
  splitDialog,
  BodyFields,
  refuseTwoFormats,
  requestArguments,
  separateResults,
  withoutIgnored,
  refuseHostedTools,
} from '#headends/shared';
import type { PastCall } from '#headends/shared';
import { parseFormat, parseForcedFunction, parsePastCall, parseResult, parseTools } from './parse-tools.ts';
import { parseDialogMessage } from './message.ts';
import { ignorableInChat, refuseUnsupported, unsupportedInChat } from './unsupported-fields.ts';

type ParsedChatRequest = {
  readonly request: AgentRequest;
  readonly results: readonly CallResult[];
  readonly userTexts: readonly string[];
  /** The function whose arguments the answer is; null: the answer is text. */
  readonly answerTool: string | null;
  readonly stream: boolean;
  /** Of the response: what of the request was ignored. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the stream ends with the usage. */
  readonly withUsage: boolean;
};

/** Throws `request_invalid` or `request_unsupported`. */
export const parseChat = (json: Json | undefined, rules: ClientRules): ParsedChatRequest => {
  const kept = withoutIgnored(json, rules, ignorableInChat);
  const body = new BodyFields(kept.body);
  const agent = body.text('model');
  refuseHostedTools(body, rules, { clientToolType: 'function', own: 'functions' });
  const forced = parseForcedFunction(body, 'function');
  refuseUnsupported(body, unsupportedInChat(rules, forced !== null));
  const { turns, system } = parseMessages(body, rules);
  const { dialog, results, userTexts } = separateResults(turns, ({ by }) => by === 'agent');
  const format = body.has('response_format') ? parseFormat(body.fields('response_format'), 'json_schema') : {};
  refuseTwoFormats(forced, format, 'response_format');
  const common = {
    agent,
    ...(system.length === 0 ? {} : { system }),
    ...(forced === null ? { ...parseTools(body, rules, 'function'), ...format } : requestArguments(forced)),
  };
  return {
    request: { ...common, ...splitDialog(dialog, 'messages') },
    results,
    userTexts,
    answerTool: forced?.name ?? null,
    stream: body.flag('stream'),
    headers: kept.headers,
    withUsage: body.has('stream_options') && body.fields('stream_options').flag('include_usage'),
  };
};

type Messages = {
  readonly turns: readonly (DialogMessage | CallResult | PastCall)[];
  readonly system: readonly string[];
};

const parseMessages = (body: BodyFields, rules: ClientRules): Messages => {
  const turns: (DialogMessage | CallResult | PastCall)[] = [];
  const system: string[] = [];
  for (const item of body.items('messages')) {
    if (rules.tools && item.value['role'] === 'tool') {
      turns.push(parseResult(item, 'tool_call_id', 'content'));
      continue;
    }
    const { by, ...said } = parseDialogMessage(item, rules);
    if (by === 'system') system.push(...allowedSystem(said.text, item.path('role'), rules));
    else turns.push({ by, ...said }, ...parsePastCalls(item));
  }
  return { turns, system };
};

/** Those that the client repeats with an earlier answer. */
const parsePastCalls = ({ value }: BodyFields): readonly PastCall[] => {
  const calls = value['tool_calls'];
  return (Array.isArray(calls) ? calls : []).filter(isObject).map((call) => {
    const { id, function: called } = call as JsonObject;
    return parsePastCall(id, isObject(called) ? called : {});
  });
};
