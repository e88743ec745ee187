// The runs of one caller: those in the log, and those that have just begun.
//
//   R1. A run belongs to whom it was begun for; to everybody else it is unknown.
//   R2. A run that was begun here is there from then on, also before its first record is.
import { CloisterError } from '#base';
import type { PromptlyReleasingMap, RunId } from '#base';
import type {
  Caller,
  Cloister,
  Conversation,
  ConversationRef,
  FoundRun,
  RunReport,
  RunSession,
  RunSummary,
  DialogMessage,
} from '#contracts';
import { eventsAfter } from './events-after.ts';
import type { ResidentRun } from './resident-sessions.ts';

/** One that is under way here. */
export type ActiveRun = {
  readonly session: RunSession;
  readonly caller: string;
  readonly agent: string;
  readonly goal: string;
  readonly startedAt: number;
  /** Without its client it cannot be gone on with. */
  readonly needsClient: boolean;
  /** Whoever waits for its end is told that it will not be told here. */
  readonly leave: () => void;
  /** Of one that lives on. */
  readonly resident: ResidentRun | undefined;
  /** Where it is kept what is said with it. */
  readonly conversation: ConversationRef | undefined;
};

type LiveRuns = Pick<PromptlyReleasingMap<RunId, ActiveRun>, 'get' | 'values'>;

/** Newest first, at most so many. */
export const listCallerRuns = async (
  cloister: Cloister,
  live: LiveRuns,
  { name: caller }: Caller,
  most: number,
): Promise<readonly RunSummary[]> => {
  // Looked at before the log: one that ends meanwhile is in one of the two.
  const begun = live
    .values()
    .filter((one) => one.caller === caller)
    .map(summaryOf);
  // probe: run-list-by-caller
  const listed = await cloister.runs({ caller, most });
  const known = new Set(listed.map(({ run }) => run));
  return [...begun.filter(({ run }) => !known.has(run)).toReversed(), ...listed]
    .sort((one, other) => other.startedAt - one.startedAt)
    .slice(0, most);
};

/** Rejects with `run_unknown`. */
export const findCallerRun = async (
  cloister: Cloister,
  live: LiveRuns,
  caller: Caller,
  run: string,
): Promise<FoundRun> => {
  const found = live.get(run as RunId);
  const [listed] = await cloister.runs({ run });
  const summary = listed ?? (found === undefined ? undefined : summaryOf(found));
  // probe: run-found-by-caller
  if (summary === undefined || summary.caller !== caller.name) throw new CloisterError('run_unknown');
  const session = found?.session ?? null;
  const report = (): Promise<RunReport> => cloister.show(run);
  return {
    summary,
    session,
    report,
    said: async () => {
      if (found?.resident === undefined || found.conversation === undefined) return saidIn(await report(), session);
      return saidWith(await report(), await cloister.conversations.show(found.conversation));
    },
    events: (after, signal) => eventsAfter(session, report, after, signal),
  };
};

const summaryOf = ({ session, caller, agent, goal, startedAt }: ActiveRun): RunSummary => ({
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
});

/** What people write to a run while it lives, and what they are answered, is mail: of that a report has no words. */
const saidIn = (
  { run, history, goal, output, events }: RunReport,
  session: RunSession | null,
): readonly DialogMessage[] => {
  const hasMail = events.some((event) => event.type === 'mail' && (event.from === 'outside' || event.to === 'outside'));
  if (hasMail || session?.resident === true)
    throw new CloisterError(
      'request_unsupported',
      `Run ${run} is written to while it lives: what was said in it is not kept as one dialog. Its events tell of each message.`,
    );
  return [
    ...saidBefore(history),
    { by: 'person', text: goal },
    ...(output === '' ? [] : [{ by: 'agent', text: output } as const]),
  ];
};

/** With one that lives, in a conversation: what it was asked and answered so far. */
const saidWith = ({ run, history }: RunReport, { entries }: Conversation): readonly DialogMessage[] => [
  ...saidBefore(history),
  ...entries
    .filter(({ correlation, category }) => correlation === run && category === 'DIALOG')
    .map(({ agent_id: who, text }): DialogMessage => ({ by: who === 'person' ? 'person' : 'agent', text })),
];

const saidBefore = (history: RunReport['history']): readonly DialogMessage[] =>
  history
    .filter(({ category }) => category === 'DIALOG')
    .map(({ agent, text }): DialogMessage => ({ by: agent === null ? 'person' : 'agent', text }));
