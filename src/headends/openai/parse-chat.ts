// Reads the body of a chat completion.
import type { Json } from '#base';
import type { AgentRequest, CallResult, ClientRules, DialogMessage } from '#contracts';
import { splitDialog, BodyFields, openResults } from '#headends/shared';
import { parseFormat } from './answer-format.ts';
import { parseDialogMessage } from './message.ts';
import { parseResult, parseTools } from './parse-tools.ts';
import { contextFromSystemPrompt } from './system-prompt.ts';
import { refuseUnsupported, unofferedInChat } from './unsupported-fields.ts';

export type ParsedChatRequest = {
  /** Null: there are only results, of calls that a run waits for. */
  readonly asked: AgentRequest | null;
  readonly results: readonly CallResult[];
  readonly said: readonly string[];
  readonly stream: boolean;
  /** The stream tells its usage at the end. */
  readonly withUsage: boolean;
};

/** Throws `request_invalid` or `request_unsupported`. */
export const parseChat = (json: Json | undefined, rules: ClientRules): ParsedChatRequest => {
  const body = new BodyFields(json);
  const agent = body.text('model');
  refuseUnsupported(body, unofferedInChat(rules));
  const { turns, context } = parseMessages(body, rules);
  const { dialog, results, said, isAsked } = openResults(turns, ({ by }) => by === 'agent');
  const asked = {
    agent,
    ...(context.length === 0 ? {} : { context }),
    ...parseTools(body, rules, 'function'),
    ...(body.has('response_format') ? parseFormat(body.fields('response_format'), 'json_schema') : {}),
  };
  return {
    asked: isAsked ? { ...asked, ...dialogOf(dialog) } : null,
    results,
    said,
    stream: body.flag('stream'),
    withUsage: body.has('stream_options') && body.fields('stream_options').flag('include_usage'),
  };
};

const dialogOf = (dialog: readonly DialogMessage[]): Pick<AgentRequest, 'input' | 'history'> => {
  const { input, history } = splitDialog(dialog, 'messages');
  return { input, ...(history.length === 0 ? {} : { history }) };
};

type Messages = { readonly turns: readonly (DialogMessage | CallResult)[]; readonly context: readonly string[] };

const parseMessages = (body: BodyFields, rules: ClientRules): Messages => {
  const turns: (DialogMessage | CallResult)[] = [];
  const context: string[] = [];
  for (const item of body.items('messages')) {
    if (rules.tools && item.value['role'] === 'tool') {
      turns.push(parseResult(item, 'tool_call_id', 'content'));
      continue;
    }
    const { by, text } = parseDialogMessage(item, rules);
    if (by === 'system') context.push(...contextFromSystemPrompt(text, item.path('role'), rules));
    else turns.push({ by, text });
  }
  return { turns, context };
};
