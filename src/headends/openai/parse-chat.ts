// Parses the body of a chat completion request.
import type { Json } from '#base';
import type { AgentRequest, CallResult, ClientRules, DialogMessage } from '#contracts';
import {
  splitDialog,
  BodyFields,
  refuseTwoFormats,
  requestArguments,
  separateResults,
  withoutIgnored,
  refuseHostedTools,
} from '#headends/shared';
import { parseFormat, parseForcedFunction, parseResult, parseTools } from './parse-tools.ts';
import { parseDialogMessage, allowedSystem } from './message.ts';
import { ignorableInChat, refuseUnsupported, unsupportedInChat } from './unsupported-fields.ts';

type ParsedChatRequest = {
  /** Null: the request holds only results of calls that a run waits for. */
  readonly request: AgentRequest | null;
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
  const { dialog, results, userTexts, hasNewInput } = separateResults(turns, ({ by }) => by === 'agent');
  const format = body.has('response_format') ? parseFormat(body.fields('response_format'), 'json_schema') : {};
  refuseTwoFormats(forced, format, 'response_format');
  const common = {
    agent,
    ...(system.length === 0 ? {} : { system }),
    ...(forced === null ? { ...parseTools(body, rules, 'function'), ...format } : requestArguments(forced)),
  };
  return {
    request: hasNewInput ? { ...common, ...splitDialog(dialog, 'messages') } : null,
    results,
    userTexts,
    answerTool: forced?.name ?? null,
    stream: body.flag('stream'),
    headers: kept.headers,
    withUsage: body.has('stream_options') && body.fields('stream_options').flag('include_usage'),
  };
};

type Messages = { readonly turns: readonly (DialogMessage | CallResult)[]; readonly system: readonly string[] };

const parseMessages = (body: BodyFields, rules: ClientRules): Messages => {
  const turns: (DialogMessage | CallResult)[] = [];
  const system: string[] = [];
  for (const item of body.items('messages')) {
    if (rules.tools && item.value['role'] === 'tool') {
      turns.push(parseResult(item, 'tool_call_id', 'content'));
      continue;
    }
    const { by, ...said } = parseDialogMessage(item, rules);
    if (by === 'system') system.push(...allowedSystem(said.text, item.path('role'), rules));
    else turns.push({ by, ...said });
  }
  return { turns, system };
};
