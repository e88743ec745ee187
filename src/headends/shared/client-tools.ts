// What the protocols have in common about a client's own tools and the results of their calls.
import { CloisterError } from '#base';
import type { AgentRequest, Caller, CallResult, ClientTool, DialogMessage, ServedRun, AgentService } from '#contracts';
import { filesOnlyText, omittedFileText } from './attached-file.ts';
import { BodyFields } from './body-fields.ts';
import { requestKey } from './request-key.ts';

/** Parses one tool. `schemaField`: the field that holds its input schema. */
export const parseTool = (tool: BodyFields, schemaField: string): ClientTool => {
  const schema = tool.optionalObject(schemaField) ?? {};
  if ((schema['type'] ?? 'object') !== 'object')
    throw new BodyFields(schema, tool.path(schemaField)).invalid('type', '"object", because arguments are an object');
  return {
    name: tool.text('name'),
    description: tool.optionalText('description') ?? '',
    inputSchema: { ...schema, type: 'object' },
  };
};

type DialogAndResults<Turn> = {
  /** The dialog without tool results. Results that an answer followed need no place of their own: that answer already used them. */
  readonly dialog: readonly Turn[];
  /** The results that no answer has followed yet. */
  readonly results: readonly CallResult[];
  /** What the user wrote alongside those results. */
  readonly userTexts: readonly string[];
  /** Whether the request holds input for the agent, with the results or without any. */
  readonly hasNewInput: boolean;
};

/** `isAgent`: whether a turn comes from the agent, as text or as a call. */
export const separateResults = <Turn extends object>(
  turns: readonly (Turn | CallResult)[],
  isAgent: (turn: Turn) => boolean,
): DialogAndResults<Turn> => {
  const last = turns.findLastIndex((turn) => !isResult(turn) && isAgent(turn));
  const open = turns.slice(last + 1);
  const results = open.filter((turn) => isResult(turn));
  return {
    dialog: turns.filter((turn): turn is Turn => !isResult(turn)),
    results,
    userTexts: open.flatMap((turn) => (!isResult(turn) && isDialogMessage(turn) ? textsOf(turn) : [])),
    hasNewInput: results.length === 0 || open.length > results.length,
  };
};

/** What is sent along with results reaches the agent as text. */
const textsOf = ({ text, attachments = [] }: DialogMessage): readonly string[] => [
  ...(text.trim() === '' ? [] : [text]),
  ...attachments.map(({ mediaType }) => omittedFileText(mediaType)),
];

const isDialogMessage = (turn: object): turn is DialogMessage => 'by' in turn;

const isResult = (turn: object): turn is CallResult => 'call' in turn;

/** What a request brings. `newRequest` is called only if a new run is needed; null means that the request holds nothing but results. */
type StartOrContinueInput = Pick<DialogAndResults<never>, 'results' | 'userTexts'> & {
  /** Of the request; a key among them makes it safe to send again. */
  readonly headers: Headers;
  readonly newRequest: (() => AgentRequest | Promise<AgentRequest>) | null;
};

/** Continues the run that waits for these results, or starts a new one. */
export const startOrContinue = async (
  service: AgentService,
  caller: Caller,
  { results, userTexts, newRequest, headers }: StartOrContinueInput,
  signal: AbortSignal,
): Promise<ServedRun> => {
  // If no run waits for these results any more, they are only part of the dialog.
  const isAwaited = service.awaits(
    caller,
    results.map(({ call }) => call),
  );
  if (newRequest === null || isAwaited) return service.continueRun(caller, { results, messages: userTexts }, signal);
  const key = requestKey(headers);
  const request = await newRequest();
  return service.startRun(caller, key === undefined ? request : { ...request, key }, signal);
};

// A dialog as clients of chat protocols send it: every request repeats all earlier messages.
/** The user's last message is the input; the messages before it are the history. `field`: the name of the dialog's field, for errors. */
export const splitDialog = (
  dialog: readonly DialogMessage[],
  field: string,
): { readonly input: string } & Pick<AgentRequest, 'attachments' | 'history'> => {
  const last = dialog.at(-1);
  if (last === undefined) throw new CloisterError('request_invalid', `${field}: needs at least one message.`);
  if (last.by !== 'person')
    throw new CloisterError(
      'request_unsupported',
      `${field}: the last message must come from the user; prefilling an answer is not supported.`,
    );
  const [{ text, attachments = [] }, ...before] = [last, ...dialog.slice(0, -1)];
  const history = before.map(withText).filter((message) => message.text.trim() !== '');
  return {
    input: withText({ by: 'person', text, attachments }).text,
    ...(attachments.length === 0 ? {} : { attachments }),
    ...(history.length === 0 ? {} : { history }),
  };
};

/** A message may consist of files only. */
const withText = (message: DialogMessage): DialogMessage =>
  message.text.trim() === '' && (message.attachments ?? []).length > 0 ? { ...message, text: filesOnlyText } : message;
