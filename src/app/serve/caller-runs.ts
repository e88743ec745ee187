// The runs of one caller: recorded ones, and ones that have just started.
//
//   run-belongs-to-caller. A run belongs to the caller that started it; for every other caller it does not exist, unless it may
//       watch that caller's runs, or runs the server.
//   contents-by-token. Transcripts, and events with contents, only for a caller whose token shows contents.
//   run-visible-at-once. As soon as it was started here, even before its first record.
import { CloisterError, omitUndefined } from '#base';
import type { PromptlyReleasingMap, RunId } from '#base';
import { callerPrefix, failureAsSeen, isMessageError, outcomeAsSeen, readsAllRuns, seesCauses } from '#contracts';
import type {
  Attachment,
  StoredAttachment,
  Caller,
  CallerRun,
  Cause,
  Cloister,
  ConversationRef,
  EventPage,
  FollowedRun,
  RunArchive,
  RunMessage,
  RunReport,
  RunSummary,
  RunEvent,
  RunSession,
  Sees,
} from '#contracts';
import { callerRunReports, checkSeesContents } from './caller-run-reports.ts';
import type { ElsewhereRuns } from './elsewhere-runs.ts';
import type { ActiveRun } from './served-run.ts';

export type ActiveRunMap = Pick<PromptlyReleasingMap<RunId, ActiveRun>, 'get' | 'values'>;

/** The caller whose runs this one may read; undefined: everybody's. */
export const ownerOf = (caller: Caller): string | undefined =>
  readsAllRuns(caller) ? undefined : (caller.watches?.caller ?? caller.name);

/** A conversation under the name that its owner gave it; one of another caller has that caller's name before it. */
export const conversationAsSeen = ({ agent, name }: ConversationRef, caller: Caller): ConversationRef => {
  const prefix = callerPrefix(ownerOf(caller) ?? caller.name);
  return { agent, name: name.startsWith(prefix) ? name.slice(prefix.length) : name };
};

/** Null for one that does not belong to the owner of the run: the command line can continue conversations of callers. */
export const conversationOfRun = (
  ref: ConversationRef | undefined,
  { caller: owner }: Pick<RunSummary, 'caller'>,
  caller: Caller,
): ConversationRef | null => {
  if (ref === undefined) return null;
  if (ownerOf(caller) !== undefined && (owner === null || !ref.name.startsWith(callerPrefix(owner)))) return null;
  return conversationAsSeen(ref, caller);
};

type CallerArchive = RunArchive & Pick<Cloister, 'conversations'>;

/** The runs that this server reads: its own, and those of other processes. */
type FoundRuns = { readonly live: ActiveRunMap; readonly elsewhere: Pick<ElsewhereRuns, 'reader' | 'follow'> };

