// Questions to people as AG-UI interrupts: they end a stream, and `resume` of the next request answers them.
import { CloisterError, escapeHidden, isObject } from '#base';
import type { CellId, Json, JsonObject } from '#base';
import type { CallerQuestion, QuestionAnswer } from '#contracts';
import { readPosition, withPosition } from '#headends/shared';
import type { QuestionCall, BodyFields, ReturnedAnswer } from '#headends/shared';

type Interrupt = JsonObject & { readonly id: string; readonly subagentRunId?: CellId };

/** `frame`: the newest frame that the client was told of. */
export const interruptFor = ({ question, call, by }: QuestionCall, frame: number): Interrupt => {
  const { id, tool, args, sha256, why, until, agent, path = [agent] } = question;
  return {
    id: withPosition(id, frame),
    reason: why === 'agent' ? 'input_required' : 'tool_call',
    message: questionText(question),
    toolCallId: call,
    ...(by === null ? {} : { subagentRunId: by }),
    responseSchema: why === 'agent' ? answerSchema(args) : approvalSchema,
    expiresAt: new Date(until).toISOString(),
    metadata: { cloister: { question: id, tool, args, sha256, path: [...path] } },
  };
};

const questionText = ({ why, agent, tool, args }: CallerQuestion): string => {
  const { question } = args;
  if (why === 'agent')
    return `${agent} asks: ${escapeHidden(typeof question === 'string' ? question : JSON.stringify(args))}`;
  return `${agent} wants to call ${tool} with ${escapeHidden(JSON.stringify(args))}.`;
};

const approvalSchema: JsonObject = {
  type: 'object',
  properties: {
    approved: { type: 'boolean', title: 'Allow this call' },
    editedArgs: { type: 'object', title: 'Other arguments', description: 'The tool is called with these instead.' },
    reason: { type: 'string', title: 'Why', description: 'The agent is told.' },
    remember: { type: 'string', enum: ['run'], title: 'Also allow the same call later in this run' },
  },
  required: ['approved'],
};

const answerSchema = ({ options }: JsonObject): JsonObject => ({
  type: 'object',
  properties: {
    answer: { type: 'string', title: 'Answer', ...(Array.isArray(options) ? { enum: options.map(String) } : {}) },
  },
  required: ['answer'],
});

export const parseResume = (entries: readonly BodyFields[]): readonly ReturnedAnswer[] =>
  entries.map((entry) => {
    const { id, frame } = readPosition(entry.text('interruptId'));
    const status = entry.oneOf('status', ['resolved', 'cancelled']);
    if (status === undefined) throw entry.invalid('status', 'resolved or cancelled');
    const { payload } = entry.value;
    const read = (question: CallerQuestion): Omit<QuestionAnswer, 'sha256'> =>
      status === 'cancelled' ? { allow: false } : readPayload(question, payload, entry.path('payload'));
    return { question: id, frame, read };
  });

/** An answer is an object as the interrupt's schema says; a plain `true`, `false` or text is taken too. */
const readPayload = (
  { why }: CallerQuestion,
  payload: Json | undefined,
  path: string,
): Omit<QuestionAnswer, 'sha256'> => {
  const fields = isObject(payload) ? payload : {};
  if (why === 'agent') {
    const answer = typeof payload === 'string' ? payload : fields['answer'];
    if (typeof answer !== 'string') throw invalid(path, 'an object with `answer`, a string');
    return { allow: true, reason: answer };
  }
  const approved = typeof payload === 'boolean' ? payload : fields['approved'];
  if (typeof approved !== 'boolean') throw invalid(path, 'an object with `approved`, true or false');
  const { editedArgs, reason, remember } = fields;
  if (editedArgs !== undefined && editedArgs !== null && !isObject(editedArgs))
    throw invalid(`${path}.editedArgs`, 'a JSON object');
  if (reason !== undefined && reason !== null && typeof reason !== 'string')
    throw invalid(`${path}.reason`, 'a string');
  if (remember !== undefined && remember !== null && remember !== 'run') throw invalid(`${path}.remember`, '"run"');
  return {
    allow: approved,
    ...(isObject(editedArgs) && approved ? { args: editedArgs } : {}),
    ...(typeof reason === 'string' && reason !== '' ? { reason } : {}),
    ...(remember === 'run' && approved ? { remember } : {}),
  };
};

const invalid = (path: string, expected: string): CloisterError =>
  new CloisterError('request_invalid', `${path}: expected ${expected}.`);
