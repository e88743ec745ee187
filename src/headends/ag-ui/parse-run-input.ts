// Parses the body of an AG-UI request.
//
// The client keeps the thread, and sends all of it each time: the last message of the user is the request, what comes before it is
// history. So editing, regenerating and branching in the front end work, and nothing is told twice. Messages of sub-agents, reasoning,
// activities and the calls of the agent's own tools are the front end's record of what it was shown: they are not sent back to the agent.
import { CloisterError } from '#base';
import type { Json } from '#base';
import type { Attachment, ClientRules } from '#contracts';
import {
  allowedSystem,
  BodyFields,
  fileFromUrl,
  isClientCall,
  omittedFileText,
  readPosition,
  requestFromDialog,
} from '#headends/shared';
import type { ClientDialog, ClientTurn, DialogRequest, PastCall, ReturnedAnswer } from '#headends/shared';
import { parseResume } from './interrupts.ts';

export type RunInput = DialogRequest & {
  readonly threadId: string;
  readonly runId: string;
  /** As the client sent them. */
  readonly messages: readonly Json[];
  /** To the questions that ended an earlier stream. */
  readonly answers: readonly ReturnedAnswer[];
};

/** Throws `request_invalid` or `request_unsupported`. */
export const parseRunInput = (json: Json | undefined, agent: string, rules: ClientRules): RunInput => {
  const body = new BodyFields(json);
  const request = requestFromDialog(body, parseMessages(body, rules), agent, rules);
  const { userTexts, newRequest } = request;
  const context = body.has('context') ? body.items('context').map(contextText) : [];
  return {
    ...request,
    threadId: body.text('threadId'),
    runId: body.text('runId'),
    messages: body.list('messages'),
    answers: body.has('resume') ? parseResume(body.items('resume')).map((one) => withUserText(one, userTexts)) : [],
    newRequest: () => ({ ...newRequest(), ...(context.length === 0 ? {} : { context }) }),
  };
};

/** What the user writes instead of an approval is why the call is denied. With any other answer it would be lost. */
const withUserText = (answer: ReturnedAnswer, texts: readonly string[]): ReturnedAnswer => ({
  ...answer,
  read: (question) => {
    const read = answer.read(question);
    if (texts.length === 0) return read;
    if (!read.allow && read.reason === undefined) return { ...read, reason: texts.join('\n\n') };
    throw new CloisterError(
      'request_unsupported',
      'messages: a new message cannot be combined with answers to interrupts. Send it when the run has finished.',
    );
  },
});

const contextText = (item: BodyFields): string => `${item.text('description')}: ${item.text('value')}`;

const parseMessages = (body: BodyFields, rules: ClientRules): ClientDialog => {
  const turns: ClientTurn[] = [];
  const system: string[] = [];
  let frame = -1;
  for (const message of body.items('messages')) {
    const role = message.oneOf('role', roles);
    if (role === undefined) throw message.invalid('role', `one of ${roles.join(', ')}`);
    if (message.has('subagentRunId')) continue;
    if (role === 'user') turns.push({ by: 'person', ...parseContent(message) });
    else if (role === 'assistant') turns.push(...parseAgentMessage(message));
    else if (role === 'system' || role === 'developer')
      system.push(...allowedSystem(message.text('content'), message.path('role'), rules));
    else if (role === 'tool') {
      const call = readPosition(message.text('toolCallId'));
      if (!isClientCall(call.id)) continue;
      frame = Math.max(frame, call.frame ?? -1);
      turns.push({ call: call.id, text: resultText(message), failed: message.has('error') });
    }
  }
  return { turns, system, frame };
};

const roles = ['user', 'assistant', 'system', 'developer', 'tool', 'reasoning', 'activity'] as const;

const parseAgentMessage = (message: BodyFields): readonly ClientTurn[] => {
  const calls = message.has('toolCalls') ? message.items('toolCalls') : [];
  const own = calls.flatMap((call): readonly PastCall[] => {
    const { id } = readPosition(call.text('id'));
    if (!isClientCall(id)) return [];
    const called = call.fields('function');
    return [{ called: id, name: called.text('name'), input: called.text('arguments') }];
  });
  return [{ by: 'agent', text: message.optionalText('content') ?? '' }, ...own];
};

const resultText = (message: BodyFields): string => {
  const error = message.optionalText('error');
  const { text, attachments = [] } = parseContent(message);
  const files = attachments.map(({ mediaType }) => omittedFileText(mediaType));
  return [text, ...files, ...(error === undefined || error === text ? [] : [error])]
    .filter((one) => one !== '')
    .join('\n\n');
};

type MessageContent = { readonly text: string; readonly attachments?: readonly Attachment[] };

const parseContent = (message: BodyFields): MessageContent => {
  const { content } = message.value;
  if (typeof content === 'string') return { text: content };
  if (!Array.isArray(content)) throw message.invalid('content', 'a string or an array of parts');
  const texts: string[] = [];
  const attachments: Attachment[] = [];
  for (const part of message.items('content'))
    if (part.value['type'] === 'text') texts.push(part.text('text'));
    else attachments.push(parseFile(part));
  return { text: texts.join('\n\n'), ...(attachments.length === 0 ? {} : { attachments }) };
};

const fileTypes = ['image', 'audio', 'video', 'document'] as const;

const parseFile = (part: BodyFields): Attachment => {
  if (part.oneOf('type', fileTypes) === undefined) throw part.invalid('type', `text or ${fileTypes.join(', ')}`);
  const source = part.fields('source');
  if (source.value['type'] === 'data') return { mediaType: source.text('mimeType'), data: source.text('value') };
  return fileFromUrl(source.path('value'), source.text('value'));
};
