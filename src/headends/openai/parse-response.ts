// Reads the body of a request for a response.
import { CloisterError } from '#base';
import type { Json, JsonObject } from '#base';
import type { Asked, ClientRules, Said } from '#contracts';
import { Fields } from '#headends/wire';
import { parseFormat } from './answer-format.ts';
import { isReasoning, runOfMessage, runOfResponse } from './ids.ts';
import { parseMessage } from './message.ts';
import { knownFrom } from './system-prompt.ts';
import { refuseUnoffered, unofferedInResponses } from './unoffered.ts';

export type ResponseAsked = {
  readonly asked: Omit<Asked, 'input' | 'history'>;
  readonly dialog: readonly Turn[];
  /** The run whose answer it goes on from. */
  readonly previous: string | null;
  readonly stream: boolean;
  /** How the answer should look, as it was asked for. */
  readonly format: JsonObject;
};

/** What was said, or the run that answered it. */
export type Turn = Said | { readonly answerOf: string };

/** Throws `request_invalid`, `request_unsupported`, or `run_unknown` for an id that cannot be one of ours. */
export const parseResponse = (json: Json | undefined, rules: ClientRules): ResponseAsked => {
  const body = new Fields(json);
  const agent = body.text('model');
  refuseUnoffered(body, unofferedInResponses);
  const { dialog, context: told } = parseInput(body, rules);
  const instructions = knownFrom(body.optionalText('instructions') ?? '', 'instructions', rules);
  const context = [...instructions, ...told];
  const text = body.has('text') ? body.fields('text') : new Fields({}, 'text');
  const previous = body.optionalText('previous_response_id');
  return {
    asked: {
      agent,
      ...(context.length === 0 ? {} : { context }),
      ...(text.has('format') ? parseFormat(text.fields('format')) : {}),
    },
    dialog,
    previous: previous === undefined ? null : runOfResponse(previous, 'previous_response_id'),
    stream: body.flag('stream'),
    format: text.optionalObject('format') ?? { type: 'text' },
  };
};

const parseInput = (body: Fields, rules: ClientRules): { dialog: readonly Turn[]; context: readonly string[] } => {
  const { input } = body.value;
  if (typeof input === 'string') return { dialog: [{ by: 'person', text: input }], context: [] };
  if (!Array.isArray(input)) throw body.invalid('input', 'a text or a list of items');
  const dialog: Turn[] = [];
  const context: string[] = [];
  for (const item of body.items('input'))
    switch (typeOf(item)) {
      case 'message': {
        const { by, text } = parseMessage(item);
        if (by === 'system') context.push(...knownFrom(text, item.path('role'), rules));
        else dialog.push({ by, text });
        break;
      }
      case 'item_reference': {
        const id = item.text('id');
        if (!isReasoning(id)) dialog.push({ answerOf: runOfMessage(id, item.path('id')) });
        break;
      }
      // What was thought on the way to an answer is not said again.
      case 'reasoning':
        break;
      default:
        throw new CloisterError(
          'request_unsupported',
          `${item.path('type')}: only messages can be sent to an agent, and references to its answers.`,
        );
    }
  return { dialog, context };
};

/** Clients leave it out where the other fields tell. */
const typeOf = (item: Fields): string => {
  if (item.has('type')) return item.text('type');
  return item.has('id') && !item.has('role') ? 'item_reference' : 'message';
};
