// Reads the body of a request for a response.
import { CloisterError } from '#base';
import type { Json, JsonObject } from '#base';
import type { AgentRequest, CallResult, ClientRules, DialogMessage } from '#contracts';
import { BodyFields, openResults } from '#headends/shared';
import { parseFormat } from './answer-format.ts';
import { isCallItem, isReasoning, runOfMessage, runOfResponse } from './ids.ts';
import { parseDialogMessage } from './message.ts';
import { parseResult, parseTools } from './parse-tools.ts';
import { contextFromSystemPrompt } from './system-prompt.ts';
import { refuseUnsupported, unofferedInResponses } from './unsupported-fields.ts';

export type ParsedResponseRequest = {
  /** Null: there are only results, of calls that a run waits for. */
  readonly asked: Omit<AgentRequest, 'input' | 'history'> | null;
  readonly dialog: readonly Turn[];
  readonly results: readonly CallResult[];
  readonly said: readonly string[];
  /** The run whose answer it goes on from. */
  readonly previous: string | null;
  readonly stream: boolean;
  /** How the answer should look, as it was asked for. */
  readonly format: JsonObject;
  /** Those of the client, as it sent them. */
  readonly tools: readonly Json[];
};

/** What was said, or the run that answered it. */
export type Turn = DialogMessage | { readonly answerOf: string };

/** Throws `request_invalid`, `request_unsupported`, or `run_unknown` for an id that cannot be one of ours. */
export const parseResponse = (json: Json | undefined, rules: ClientRules): ParsedResponseRequest => {
  const body = new BodyFields(json);
  const agent = body.text('model');
  refuseUnsupported(body, unofferedInResponses(rules));
  const { turns, context: told } = parseInput(body, rules);
  const { dialog, results, said, isAsked } = openResults(turns, (turn) => 'answerOf' in turn || turn.by === 'agent');
  const instructions = contextFromSystemPrompt(body.optionalText('instructions') ?? '', 'instructions', rules);
  const context = [...instructions, ...told];
  const text = body.has('text') ? body.fields('text') : new BodyFields({}, 'text');
  const previous = body.optionalText('previous_response_id');
  const asked = {
    agent,
    ...(context.length === 0 ? {} : { context }),
    ...parseTools(body, rules),
    ...(text.has('format') ? parseFormat(text.fields('format')) : {}),
  };
  return {
    asked: isAsked ? asked : null,
    dialog,
    results,
    said,
    previous: previous === undefined ? null : runOfResponse(previous, 'previous_response_id'),
    stream: body.flag('stream'),
    format: text.optionalObject('format') ?? { type: 'text' },
    tools: rules.tools && body.has('tools') ? body.list('tools') : [],
  };
};

type Input = { readonly turns: readonly (Turn | CallResult)[]; readonly context: readonly string[] };

const parseInput = (body: BodyFields, rules: ClientRules): Input => {
  const { input } = body.value;
  if (typeof input === 'string') return { turns: [{ by: 'person', text: input }], context: [] };
  if (!Array.isArray(input)) throw body.invalid('input', 'a text or a list of items');
  const turns: (Turn | CallResult)[] = [];
  const context: string[] = [];
  for (const item of body.items('input'))
    switch (typeOf(item, rules)) {
      case 'message': {
        const { by, text } = parseDialogMessage(item, rules);
        if (by === 'system') context.push(...contextFromSystemPrompt(text, item.path('role'), rules));
        else turns.push({ by, text });
        break;
      }
      case 'item_reference': {
        const id = item.text('id');
        if (rules.tools && isCallItem(id)) turns.push(called);
        else if (!isReasoning(id)) turns.push({ answerOf: runOfMessage(id, item.path('id')) });
        break;
      }
      case 'function_call':
        turns.push(called);
        break;
      case 'function_call_output':
        turns.push(parseResult(item, 'call_id', 'output'));
        break;
      // What was thought on the way to an answer is not said again.
      case 'reasoning':
        break;
      default:
        throw new CloisterError(
          'request_unsupported',
          `${item.path('type')}: only messages can be sent to an agent, and references to its answers.`,
        );
    }
  return { turns, context };
};

/** A call is the agent's, and says nothing. */
const called: DialogMessage = { by: 'agent', text: '' };

/** Clients leave it out where the other fields tell. Without tools, what is about calls is of no known type. */
const typeOf = (item: BodyFields, rules: ClientRules): string => {
  const type = item.has('type') ? item.text('type') : undefined;
  if (type !== undefined) return !rules.tools && type.startsWith('function_call') ? '' : type;
  return item.has('id') && !item.has('role') ? 'item_reference' : 'message';
};
