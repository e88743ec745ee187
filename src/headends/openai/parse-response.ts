// Parses the body of a request for a response.
import { CloisterError } from '#base';
import type { Json, JsonObject } from '#base';
import type { AgentRequest, AgentService, Caller, CallerRun, CallResult, ClientRules, DialogMessage } from '#contracts';
import {
  allowedSystem,
  BodyFields,
  refuseTwoFormats,
  requestArguments,
  separateResults,
  withoutIgnored,
  refuseHostedTools,
} from '#headends/shared';
import { parseApproval, separateApprovals } from './approvals.ts';
import type { Approval } from './approvals.ts';
import type { PastCall } from '#headends/shared';
import { callFromItemId, isCallItemId, isReasoningId, runFromMessageId, runFromResponseId } from './ids.ts';
import { parseDialogMessage } from './message.ts';
import { parseFormat, parseForcedFunction, parsePastCall, parseResult, parseTools } from './parse-tools.ts';
import { ignorableInResponses, refuseUnsupported, unsupportedInResponses } from './unsupported-fields.ts';

export type ParsedResponseRequest = {
  readonly request: Omit<AgentRequest, 'input' | 'history'>;
  readonly dialog: readonly ResponseTurn[];
  readonly results: readonly CallResult[];
  /** Answers to questions that a run waits for. If there are any, there is nothing else. */
  readonly approvals: readonly Approval[];
  readonly userTexts: readonly string[];
  /** The run whose answer this request continues. */
  readonly previous: string | null;
  /** The function whose arguments the answer is; null: the answer is text. */
  readonly answerTool: string | null;
  readonly stream: boolean;
  /** Of the response: what of the request was ignored. */
  readonly headers: Readonly<Record<string, string>>;
  /** The requested answer format, as the client sent it. */
  readonly format: JsonObject;
  /** The client's tools, as it sent them. */
  readonly tools: readonly Json[];
};

/** A message, or a reference to the run whose answer stands here. */
type ResponseTurn = DialogMessage | { readonly answerOfRun: string };

/** Throws `request_invalid`, `request_unsupported`, or `run_unknown` for an id that is not one of ours. */
export const parseResponse = (json: Json | undefined, rules: ClientRules): ParsedResponseRequest => {
  const kept = withoutIgnored(json, rules, ignorableInResponses);
  const body = new BodyFields(kept.body);
  const agent = body.text('model');
  refuseHostedTools(body, rules, { clientToolType: 'function', own: 'functions' });
  const forced = parseForcedFunction(body);
  refuseUnsupported(body, unsupportedInResponses(rules, forced !== null));
  const { turns, system: inputSystem } = parseInput(body, rules);
  const { approvals, turns: others } = separateApprovals(turns, isAgentItem);
  const { dialog, results, userTexts } = separateResults(others, isAgentTurn);
  const instructions = allowedSystem(body.optionalText('instructions') ?? '', 'instructions', rules);
  const system = [...instructions, ...inputSystem];
  const text = body.has('text') ? body.fields('text') : new BodyFields({}, 'text');
  const previous = body.optionalText('previous_response_id');
  const format = text.has('format') ? parseFormat(text.fields('format')) : {};
  refuseTwoFormats(forced, format, 'text.format');
  const common = {
    agent,
    ...(system.length === 0 ? {} : { system }),
    ...(forced === null ? { ...parseTools(body, rules), ...format } : requestArguments(forced)),
  };
  return {
    request: common,
    dialog,
    results,
    approvals,
    userTexts,
    previous: previous === undefined ? null : runFromResponseId(previous, 'previous_response_id'),
    answerTool: forced?.name ?? null,
    stream: body.flag('stream'),
    headers: kept.headers,
    format: text.optionalObject('format') ?? { type: 'text' },
    tools: (rules.tools || forced !== null) && body.has('tools') ? body.list('tools') : [],
  };
};

/** An approval request of the agent: its answer follows. */
const askedTurn: DialogMessage = { by: 'agent', text: '' };

const isAgentItem = (turn: ResponseTurn | CallResult | PastCall): boolean =>
  'called' in turn || (!('call' in turn) && isAgentTurn(turn));

const isAgentTurn = (turn: ResponseTurn): boolean => 'answerOfRun' in turn || turn.by === 'agent';

type Input = {
  readonly turns: readonly (ResponseTurn | CallResult | PastCall | Approval)[];
  readonly system: readonly string[];
};

