// Everything that the tests of the command line know about its API: a fake runtime, a fake world, a small terminal.
import type { JsonObject, RunId } from '#base';
import type {
  DriveEnd,
  CellWindow,
  Cloister,
  DeadLetters,
  DurableEvent,
  MailReport,
  RunEvent,
  RunOutcome,
  RunReport,
  RunSession,
  RunSummary,
  TurnOptions,
  RebuildReport,
} from '#contracts';
import { defineAgent } from '#core/orchestration';
import { runCli } from '#headends/cli';
import type { CliRuntime, CliServer, CliWorld, EditorResult } from '#headends/cli';
import { loadCommands } from '../../../src/headends/cli/commands.ts';
import { diffOf, replayOf, verifyOf } from './checks.ts';
import { demoTeamOf } from './demo-team.ts';
import { deadOf, fakeResident, mailOf, noMail, nothing } from './mail.ts';
import { fakeCheckpoints, fakeConversations, windowsOf } from './fake-conversations.ts';
import type { ConversationFixture } from './fake-conversations.ts';
import { fileWorld } from './file-world.ts';
import type { FileWorld } from './file-world.ts';
import {
  auditOf,
  enveloped,
  eventsOf,
  explanationOf,
  forkId,
  leadId,
  outcomeOf,
  reportOf,
  runId,
  scene,
  startAt,
  summaryOf,
  transcriptOf,
} from './scene.ts';
import type { Scene } from './scene.ts';
import { TerminalScreen } from './terminal-screen.ts';

export {
  childId,
  childIds,
  eventsOf,
  explanationOf,
  forkId,
  interruptedReport,
  interruptedSummary,
  leadId,
  outcomeOf,
  reportOf,
  runId,
  scene,
  spent,
  startAt,
  summaryOf,
} from './scene.ts';
export type { Scene } from './scene.ts';

/** So that no test depends on how long the file of a command takes to load. */
await loadCommands(undefined);

/** A line that is typed at once, or when the promise resolves. */
type TypedText = string | ((initial: string) => Promise<string | null>);

/** How the fake behaves beyond its canned answers. */
export type Behaviour = {
  /** What `show` returns, instead of the scene's report. */
  readonly report?: RunReport;
  /** The events of a run, instead of the scene's. */
  readonly events?: readonly DurableEvent[];
  readonly runs?: readonly RunSummary[];
  readonly openThrows?: unknown;
  /** Opens a real runtime instead of the fake one. */
  readonly opens?: () => Promise<Cloister>;
  /** The default agent of the config. */
  readonly defaultAgent?: string;
  readonly runThrows?: unknown;
  readonly outcomeRejects?: unknown;
  readonly closeThrows?: unknown;
  /** After this many events the run waits until it is cancelled, or until `released`. */
  readonly holdAfter?: number;
  readonly released?: Promise<void>;
  /** Cancelling has no effect. */
  readonly deaf?: boolean;
  /** Called with what is run. */
  readonly onRun?: (...given: Parameters<Cloister['run']>) => void;
  readonly onFork?: (...given: Parameters<Cloister['fork']>) => void;
  /** This many events of a resumed run happened before it was interrupted. */
  readonly resumedAfter?: number;
  readonly resumeThrows?: unknown;
  /** A run is opened only after this. */
  readonly takenUp?: Promise<void>;
  readonly verify?: CliRuntime['verify'];
  readonly serve?: CliServer['serve'];
  readonly worker?: CliServer['worker'];
  readonly driveOne?: (run: string) => DriveEnd;
  readonly studio?: CliServer['studio'];
  readonly openBrowser?: (link: string) => boolean;
  readonly pageOfRun?: (run: string) => Awaited<ReturnType<CliServer['pageOfRun']>>;
  /** Called for each message; with options for the one that starts a session. Throws to refuse the message. */
  readonly onTurn?: (agent: string, input: string | JsonObject, options?: TurnOptions) => void;
  /** The names of the agents that were found. */
  readonly agents?: readonly string[];
  /** The existing conversations and checkpoints. */
  readonly talk?: ConversationFixture;
  readonly storage?: Cloister['storage'];
  readonly windows?: readonly CellWindow[];
  readonly mail?: readonly MailReport[];
  readonly dead?: DeadLetters;
  readonly rebuilt?: RebuildReport;
  readonly onRebuild?: (...asked: Parameters<Cloister['rebuild']>) => void;
  readonly onDeadLetters?: (...given: Parameters<Cloister['deadLetters']>) => void;
  /** How many agents live in addition to the root, and what is called on the session at the end. */
  readonly others?: number;
  /** A killed chat has left a session; an error: it cannot be continued. */
  readonly left?: true | Error;
  readonly onFinish?: (how: 'finish' | 'cancel') => void;
  /** What is typed or piped; without it stdin is a closed terminal. */
  readonly lines?: {
    readonly isTerminal: boolean;
    readonly texts: readonly TypedText[];
  };
  /** The user's editor. */
  readonly edit?: (text: string) => EditorResult | null;
  readonly files?: Partial<FileWorld>;
};

