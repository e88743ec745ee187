// All judges. To add one, add a file and a line here.
import { abandoned } from './abandoned.ts';
import { acknowledged } from './acknowledged.ts';
import { admissions } from './admissions.ts';
import { approvals } from './approvals.ts';
import { audit } from './audit.ts';
import { childLimits } from './child-limits.ts';
import { workspaceLog } from './workspace-log.ts';
import { accounts } from './accounts.ts';
import { cancel } from './cancel.ts';
import { checkpoints } from './checkpoints.ts';
import { conversations } from './conversations.ts';
import { cost } from './cost.ts';
import { damage } from './damage.ts';
import { deadlines } from './deadlines.ts';
import { deletions } from './deletions.ts';
import { effects } from './effects.ts';
import { events } from './events.ts';
import { failures } from './failures.ts';
import { files } from './files.ts';
import { grants } from './grants.ts';
import { indeterminate } from './indeterminate.ts';
import type { Judge } from './judge.ts';
import { instructions } from './instructions.ts';
import { ledger } from './ledger.ts';
import { mail } from './mail.ts';
import { mailShown } from './mail-shown.ts';
import { mailboxes } from './mailboxes.ts';
import { orphans } from './orphans.ts';
import { outcomes } from './outcomes.ts';
import { owners } from './owners.ts';
import { onlyOwnerAppends, onlyOwnerStarts } from './ownership.ts';
import { progress } from './progress.ts';
import { prompts } from './prompts.ts';
import { queues } from './queues.ts';
import { questions } from './questions.ts';
import { questionTimes } from './question-times.ts';
import { refusals } from './refusals.ts';
import { replay } from './replay.ts';
import { settledOnce } from './settled-once.ts';
import { signals } from './signals.ts';
import { shares } from './shares.ts';
import { spawnedWork } from './spawned-work.ts';
import { spawns } from './spawns.ts';
import { resumedAgents, messagesToPerson } from './messages-to-person.ts';
import { teamEnds } from './team-ends.ts';
import { teamPrompts } from './team-prompts.ts';
import { teams } from './teams.ts';
import { told } from './told.ts';
import { terminal } from './terminal.ts';
import { time } from './time.ts';
import { timers } from './timers.ts';
import { turns } from './turns.ts';
import { windows } from './windows.ts';

export { runJudges } from './judge.ts';
export type { Judge, Problem, Verdict } from './judge.ts';

export const judges: readonly Judge[] = [
  progress,
  failures,
  acknowledged,
  owners,
  onlyOwnerAppends,
  onlyOwnerStarts,
  effects,
  settledOnce,
  indeterminate,
  cost,
  accounts,
  childLimits,
  refusals,
  cancel,
  time,
  timers,
  deadlines,
  orphans,
  abandoned,
  terminal,
  outcomes,
  events,
  told,
  ledger,
  grants,
  shares,
  instructions,
  prompts,
  windows,
  workspaceLog,
  conversations,
  files,
  turns,
  checkpoints,
  mail,
  mailboxes,
  mailShown,
  messagesToPerson,
  resumedAgents,
  spawns,
  spawnedWork,
  teams,
  teamPrompts,
  teamEnds,
  approvals,
  questions,
  questionTimes,
  admissions,
  signals,
  queues,
  audit,
  replay,
  deletions,
  damage,
];
