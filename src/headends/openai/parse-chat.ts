// Reads the body of a chat completion.
import type { Json } from '#base';
import type { Asked, CallResult, ClientRules, Said } from '#contracts';
import { askedIn, Fields, openResults } from '#headends/wire';
import { parseFormat } from './answer-format.ts';
import { parseMessage } from './message.ts';
import { parseResult, parseTools } from './parse-tools.ts';
import { knownFrom } from './system-prompt.ts';
import { refuseUnoffered, unofferedInChat } from './unoffered.ts';

export type ChatAsked = {
  /** Null: there are only results, of calls that a run waits for. */
  readonly asked: Asked | null;
  readonly results: readonly CallResult[];
  readonly said: readonly string[];
  readonly stream: boolean;
  /** The stream tells its usage at the end. */
  readonly withUsage: boolean;
};

/** Throws `request_invalid` or `request_unsupported`. */
export const parseChat = (json: Json | undefined, rules: ClientRules): ChatAsked => {
  const body = new Fields(json);
  const agent = body.text('model');
  refuseUnoffered(body, unofferedInChat(rules));
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

const dialogOf = (dialog: readonly Said[]): Pick<Asked, 'input' | 'history'> => {
  const { input, history } = askedIn(dialog, 'messages');
  return { input, ...(history.length === 0 ? {} : { history }) };
};

type Messages = { readonly turns: readonly (Said | CallResult)[]; readonly context: readonly string[] };

const parseMessages = (body: Fields, rules: ClientRules): Messages => {
  const turns: (Said | CallResult)[] = [];
  const context: string[] = [];
  for (const item of body.items('messages')) {
    if (rules.tools && item.value['role'] === 'tool') {
      turns.push(parseResult(item, 'tool_call_id', 'content'));
      continue;
    }
    const { by, text } = parseMessage(item, rules);
    if (by === 'system') context.push(...knownFrom(text, item.path('role'), rules));
    else turns.push({ by, text });
  }
  return { turns, context };
};