/** Nothing can be deleted, and nothing was. */
const noStorage = new Proxy({} as Cloister['storage'], {
  get: (_target, name) => async () => {
    if (name === 'tombstones') return [];
    throw new Error('not here');
  },
});

/** The downtime between the earlier events and the new ones. */
const resumeEvent = (after: DurableEvent, downMs: number): DurableEvent => {
  const { run, at } = after;
  const event = { type: 'run-resume', id: `${leadId}/resume`, run, cell: leadId, agent: 'lead' } as const;
  return { ...event, ...enveloped(event), at: at + downMs, downMs };
};

const resumedEvents = (given: Scene, past: number, downMs: number): readonly DurableEvent[] =>
  eventsOf(given).flatMap((event, no) => {
    const later = no >= past ? { ...event, at: event.at + downMs } : event;
    return no === past - 1 ? [later, resumeEvent(event, downMs)] : [later];
  });

export const downMs = 3_600_000;

const fakeSession = (
  given: Scene,
  behaviour: Behaviour,
  { run, all }: { readonly run: RunId; readonly all: readonly DurableEvent[] },
): RunSession => {
  const cancelled = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<RunOutcome>();
  const outcome = { ...outcomeOf(given), run };
  let stopped = false;
  const events = async function* (): AsyncGenerator<RunEvent> {
    for (const [no, event] of all.entries()) {
      if (no === behaviour.holdAfter) await Promise.race([cancelled.promise, behaviour.released ?? cancelled.promise]);
      if (stopped) break;
      const of = { run, cell: event.cell, agent: event.agent };
      if (event.type === 'session-end' && event.cell === leadId) {
        yield { ...of, type: 'text-reset' };
        yield { ...of, type: 'text-delta', text: given.answer };
      }
      yield event;
      // What the others write is not shown.
      if (event.cell !== leadId) yield { ...of, type: 'text-delta', text: given.answer };
    }
    if (behaviour.outcomeRejects === undefined) ended.resolve(stopped ? { ...outcome, status: 'cancelled' } : outcome);
    else ended.reject(behaviour.outcomeRejects);
  };
  const cancel = (): void => {
    if (behaviour.deaf === true) return;
    stopped = true;
    cancelled.resolve();
  };
  const iterable = { [Symbol.asyncIterator]: events };
  return {
    ...noMail,
    ...iterable,
    run,
    outcome: ended.promise,
    cancel,
    causes: async () => [],
    events: () => iterable,
  };
};

