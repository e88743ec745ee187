// Questions to people in responses: an approval request ends a response, and an approval response continues its run.
import { CloisterError } from '#base';
import type { JsonObject } from '#base';
import { readQuestionId } from '#contracts';
import type { AgentService, Caller, CallerQuestion, ServedRun } from '#contracts';
import { findAsked, requestKey } from '#headends/shared';
import type { BodyFields } from '#headends/shared';

/** The client's answer to an approval request. */
export type Approval = { readonly question: string; readonly allow: boolean; readonly reason?: string };

export const approvalItem = ({ id, tool, args }: CallerQuestion): JsonObject => ({
  id,
  type: 'mcp_approval_request',
  name: tool,
  arguments: JSON.stringify(args),
  server_label: 'cloister',
});

export const parseApproval = (item: BodyFields): Approval => {
  const reason = item.optionalText('reason');
  if (typeof item.value['approve'] !== 'boolean') throw item.invalid('approve', 'true or false');
  return {
    question: item.text('approval_request_id'),
    allow: item.flag('approve'),
    ...(reason === undefined ? {} : { reason }),
  };
};

/** Which of the parsed items answer questions now: those that no turn of the agent has followed. Throws `request_invalid`. */
export const separateApprovals = <Turn extends object>(
  turns: readonly (Turn | Approval)[],
  isAgent: (turn: Turn) => boolean,
): { readonly approvals: readonly Approval[]; readonly turns: readonly Turn[] } => {
  const others = turns.filter((turn): turn is Turn => !isApproval(turn));
  const open = turns.slice(1 + turns.findLastIndex((turn) => !isApproval(turn) && isAgent(turn)));
  const approvals = open.filter((turn) => isApproval(turn));
  if (approvals.length > 0 && approvals.length < open.length)
    throw new CloisterError(
      'request_invalid',
      'input: answers to approval requests cannot be combined with other input.',
    );
  return { approvals, turns: others };
};

const isApproval = (turn: object): turn is Approval => 'question' in turn;

type ApprovalsInput = {
  readonly approvals: readonly Approval[];
  /** The run whose response the request continues. */
  readonly previous: string | null;
  readonly headers: Headers;
};

/** Answers questions of one run, and reads on. `name`: what the ids of the next response are built from. */
export const continueApproved = async (
  service: AgentService,
  caller: Caller,
  { approvals, previous, headers }: ApprovalsInput,
  signal: AbortSignal,
): Promise<{ readonly run: ServedRun; readonly name: string }> => {
  const key = requestKey(headers);
  const { questions } = service;
  const asked = await findAsked(
    service,
    caller,
    approvals.map(({ question }) => question),
  );
  const [{ run, id }] = asked as [CallerQuestion];
  if (asked.some((one) => one.run !== run) || (previous !== null && previous !== run))
    throw new CloisterError('request_invalid', 'input: the approval requests belong to another response.');
  for (const [nth, { allow, reason }] of approvals.entries()) {
    const question = asked[nth]!;
    // A client that got no response sends its answer again.
    if (question.answers.some((one) => one.by === caller.name && one.allow === allow)) continue;
    const answer = { allow, sha256: question.sha256, ...(reason === undefined ? {} : { reason }) };
    await questions.answer(caller, question.id, answer, { key, signal });
  }
  return { run: await questions.followRun(caller, run), name: `${run}_${readQuestionId(id)!.frame}` };
};