/** Rejects with `run_unknown`. */
export const findCallerRun = async (
  archive: CallerArchive,
  { live, elsewhere }: FoundRuns,
  caller: Caller,
  run: string,
): Promise<CallerRun> => {
  // probe: run-by-id
  const found = live.get(run as RunId);
  const [listed] = await archive.runs({ run });
  const summary = listed ?? (found === undefined ? undefined : activeRunSummary(found));
  const owner = ownerOf(caller);
  // probe: run-found-by-caller
  if (summary === undefined || (owner !== undefined && summary.caller !== owner))
    throw new CloisterError('run_unknown');
  const session = found?.session ?? null;
  // One that is interrupted works nowhere.
  const isElsewhere = session === null && summary.state === 'running';
  const reader = isElsewhere ? elsewhere.reader(summary.run) : session;
  // Whoever watches, and the operator, takes no message away from the one that it is for.
  const isOwn = caller.watches === undefined && summary.caller === caller.name;
  // probe: watcher-confirms
  const confirm = isOwn ? (message: string) => reader?.confirm(message) : () => undefined;
  const { sees = 'answers' } = caller;
  const causes = async (answer?: string): Promise<readonly Cause[] | undefined> => {
    if (!seesCauses(sees)) return undefined;
    if (session !== null) return session.causes(omitUndefined({ answer }));
    return (await archive.show(run, { sees, ...omitUndefined({ answer }) })).causes;
  };
  const report = (options: { readonly details?: boolean } = {}): Promise<RunReport> =>
    archive.show(run, { sees, ...options });
  return {
    summary,
    session: reader === null ? null : callerSession(reader, sees, confirm),
    report,
    causes,
    conversation: async () => {
      const turns = await conversationsOfRuns(archive);
      return conversationOfRun(turns.get(summary.run), summary, caller);
    },
    dialog: async () => readDialog(await report()),
    attachments: (stored) => Promise.all(stored.map((one) => readStored(archive, run, one))),
    ...callerRunReports(archive, summary.run, {
      sees,
      findOwn: async (other) => (await findCallerRun(archive, { live, elsewhere }, caller, other)).summary.run,
    }),
    transcript: async (options) => {
      checkSeesContents(sees, 'transcript');
      // probe: transcript-of-run
      return session?.transcript(options) ?? archive.transcript(run, options);
    },
    events: ({ after, details = false } = {}, signal) => {
      if (details) checkSeesContents(sees, 'details');
      const query = { after, sees, details, confirm };
      if (!isElsewhere) return eventsAfter(session, () => report({ details }), query, signal);
      return eventsElsewhere(elsewhere.follow(summary.run), isOwn, (followed, taken) =>
        eventsAfter(followed, () => report({ details }), { ...query, confirm: taken }, signal),
      );
    },
    eventPage: async ({ after, details = false, limit }) => {
      if (details) checkSeesContents(sees, 'details');
      const { events } = await report({ details });
      const from = after === undefined ? 0 : 1 + eventIndex(events, after);
      // The client has asked for what comes next, so it has taken these.
      for (const event of events.slice(0, from))
        if (event.type === 'mail' && event.to === 'outside' && !isDelivered(events, event.message))
          confirm(event.message);
      return cutPage(events.slice(from, from + limit), from + limit < events.length);
    },
  };
};

/** By run: the conversation that it is or was a turn of. */
export const conversationsOfRuns = async ({
  conversations,
}: Pick<Cloister, 'conversations'>): Promise<ReadonlyMap<string, ConversationRef>> =>
  new Map(
    (await conversations.turns()).flatMap(({ agent, name, turns }) =>
      turns.flatMap(({ versions }) => versions.map((run) => [run, { agent, name }] as const)),
    ),
  );

// A page reads the whole log, although it returns a part: an event follows from all frames before it (names, open operations,
// windows), and a record is believed only with the hashes before it. Long logs are read in pieces, so that others are served too.

/** With contents, a few events can be large. The first one is always there. */
const pageCharsMax = 4 * 1024 * 1024;

const cutPage = (events: EventPage['events'], hasMore: boolean): EventPage => {
  let chars = 0;
  const end = events.findIndex((event, index) => {
    chars += JSON.stringify(event).length;
    return index > 0 && chars > pageCharsMax;
  });
  const page = end === -1 ? events : events.slice(0, end);
  return { events: page, next: hasMore || end !== -1 ? (page.at(-1)?.id ?? null) : null };
};

type ConfirmMessage = (message: string) => void;

const callerSession = (
  session: Pick<RunSession, 'outcome' | 'answer' | 'agents'>,
  sees: Sees,
  confirm: ConfirmMessage,
): NonNullable<CallerRun['session']> => ({
  get outcome() {
    return session.outcome.then((outcome) => outcomeAsSeen(outcome, sees));
  },
  answer: async (message, options) => {
    try {
      return await session.answer(message, options);
    } catch (error) {
      throw error instanceof CloisterError ? visibleError(error, sees) : error;
    }
  },
  confirm,
  agents: () => session.agents(),
});

/** Why there is no answer. */
const visibleError = (error: CloisterError, sees: Sees): CloisterError => {
  if (isMessageError(error.code)) return error;
  const { code, detail, retryAfterMs } = failureAsSeen(error.failure, sees);
  return new CloisterError(code, detail, retryAfterMs === undefined ? {} : { retryAfterMs });
};

/** As it was sent: only the caller's own runs are found, so it is the caller's own file. */
const readStored = async (archive: RunArchive, run: string, stored: StoredAttachment): Promise<Attachment> => {
  const { mediaType, name } = stored;
  const data = 'text' in stored ? Buffer.from(stored.text) : await archive.attachment(run, stored.sha256);
  return { mediaType, data, ...(name === undefined ? {} : { name }) };
};