const fakeCloister = (given: Scene, behaviour: Behaviour): Cloister => {
  const close = async (): Promise<void> => {
    if (behaviour.closeThrows !== undefined) throw behaviour.closeThrows;
  };
  const forked = () => fakeSession(given, behaviour, { run: forkId, all: eventsOf(given) });
  return {
    agents: (behaviour.agents ?? ['lead', 'scout']).map((name) =>
      defineAgent({ name, description: `It is ${name}.`, prompt: 'Work.' }),
    ),
    stalls: { count: 0, longestMs: 0, latest: [] },
    checkWritable: async () => undefined,
    register: () => undefined,
    remove: () => undefined,
    questions: async () => [],
    driver: {
      request: () => Promise.reject(new Error('not here')),
      drive: async () => ({ end: 'ended' }),
      undriven: async () => [],
      watch: () => () => undefined,
      refusal: async () => null,
    },
    answer: () => Promise.reject(new Error('not here')),
    shared: undefined as never,
    follow: () => {
      throw new Error('not here');
    },
    template: () => null,
    agentTool: () => {
      throw new Error('not here');
    },
    runTasks: () => {
      throw new Error('not here');
    },
    runTeam: () => {
      throw new Error('not here');
    },
    tasks: async () => [],
    checkVariables: () => undefined,
    resumeTimes: async () => [],
    ledger: async () => [],
    attachment: async () => new Uint8Array(),
    runTurn: async (...asked) => {
      behaviour.onTurn?.(...asked);
      return fakeSession(given, behaviour, { run: runId, all: eventsOf(given) }) as RunSession<never>;
    },
    spawn: async (agent, options = {}) => {
      const { message = '', ...more } = options;
      const name = typeof agent === 'string' ? agent : agent.name;
      behaviour.onTurn?.(name, message, more);
      const said = (text: string): void => behaviour.onTurn?.(name, text, {});
      return fakeResident(given, behaviour, said);
    },
    signal: async () => ({ id: 'none', isNew: false, live: false }),
    inbox: () => {
      throw new Error('Commands have no inbox.');
    },
    send: () => 'm-0',
    subscribe: () => nothing,
    observe: () => nothing,
    mail: async () => behaviour.mail ?? mailOf(given),
    deadLetters: async (asked = {}) => {
      behaviour.onDeadLetters?.(asked);
      return behaviour.dead ?? deadOf(given);
    },
    protocol: async () => [],
    conversations: fakeConversations(given, behaviour.talk),
    checkpoints: fakeCheckpoints(given, behaviour.talk, forked),
    storage: behaviour.storage ?? noStorage,
    windows: async () => behaviour.windows ?? windowsOf(given),
    redact: (text) => text,
    workspace: '/work/space/.cloister',
    run: (...asked) => {
      behaviour.onRun?.(...(asked as Parameters<Cloister['run']>));
      if (behaviour.runThrows !== undefined) throw behaviour.runThrows;
      return fakeSession(given, behaviour, {
        run: runId,
        all: behaviour.events ?? eventsOf(given),
      }) as RunSession<never>;
    },
    rebuild: async (...asked) => {
      behaviour.onRebuild?.(...asked);
      return behaviour.rebuilt ?? { runs: 1, listed: [], files: 0, skipped: [] };
    },
    resume: async () => {
      if (behaviour.resumeThrows !== undefined) throw behaviour.resumeThrows;
      await behaviour.takenUp;
      const all = resumedEvents(given, behaviour.resumedAfter ?? 4, downMs);
      return fakeSession(given, behaviour, { run: runId, all });
    },
    resumeConversation: async (agent) => {
      if (behaviour.left === undefined) return null;
      if (behaviour.left instanceof Error) throw behaviour.left;
      return fakeResident(given, behaviour, (text) => behaviour.onTurn?.(agent, text, {}));
    },
    replay: async () => replayOf(given),
    fork: async (...asked) => {
      behaviour.onFork?.(...asked);
      return forked();
    },
    diff: async () => diffOf(given),
    runs: async ({ run, runs = run === undefined ? undefined : [run], prefix = '', before, most } = {}) => {
      const all = behaviour.runs ?? [summaryOf(given)];
      const from = before === undefined ? 0 : all.findIndex((one) => one.run === before) + 1;
      const isAsked = (one: RunSummary): boolean =>
        (runs === undefined || runs.includes(one.run)) && one.run.startsWith(prefix);
      return all.slice(from).filter(isAsked).slice(0, most);
    },
    show: async () => behaviour.report ?? reportOf(given),
    transcript: async (_run, options) => transcriptOf(given, options),
    explain: async (_run, _cell, options) => explanationOf(given, options?.find ?? null),
    audit: async () => auditOf(given),
    close,
    [Symbol.asyncDispose]: close,
  };
};

