// Renders what people answered to a cell's questions.
import { errorText1, isObject } from '#base';
import type { ErrorCode, JsonObject } from '#base';
import type { AnswerContent } from '#contracts';
import { sourceCall, toolMessage, userMessage } from './dialog.ts';
import type { ResolvedSource, Rule } from './rule.ts';

/** denied@1. Sources: the call, the step that records that it was not made, and what the person said, if anything. */
export const deniedRule: Rule = ([call, operation, said]) => {
  const { id, name } = sourceCall(call);
  if (operation?.from !== 'operation' || operation.settled.ok) throw new TypeError('denied@1 needs a failed step');
  const { code } = operation.settled.failure;
  const { class: kind, summary, suggestion } = errorText1(code satisfies ErrorCode);
  const { text } = said === undefined ? {} : answerOf(said);
  const words = text === undefined ? '' : ` They said: ${text}`;
  return toolMessage(id, name, { type: 'error-text', value: `Error (${kind}): ${summary}${words} ${suggestion}` });
};

/** answered@1. Sources: the call that asked a person, its operation, and the answer. */
export const answeredRule: Rule = ([call, , said]) => {
  const { id, name } = sourceCall(call);
  return toolMessage(id, name, { type: 'text', value: `The person answered: ${answerOf(said).text ?? ''}` });
};

/** edited@1. Sources: the call, and the answer that changed its arguments. */
export const editedRule: Rule = ([call, said]) => {
  const { name } = sourceCall(call);
  const { args } = answerOf(said);
  return userMessage(
    `A person changed the arguments of your call of ${name} before it was made. It was called with: ${JSON.stringify(args)}`,
  );
};

const answerOf = (source: ResolvedSource | undefined): AnswerContent => {
  if (source?.from !== 'crossing') throw new TypeError('the rule needs an answer');
  const { text, args } = JSON.parse(source.content) as { readonly text?: unknown; readonly args?: unknown };
  return {
    ...(typeof text === 'string' ? { text } : {}),
    ...(isObject(args) ? { args: args as JsonObject } : {}),
  };
};
