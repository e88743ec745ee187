// Parses the body that `useChat` sends.
//
// The client keeps the chat, and sends all of it each time: the last message of the user is the request, what comes before it is history.
// Of an agent's messages only the texts are sent back to the agent: calls of its own tools, and what its sub-agents did, are the front
// end's record of what it was shown.
import { CloisterError, isObject } from '#base';
import type { Json } from '#base';
import type { Attachment, CallResult, ClientRules, DialogMessage } from '#contracts';
import {
  allowedSystem,
  BodyFields,
  fileFromUrl,
  isClientCall,
  readPosition,
  requestFromDialog,
} from '#headends/shared';
import type { ClientDialog, ClientTurn, DialogRequest, PastCall, ReturnedAnswer } from '#headends/shared';
import { chatIdCharsMax } from './chat-runs.ts';

export type ChatRequest = DialogRequest & {
  /** The id of the chat. */
  readonly chat: string;
  /** The run continues when its client disconnects. */
  readonly isDetached: boolean;
  /** To the questions that ended an earlier stream, and the calls that they are about. */
  readonly answers: readonly ReturnedAnswer[];
  readonly answeredCalls: readonly string[];
};

/** Throws `request_invalid` or `request_unsupported`. */
export const parseChatRequest = (json: Json | undefined, agent: string, rules: ClientRules): ChatRequest => {
  const body = new BodyFields(json);
  const messages = keptMessages(body);
  const request = requestFromDialog(body, parseMessages(messages, rules), agent, rules);
  const approvals = parseApprovals(messages.at(-1));
  return {
    ...request,
    chat: parseChatId(body),
    isDetached: body.flag('resumable'),
    answers: approvals.map(({ answer }) => answer),
    answeredCalls: approvals.map(({ call }) => call),
  };
};

const parseChatId = (body: BodyFields): string => {
  const id = body.text('id');
  if (id.length > chatIdCharsMax)
    throw new CloisterError('request_invalid', `id: expected at most ${chatIdCharsMax} characters.`);
  return id;
};

/** Without the answer that is to be replaced, and what followed it. `useChat` has removed them already; other clients may not. */
const keptMessages = (body: BodyFields): readonly BodyFields[] => {
  const messages = body.items('messages');
  if (body.oneOf('trigger', ['submit-message', 'regenerate-message']) !== 'regenerate-message') return messages;
  const named = messages.findIndex(({ value }) => value['id'] === body.value['messageId']);
  const upTo = named === -1 ? messages : messages.slice(0, named + 1);
  return upTo.slice(0, 1 + upTo.findLastIndex(({ value }) => value['role'] === 'user'));
};

const roles = ['user', 'assistant', 'system'] as const;

const parseMessages = (messages: readonly BodyFields[], rules: ClientRules): ClientDialog => {
  const turns: ClientTurn[] = [];
  const system: string[] = [];
  let frame = -1;
  for (const message of messages) {
    const role = message.oneOf('role', roles);
    if (role === undefined) throw message.invalid('role', `one of ${roles.join(', ')}`);
    const parts = message.items('parts');
    if (role === 'system') system.push(...allowedSystem(textOf(parts), message.path('role'), rules));
    else if (role === 'user') turns.push({ by: 'person', text: textOf(parts), ...filesOf(parts) });
    else {
      const calls = parts.flatMap(parseClientCall);
      turns.push({ by: 'agent', text: textOf(parts) }, ...calls.map(({ call }) => call));
      turns.push(...calls.flatMap(({ result }) => (result === null ? [] : [result])));
      frame = Math.max(frame, ...calls.map((call) => call.frame));
    }
  }
  return { turns, system, frame };
};

const textOf = (parts: readonly BodyFields[]): string =>
  parts
    .filter(({ value }) => value['type'] === 'text')
    .map((part) => part.text('text'))
    .filter((text) => text.trim() !== '')
    .join('\n\n');

const filesOf = (parts: readonly BodyFields[]): Pick<DialogMessage, 'attachments'> => {
  const files = parts
    .filter(({ value }) => value['type'] === 'file')
    .map((part): Attachment => {
      part.refuse('providerReference', 'there is no store of uploaded files here; send the bytes as a data: URL.');
      return fileFromUrl(part.path('url'), part.text('url'), part.optionalText('filename'));
    });
  return files.length === 0 ? {} : { attachments: files };
};

type ClientToolPart = { readonly call: PastCall; readonly result: CallResult | null; readonly frame: number };

/** A call of one of the client's tools, and its result, if the client has called it. */
const parseClientCall = (part: BodyFields): readonly ClientToolPart[] => {
  const { toolCallId, state, input, output } = part.value;
  const { id, frame } = readPosition(typeof toolCallId === 'string' ? toolCallId : '');
  // Calls that people were asked about have the same kind of id, without a position.
  if (!isToolPart(part) || frame === undefined || !isClientCall(id)) return [];
  const call = { called: id, name: toolNameOf(part), input: JSON.stringify(input ?? {}) };
  if (state === 'output-available') return [{ call, frame, result: { call: id, text: asText(output), failed: false } }];
  if (state !== 'output-error') return [{ call, frame, result: null }];
  return [{ call, frame, result: { call: id, text: part.text('errorText'), failed: true } }];
};

const isToolPart = ({ value: { type } }: BodyFields): boolean =>
  type === 'dynamic-tool' || (typeof type === 'string' && type.startsWith('tool-'));

const toolNameOf = (part: BodyFields): string =>
  part.value['type'] === 'dynamic-tool' ? part.text('toolName') : part.text('type').slice('tool-'.length);

const asText = (value: Json | undefined): string => (typeof value === 'string' ? value : JSON.stringify(value ?? null));

type ParsedApproval = { readonly answer: ReturnedAnswer; readonly call: string };

/** The answers in the last message, if that is the agent's: a message of the user that follows it answers nothing. */
const parseApprovals = (last: BodyFields | undefined): readonly ParsedApproval[] => {
  if (last?.value['role'] !== 'assistant') return [];
  return last
    .items('parts')
    .filter(
      (part) => isToolPart(part) && part.value['state'] === 'approval-responded' && isObject(part.value['approval']),
    )
    .map((part) => {
      const approval = part.fields('approval');
      const { id: question, frame } = readPosition(approval.text('id'));
      if (typeof approval.value['approved'] !== 'boolean') throw approval.invalid('approved', 'true or false');
      const reason = approval.optionalText('reason') ?? '';
      const answer = { allow: approval.flag('approved'), ...(reason === '' ? {} : { reason }) };
      return { call: part.text('toolCallId'), answer: { question, frame, read: () => answer } };
    });
};
