// The runs of one caller: recorded ones, and ones that have just started.
//
//   R1. A run belongs to the caller that started it; for every other caller it does not exist.
//   R2. A run is visible as soon as it was started here, even before its first record.
import { CloisterError } from '#base';
import type { PromptlyReleasingMap, RunId } from '#base';
import type {
  Caller,
  Cloister,
  Conversation,
  ConversationRef,
  CallerRun,
  RunReport,
  RunSession,
  RunSummary,
  DialogMessage,
} from '#contracts';
import { eventsAfter } from './events-after.ts';
import type { ResidentRun } from './resident-sessions.ts';

/** A run that is running in this process. */
export type ActiveRun = {
  readonly session: RunSession;
  readonly caller: string;
  readonly agent: string;
  readonly goal: string;
  readonly startedAt: number;
  /** The run cannot continue without its client. */
  readonly needsClient: boolean;
  /** Rejects the outcome for those who wait for it, while the run itself is left to be resumed. */
  readonly detach: () => void;
  /** Set for a resident. */
  readonly resident: ResidentRun | undefined;
  /** The conversation that the run takes part in. */
  readonly conversation: ConversationRef | undefined;
};

type ActiveRunMap = Pick<PromptlyReleasingMap<RunId, ActiveRun>, 'get' | 'values'>;

/** At most `most` runs, newest first. */
export const listCallerRuns = async (
  cloister: Cloister,
  live: ActiveRunMap,
  { name: caller }: Caller,
  most: number,
): Promise<readonly RunSummary[]> => {
  // Before reading the log: a run that ends meanwhile is then in at least one of the two lists.
  const active = live
    .values()
    .filter((one) => one.caller === caller)
    .map(activeRunSummary);
  // probe: run-list-by-caller
  const listed = await cloister.runs({ caller, most });
  const known = new Set(listed.map(({ run }) => run));
  return [...active.filter(({ run }) => !known.has(run)).toReversed(), ...listed]
    .sort((one, other) => other.startedAt - one.startedAt)
    .slice(0, most);
};

/** Rejects with `run_unknown`. */
export const findCallerRun = async (
  cloister: Cloister,
  live: ActiveRunMap,
  caller: Caller,
  run: string,
): Promise<CallerRun> => {
  const found = live.get(run as RunId);
  const [listed] = await cloister.runs({ run });
  const summary = listed ?? (found === undefined ? undefined : activeRunSummary(found));
  // probe: run-found-by-caller
  if (summary === undefined || summary.caller !== caller.name) throw new CloisterError('run_unknown');
  const session = found?.session ?? null;
  const report = (): Promise<RunReport> => cloister.show(run);
  return {
    summary,
    session,
    report,
    dialog: async () => {
      if (found?.resident === undefined || found.conversation === undefined) return readDialog(await report(), session);
      return readResidentDialog(await report(), await cloister.conversations.show(found.conversation));
    },
    events: (after, signal) => eventsAfter(session, report, after, signal),
  };
};

const activeRunSummary = ({ session, caller, agent, goal, startedAt }: ActiveRun): RunSummary => ({
  run: session.run,
  agent,
  goal,
  startedAt,
  endedAt: null,
  state: 'running',
  status: null,
  cells: 1,
  caller,
  spent: null,
  owner: 'this process',
  recordedBy: null,
});

/** Messages to and from a running run are mail, and a report does not contain their text. */
const readDialog = (
  { run, history, goal, output, events }: RunReport,
  session: RunSession | null,
): readonly DialogMessage[] => {
  const hasMail = events.some((event) => event.type === 'mail' && (event.from === 'outside' || event.to === 'outside'));
  if (hasMail || session?.resident === true)
    throw new CloisterError(
      'request_unsupported',
      `Run ${run} is long-lived and has no single dialog. Read its messages from its events.`,
    );
  return [
    ...historyDialog(history),
    { by: 'person', text: goal },
    ...(output === '' ? [] : [{ by: 'agent', text: output } as const]),
  ];
};

/** The dialog so far with a resident in a conversation. */
const readResidentDialog = ({ run, history }: RunReport, { entries }: Conversation): readonly DialogMessage[] => [
  ...historyDialog(history),
  ...entries
    .filter(({ correlation, category }) => correlation === run && category === 'DIALOG')
    .map(({ agent_id: who, text }): DialogMessage => ({ by: who === 'person' ? 'person' : 'agent', text })),
];

const historyDialog = (history: RunReport['history']): readonly DialogMessage[] =>
  history
    .filter(({ category }) => category === 'DIALOG')
    .map(({ agent, text }): DialogMessage => ({ by: agent === null ? 'person' : 'agent', text }));
