// Reads the body of a chat completion.
import type { Json } from '#base';
import type { Asked, ClientRules, Said } from '#contracts';
import { askedIn, Fields } from '#headends/wire';
import { parseFormat } from './answer-format.ts';
import { parseMessage } from './message.ts';
import { knownFrom } from './system-prompt.ts';
import { refuseUnoffered, unofferedInChat } from './unoffered.ts';

export type ChatAsked = {
  readonly asked: Asked;
  readonly stream: boolean;
  /** The stream tells its usage at the end. */
  readonly withUsage: boolean;
};

/** Throws `request_invalid` or `request_unsupported`. */
export const parseChat = (json: Json | undefined, rules: ClientRules): ChatAsked => {
  const body = new Fields(json);
  const agent = body.text('model');
  refuseUnoffered(body, unofferedInChat);
  const { dialog, context } = parseMessages(body, rules);
  const { input, history } = askedIn(dialog, 'messages');
  return {
    asked: {
      agent,
      input,
      ...(history.length === 0 ? {} : { history }),
      ...(context.length === 0 ? {} : { context }),
      ...(body.has('response_format') ? parseFormat(body.fields('response_format'), 'json_schema') : {}),
    },
    stream: body.flag('stream'),
    withUsage: body.has('stream_options') && body.fields('stream_options').flag('include_usage'),
  };
};

const parseMessages = (body: Fields, rules: ClientRules): { dialog: readonly Said[]; context: readonly string[] } => {
  const dialog: Said[] = [];
  const context: string[] = [];
  for (const item of body.items('messages')) {
    const { by, text } = parseMessage(item);
    if (by === 'system') context.push(...knownFrom(text, item.path('role'), rules));
    else dialog.push({ by, text });
  }
  return { dialog, context };
};
