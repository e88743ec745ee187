// Questions to people during a tool call.
//
//   mcp-state-decides-nothing. `requestState` only names the run that a call continues. It comes from the client, so whatever it names
//       is looked up among the runs of the caller and of the called agent, and answers are taken by the caller's right alone.
import type {
  ClientCapabilities,
  InputRequest,
  InputRequiredResult,
  ServerContext,
} from '@modelcontextprotocol/server';
import { CloisterError, escapeHidden, isObject } from '#base';
import type { Json } from '#base';
import type { Agent, AgentService, Caller, CallerQuestion, QuestionAnswer, ServedRun } from '#contracts';
import type { McpLibrary } from './server-factory.ts';

type McpRequest = ServerContext['mcpReq'];

/** The run that this call continues: named by the state of an earlier round, or by the client; undefined: a new one. */
export const continuedRun = ({ requestState, _meta }: McpRequest): string | undefined => {
  const run: unknown = requestState() ?? _meta?.['cloister/run'];
  return typeof run === 'string' ? run : undefined;
};

/** Takes the client's answers, and reads on. Rejects with `run_unknown` for anything but a run of this caller with this agent. */
export const continueCall = async (
  service: AgentService,
  { caller, agent, run }: { readonly caller: Caller; readonly agent: Agent; readonly run: string },
  { inputResponses = {}, signal }: McpRequest,
): Promise<ServedRun> => {
  const { summary } = await service.find(caller, run);
  if (summary.agent !== agent.name) throw new CloisterError('run_unknown');
  const asked = await service.questions.list(caller, summary.run);
  for (const question of asked) {
    const answer = readAnswer(question, inputResponses[question.id]);
    if (answer !== null) await service.questions.answer(caller, question.id, answer, { signal });
  }
  return service.questions.followRun(caller, summary.run);
};

/** Null: the person has not decided. Throws `approval_needed` if the person does not want to decide now. */
const readAnswer = (question: CallerQuestion, response: unknown): QuestionAnswer | null => {
  if (!isObject(response as Json)) return null;
  const { action, content } = response as {
    readonly action?: unknown;
    readonly content?: Readonly<Record<string, unknown>>;
  };
  const { sha256, why } = question;
  if (action === 'cancel') throw approvalNeeded([question]);
  if (action === 'decline') return { allow: false, sha256 };
  if (action !== 'accept') return null;
  const { allow, reason, answer } = content ?? {};
  if (why === 'agent') return { allow: true, sha256, ...textField(answer) };
  return { allow: allow === true, sha256, ...textField(reason) };
};

const textField = (text: unknown): Pick<QuestionAnswer, 'reason'> =>
  typeof text === 'string' && text !== '' ? { reason: text } : {};

/** How a client is asked that cannot be: it gets an error that says who can. */
export const approvalNeeded = (questions: readonly CallerQuestion[]): CloisterError => {
  const [{ run }] = questions as readonly [CallerQuestion];
  const list = questions.map(({ id, tool }) => `${id} (${tool})`).join(', ');
  return new CloisterError(
    'approval_needed',
    `Run ${run} waits: ${list}. Then call the tool again with _meta {"cloister/run":"${run}"}, or read the answer over REST: GET /v1/runs/${run}.`,
  );
};

/** Whether the client can be asked in the middle of a call: with the protocol version 2026-07-28, if it can show forms. */
export const canBeAsked = ({ CLIENT_CAPABILITIES_META_KEY }: McpLibrary, { envelope }: McpRequest): boolean => {
  const { [CLIENT_CAPABILITIES_META_KEY]: capabilities } = (envelope ?? {}) as Readonly<Record<string, unknown>>;
  return isObject(capabilities as Json) && (capabilities as ClientCapabilities).elicitation !== undefined;
};

export const inputRequiredResult = (
  { inputRequired }: McpLibrary,
  questions: readonly CallerQuestion[],
): InputRequiredResult => {
  const form = (question: CallerQuestion): InputRequest =>
    inputRequired.elicit(question.why === 'agent' ? questionForm(question) : approvalForm(question));
  return inputRequired({
    inputRequests: Object.fromEntries(questions.map((question) => [question.id, form(question)])),
    requestState: questions[0]!.run,
  });
};

type Form = Parameters<McpLibrary['inputRequired']['elicit']>[0];

const approvalForm = ({ agent, tool, args }: CallerQuestion): Form => ({
  message: `${agent} wants to call ${tool} with ${escapeHidden(JSON.stringify(args))}.`,
  requestedSchema: {
    type: 'object',
    properties: {
      allow: { type: 'boolean', title: 'Allow this call' },
      reason: { type: 'string', title: 'Why not', description: 'The agent is told.' },
    },
    required: ['allow'],
  },
});

const questionForm = ({ agent, args: { question, options } }: CallerQuestion): Form => ({
  message: `${agent} asks: ${escapeHidden(typeof question === 'string' ? question : JSON.stringify(question))}`,
  requestedSchema: {
    type: 'object',
    properties: {
      answer: Array.isArray(options)
        ? { type: 'string', title: 'Answer', enum: options.map(String) }
        : { type: 'string', title: 'Answer' },
    },
    required: ['answer'],
  },
});