export const activeRunSummary = ({ session, caller, agent, request, startedAt }: ActiveRun): RunSummary => ({
  run: session.run,
  agent: agent.name,
  goal: typeof request.input === 'string' ? request.input : '',
  startedAt,
  endedAt: null,
  state: 'running',
  status: null,
  cells: 1,
  caller: caller.name,
  spent: null,
  owner: 'this process',
  recordedBy: null,
});

/** A long-lived run answers each message with one of its own; any other answers with its output. */
const readDialog = ({ history, goal, attachments, output, events }: RunReport): readonly RunMessage[] => {
  const mail = mailDialog(events);
  const isAnswered = mail.some(({ by }) => by === 'agent') || output === '';
  return [
    ...historyDialog(history),
    ...(goal === '' ? [] : [{ by: 'person', text: goal, ...withFiles(attachments) } as const]),
    ...mail,
    ...(isAnswered ? [] : [{ by: 'agent', text: output } as const]),
  ];
};

const mailDialog = (events: RunReport['events']): readonly RunMessage[] => {
  // probe: dialog-messages
  const all = new Map<string, RunMessage>();
  for (const event of events) {
    if (event.type !== 'mail' || event.kind === 'broadcast' || event.kind === 'result') continue;
    const { message, text, to, sender, unasked, state } = event;
    const known = all.get(message);
    if (known !== undefined && to === 'outside') all.set(message, { ...known, delivered: state === 'delivered' });
    if (known !== undefined || text === null) continue;
    const own = to === 'outside' ? { agent: sender ?? '', unasked, delivered: false } : {};
    all.set(message, { by: to === 'outside' ? 'agent' : 'person', text, message, ...own });
  }
  return [...all.values()];
};

const historyDialog = (history: RunReport['history']): readonly RunMessage[] =>
  history
    .filter(({ category }) => category === 'DIALOG')
    .map(({ agent, text, attachments = [] }): RunMessage => ({
      by: agent === null ? 'person' : 'agent',
      text,
      ...withFiles(attachments),
    }));

const withFiles = (attachments: RunReport['attachments']): Pick<RunMessage, 'attachments'> =>
  attachments.length === 0 ? {} : { attachments };

// The events of a run after a given one, for clients that reconnect.
type EventQuery = {
  readonly after: string | undefined;
  readonly sees: Sees;
  readonly details: boolean;
  /** Called with each message that the reader has taken. */
  readonly confirm: ConfirmMessage;
};

/** Ends when the signal aborts. Throws `request_invalid` when the run has no event with that id. */
export async function* eventsAfter(
  session: Pick<RunSession, 'events'> | null,
  report: () => Promise<RunReport>,
  { after, sees, details, confirm }: EventQuery,
  signal?: AbortSignal,
): AsyncGenerator<RunEvent> {
  if (session === null) {
    const { events } = await report();
    const from = after === undefined ? 0 : 1 + eventIndex(events, after);
    yield* events.slice(from);
    return;
  }
  if (after !== undefined) eventIndex((await report()).events, after);
  let skipping = after !== undefined;
  const iterator = session.events({ sees, details })[Symbol.asyncIterator]();
  const leave = (): void => void iterator.return?.();
  if (signal?.aborted === true) leave();
  signal?.addEventListener('abort', leave, { once: true });
  try {
    for await (const event of { [Symbol.asyncIterator]: () => iterator }) {
      if (!skipping) yield event;
      else if ('id' in event) skipping = event.id !== after;
      // The client has asked for what comes next, so it has taken this.
      if (event.type === 'mail' && event.to === 'outside') confirm(event.message);
    }
  } finally {
    signal?.removeEventListener('abort', leave);
  }
}

/** A message to the caller that was recorded as taken. */
const isDelivered = (events: RunReport['events'], message: string): boolean =>
  events.some((event) => event.type === 'mail' && event.message === message && event.state === 'delivered');

async function* eventsElsewhere(
  followed: FollowedRun,
  isOwn: boolean,
  read: (followed: FollowedRun, confirm: ConfirmMessage) => AsyncGenerator<RunEvent>,
): AsyncGenerator<RunEvent> {
  try {
    yield* read(followed, (message) => (isOwn ? followed.confirm(message) : undefined));
  } finally {
    followed.close();
  }
}

const eventIndex = (events: RunReport['events'], id: string): number => {
  const index = events.findIndex((event) => event.id === id);
  if (index === -1)
    throw new CloisterError(
      'request_invalid',
      'The run has no event with that id. Omit it to start from the first event.',
    );
  return index;
};