const parseInput = (body: BodyFields, rules: ClientRules): Input => {
  const { input } = body.value;
  if (typeof input === 'string') return { turns: [{ by: 'person', text: input }], system: [] };
  if (!Array.isArray(input)) throw body.invalid('input', 'a string or an array of items');
  const turns: (ResponseTurn | CallResult | PastCall | Approval)[] = [];
  const system: string[] = [];
  for (const item of body.items('input'))
    switch (itemType(item, rules)) {
      case 'message': {
        const { by, ...said } = parseDialogMessage(item, rules);
        if (by === 'system') system.push(...allowedSystem(said.text, item.path('role'), rules));
        else turns.push({ by, ...said });
        break;
      }
      case 'item_reference': {
        const id = item.text('id');
        if (rules.tools && isCallItemId(id)) turns.push(parsePastCall(callFromItemId(id), {}));
        else if (!isReasoningId(id)) turns.push({ answerOfRun: runFromMessageId(id, item.path('id')) });
        break;
      }
      case 'function_call':
        turns.push(parsePastCall(item.value['call_id'], item.value));
        break;
      case 'function_call_output':
        turns.push(parseResult(item, 'call_id', 'output'));
        break;
      case 'mcp_approval_request':
        turns.push(askedTurn);
        break;
      case 'mcp_approval_response':
        turns.push(parseApproval(item));
        break;
      // Reasoning is not part of the dialog.
      case 'reasoning':
        break;
      default:
        throw new CloisterError(
          'request_unsupported',
          `${item.path('type')}: only messages and references to earlier answers are supported.`,
        );
    }
  return { turns, system };
};

/** Clients omit the type if the other fields imply it. If client tools are not allowed, items about calls have no supported type. */
const itemType = (item: BodyFields, rules: ClientRules): string => {
  const type = item.has('type') ? item.text('type') : undefined;
  if (type !== undefined) return !rules.tools && type.startsWith('function_call') ? '' : type;
  return item.has('id') && !item.has('role') ? 'item_reference' : 'message';
};

// Completes the dialog of a request that refers to earlier responses instead of repeating them.
//
//   earlier-responses-own-only. Only the caller's own runs are looked up; the run of another caller is as unknown as one that
//       never existed.
/** Rejects with `run_unknown`, or with `request_invalid` for a response that was never completed. */
export const resolveEarlierResponses = async (
  service: Pick<AgentService, 'find'>,
  caller: Caller,
  { previous, dialog, results }: Pick<ParsedResponseRequest, 'previous' | 'dialog' | 'results'>,
): Promise<readonly DialogMessage[]> => {
  const found = new Map<string, readonly DialogMessage[]>();
  const dialogOf = async (run: string): Promise<readonly DialogMessage[]> => {
    // probe: recalled-said
    const said = found.get(run) ?? (await withFiles(await service.find(caller, run)));
    found.set(run, said);
    return said;
  };

  const all: DialogMessage[] = [];
  if (previous !== null) {
    const before = await dialogOf(previous);
    // Results follow a response that was no answer, and its run may have ended without one.
    if (results.length === 0) lastAnswer(before, 'previous_response_id: it');
    all.push(...before);
  }
  const lastReference = new Map(
    dialog.flatMap((turn, index) => ('answerOfRun' in turn ? [[turn.answerOfRun, index]] : [])),
  );
  for (const [index, turn] of dialog.entries()) {
    if (!('answerOfRun' in turn)) all.push(turn);
    // Only the last reference to a run stands for its answer; earlier ones are texts from before the client returned tool results.
    else if (lastReference.get(turn.answerOfRun) === index)
      all.push(lastAnswer(await dialogOf(turn.answerOfRun), 'input: an item'));
  }
  return all;
};

/** The dialog of a run as a client would send it again. */
const withFiles = async (run: Pick<CallerRun, 'dialog' | 'attachments'>): Promise<readonly DialogMessage[]> => {
  const said: DialogMessage[] = [];
  for (const { by, text, attachments = [] } of await run.dialog())
    said.push({ by, text, ...(attachments.length === 0 ? {} : { attachments: await run.attachments(attachments) }) });
  return said;
};

const lastAnswer = (dialog: readonly DialogMessage[], subject: string): DialogMessage => {
  const last = dialog.at(-1);
  if (last?.by === 'agent') return last;
  throw new CloisterError('request_invalid', `${subject} refers to a response that was never completed.`);
};