export type Terminal = {
  readonly tty?: boolean;
  readonly colour?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

export type Cli = {
  readonly code: Promise<number>;
  readonly opened: Parameters<CliRuntime['open']>[0][];
  /** The values of `--store`. */
  readonly stores: string[];
  stdout(): string;
  stderr(): string;
  /** Both streams in the order in which a terminal gets them. */
  screen(): string;
  /** The shortest timer that was set. */
  shortestMs(): number;
  interrupt(): void;
  /** The prompts that were shown, in order. */
  readonly prompts: string[];
  /** Advances the clock and fires the timers that are due. */
  pass(ms: number): Promise<void>;
};

export const startCli = (
  args: readonly string[],
  shown: Scene = scene(),
  { terminal = {}, behaviour = {} }: { readonly terminal?: Terminal; readonly behaviour?: Behaviour } = {},
): Cli => {
  const written: { readonly to: 'out' | 'err'; readonly text: string }[] = [];
  const timers = new Set<{ readonly at: number; readonly due: () => void }>();
  const listeners = new Set<() => void>();
  const opened: Parameters<CliRuntime['open']>[0][] = [];
  const stores: string[] = [];
  const prompts: string[] = [];
  const typed = [...(behaviour.lines?.texts ?? [])];
  let now = startAt;
  let shortestMs = Infinity;
  const stream = (to: 'out' | 'err') => ({
    write: (text: string) => written.push({ to, text }),
    ...(terminal.tty === true ? { isTTY: true, columns: terminal.columns ?? 80, rows: terminal.rows ?? 24 } : {}),
  });
  const given = fileWorld(behaviour.files);
  const world: CliWorld = {
    version: '0.1.0',
    terminal: {
      stdout: stream('out'),
      stderr: stream('err'),
      colour: terminal.colour ?? false,
      stdin: given.stdin,
      lines: () =>
        fakeLines({ isTerminal: behaviour.lines?.isTerminal ?? true, left: typed }, (prompt) => prompts.push(prompt)),
      edit: async (text) => behaviour.edit?.(text) ?? null,
    },
    system: {
      now: () => now,
      timer: (ms, due) => {
        shortestMs = Math.min(shortestMs, ms);
        const timer = { at: now + ms, due };
        timers.add(timer);
        return () => timers.delete(timer);
      },
      openBrowser: async (link) => behaviour.openBrowser?.(link) ?? false,
      onStrayError: () => () => undefined,
      onInterrupt: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    runtime: {
      open: async ({ notice: _notice, ...options }) => {
        opened.push(withoutAbsent(options));
        if (behaviour.openThrows !== undefined) throw behaviour.openThrows;
        return behaviour.opens?.() ?? fakeCloister(shown, behaviour);
      },
      useStore: (url) => void stores.push(url),
      migrateStore: async (url) => ({ from: 0, to: 1, writtenBy: null, copy: null, store: url ?? 'from the config' }),
      copyStore: async () => ({ runs: 2, frames: 30, blobs: 4, records: 5, tombstones: 1, signals: 0 }),
      makeKey: async () => ({ variable: 'CLOISTER_KEY', secret: 'secret', publicKey: 'public' }),
      staleQuestions: async ({ runs }) => {
        await using cloister = (await behaviour.opens?.()) ?? fakeCloister(shown, behaviour);
        const questions = (await Promise.all(runs.map((run) => cloister.questions({ run })))).flat();
        return new Set(questions.flatMap(({ id, state }) => (state === 'stale' ? [id] : [])));
      },
      defaultAgent: async () => behaviour.defaultAgent ?? null,
      verify: async (options) => behaviour.verify?.(options) ?? verifyOf(shown),
      openDemo: async () => demoTeamOf(shown),
      check: given.check,
      import: given.import,
      init: given.init,
      templates: given.templates,
      migrate: given.migrate,
      agentHelp: given.agentHelp,
    },
    server: {
      serve: (options, log) => behaviour.serve?.(options, log) ?? Promise.reject(new Error('It serves nothing.')),
      studio: (options, log) => behaviour.studio?.(options, log) ?? Promise.reject(new Error('It shows nothing.')),
      worker: (options, log) => behaviour.worker?.(options, log) ?? Promise.reject(new Error('It drives nothing.')),
      driveOne: async (_options, { run }) => behaviour.driveOne?.(run) ?? { end: 'ended' },
      reconcile: async ({ engine }) => [{ run: 'r1' as RunId, agent: engine }],
      pageOfRun: async (_cloister, run) => behaviour.pageOfRun?.(run) ?? { html: `<!doctype html>${run}`, leftOut: [] },
      slackManifest: async (options) => ({ display_information: { ...options } }),
      makeToken: async () => ({ token: 'clo_made', sha256: 'ab'.repeat(32) }),
    },
    files: {
      readText: given.readText,
      writeBytes: given.writeBytes,
      appendText: given.appendText,
      readBytes: given.readBytes,
      writeText: given.writeText,
      whyNotWritable: given.whyNotWritable,
    },
    tasks: { read: given.readTasks, ofTeam: given.teamTasks, draw: given.drawGraph },
  };
  const text = (to?: 'out' | 'err'): string =>
    written.flatMap((one) => (to === undefined || one.to === to ? [one.text] : [])).join('');
  return {
    code: runCli(args, world),
    opened,
    stores,
    prompts,
    stdout: () => text('out'),
    stderr: () => text('err'),
    screen: () => text(),
    shortestMs: () => shortestMs,
    interrupt: () => {
      for (const listener of listeners) listener();
    },
    pass: async (ms) => {
      now += ms;
      for (const timer of timers) {
        if (timer.at > now) continue;
        timers.delete(timer);
        timer.due();
      }
      await settle();
    },
  };
};

const fakeLines = (
  { isTerminal, left }: { readonly isTerminal: boolean; readonly left: TypedText[] },
  asked: (prompt: string) => void,
): ReturnType<CliWorld['terminal']['lines']> => {
  const closed = Promise.withResolvers<null>();
  let discarded = Promise.withResolvers<null>();
  let isClosed = false;
  return {
    isTerminal,
    next: async (prompt, initial = '') => {
      if (isClosed) return null;
      asked(prompt);
      const text = left.shift();
      if (text === undefined) return null;
      return typeof text === 'string' ? text : Promise.race([text(initial), closed.promise, discarded.promise]);
    },
    printAbove: (print) => print(),
    discard: () => {
      discarded.resolve(null);
      discarded = Promise.withResolvers<null>();
    },
    release: () => undefined,
    close: () => {
      isClosed = true;
      closed.resolve(null);
    },
  };
};

/** Options that a command passes on although they were not given are null or false. */
const withoutAbsent = <T extends object>(options: T): T =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null && value !== false)) as T;

/** Lets all pending promises settle. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Runs to the end. */
export const cli = async (...given: Parameters<typeof startCli>) => {
  const started = startCli(...given);
  const code = await started.code;
  const { opened, stores, prompts } = started;
  return {
    code,
    stdout: started.stdout(),
    stderr: started.stderr(),
    screen: started.screen(),
    opened,
    stores,
    prompts,
  };
};

/** ESC, as a constant so that patterns can contain it. */
export const escape = '\u001B';

/** What a terminal shows after these bytes. */
export const emulate = (bytes: string, columns: number, rows = 24): TerminalScreen => {
  const screen = new TerminalScreen(columns, rows);
  screen.write(bytes);
  return screen;
};
