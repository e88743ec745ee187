// What the protocols have in common about a client's own tools and the results of their calls.
import { CloisterError, omitUndefined } from '#base';
import type {
  AgentRequest,
  Caller,
  CallResult,
  ClientRules,
  ClientTool,
  DialogMessage,
  ServedRun,
  AgentService,
} from '#contracts';
import { filesOnlyText, omittedFileText } from './attached-file.ts';
import { BodyFields } from './body-fields.ts';
import { operatorHints } from './client-failure.ts';
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

/** The tools of a front end. Throws `request_unsupported` if the operator does not allow them. */
export const parseClientTools = (body: BodyFields, rules: ClientRules): readonly ClientTool[] => {
  const items = body.has('tools') ? body.items('tools') : [];
  if (items.length > 0 && !rules.tools)
    throw new CloisterError(
      'request_unsupported',
      `tools: client tools are not allowed here; the agent has its own. ${operatorHints.tools}`,
    );
  return items.map((tool) => parseTool(tool, 'parameters'));
};

/** A call of a client's tool, as the client repeats it. */
export type PastCall = { readonly called: string; readonly name: string; readonly input: string };

type DialogAndResults<Turn> = {
  /**
   * The dialog as history. Results that an answer followed need no place in it: that answer already used them. Newer ones are what
   * the user says last, for the case that no run waits for them.
   */
  readonly dialog: readonly (Turn | DialogMessage)[];
  /** The results that no answer has followed yet. */
  readonly results: readonly CallResult[];
  /** What the user wrote alongside those results. */
  readonly userTexts: readonly string[];
};

/** `isAgent`: whether a turn comes from the agent. */
export const separateResults = <Turn extends object>(
  turns: readonly (Turn | CallResult | PastCall)[],
  isAgent: (turn: Turn) => boolean,
): DialogAndResults<Turn> => {
  const last = turns.findLastIndex((turn) => isCall(turn) || (!isResult(turn) && isAgent(turn)));
  const open = turns.slice(last + 1).filter((turn) => !isCall(turn));
  const results = open.filter((turn) => isResult(turn));
  const said = (list: readonly (Turn | CallResult | PastCall)[]): readonly Turn[] =>
    list.filter((turn): turn is Turn => !isResult(turn) && !isCall(turn));
  const told = results.length === 0 ? [] : [resultsMessage(results, turns.filter(isCall))];
  return {
    dialog: [...said(turns.slice(0, last + 1)), ...told, ...said(open)],
    results,
    userTexts: said(open).flatMap((turn) => (isDialogMessage(turn) ? textsOf(turn) : [])),
  };
};

/** Results that no run waits for, as text. */
const resultsMessage = (results: readonly CallResult[], calls: readonly PastCall[]): DialogMessage => {
  const texts = results.map(({ call, text, failed }) => {
    const { name = 'a tool', input = '' } = calls.find(({ called }) => called === call) ?? {};
    const shown = input.length > inputCharsMax ? `${input.slice(0, inputCharsMax)}…` : input;
    return `[${failed ? 'Failed result' : 'Result'} of ${[name, shown].filter((one) => one !== '').join(' ')}]\n${text}`;
  });
  return { by: 'person', text: texts.join('\n\n') };
};

const inputCharsMax = 2_000;

/** What is sent along with results reaches the agent as text. */
const textsOf = ({ text, attachments = [] }: DialogMessage): readonly string[] => [
  ...(text.trim() === '' ? [] : [text]),
  ...attachments.map(({ mediaType }) => omittedFileText(mediaType)),
];

const isDialogMessage = (turn: object): turn is DialogMessage => 'by' in turn;

const isResult = (turn: object): turn is CallResult => 'call' in turn;

const isCall = (turn: object): turn is PastCall => 'called' in turn;

/** What a request says about its client's tools, for a run that goes on. */
export const clientTools = ({ oneCall, tools, details, readsEvents }: ToolFields): ToolFields =>
  omitUndefined({ oneCall, tools, details, readsEvents });

type ToolFields = Pick<AgentRequest, 'oneCall' | 'tools' | 'details' | 'readsEvents'>;

/** What a request brings. `newRequest` is called only if a new run is needed. */
type StartOrContinueInput = Pick<DialogAndResults<never>, 'results' | 'userTexts'> &
  ToolFields & {
    /** Of the request; a key among them makes it safe to send again. */
    readonly headers: Headers;
    readonly newRequest: () => AgentRequest | Promise<AgentRequest>;
  };

/** Continues the run that waits for these results, or starts a new one. */
export const startOrContinue = async (
  service: AgentService,
  caller: Caller,
  { results, userTexts, newRequest, headers, ...how }: StartOrContinueInput,
  signal: AbortSignal,
): Promise<ServedRun> => {
  const continued =
    results.length === 0 ? null : await service.continueRun(caller, { results, messages: userTexts, ...how }, signal);
  if (continued !== null) return continued;
  // No run waits for these results any more, so they are only part of the dialog.
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
