// Finds what users name (runs, cells and checkpoints by a prefix of their id, conversations by name), and opens a workspace to
// read it, or an existing run with the agents that it was started with.
import { CloisterError, isName } from '#base';
import type { CellId, RunId } from '#base';
import { readQuestionId } from '#contracts';
import type {
  Checkpoint,
  Cloister,
  ConversationRef,
  ConversationSummary,
  QuestionReport,
  RunArchive,
  RunReport,
  RunSummary,
  TaskReport,
  Tombstone,
} from '#contracts';
import { dateTime } from '#headends/run-view';
import type { CliFiles, CliRuntime, CliWorld } from './cli-world.ts';
import { UsageError } from './errors.ts';

/** Opens the workspace without agents: reading records needs none. */
export const openToRead = (workspace: string, { open }: Pick<CliRuntime, 'open'>): Promise<Cloister> =>
  open({ workspace, agents: [] });

/** The name of a run can be the path of its archive. */
const isArchivePath = (name: string): boolean => name.endsWith('.cloister.gz');

/** Opens the workspace, or the archive that is named, without agents. */
export const openRunToRead = (
  { workspace, run }: { readonly workspace: string; readonly run: string },
  { open }: Pick<CliRuntime, 'open'>,
): Promise<Cloister> => open({ workspace, agents: [], ...(isArchivePath(run) ? { archive: run } : {}) });

/** Finds the named run before any agent is loaded. Throws `run_format` if this build cannot read it. */
export const findNamedRun = async (
  { workspace, run }: { readonly workspace: string; readonly run: string },
  runtime: Pick<CliRuntime, 'open'>,
): Promise<RunSummary> => {
  await using cloister = await openRunToRead({ workspace, run }, runtime);
  // Awaited here: the workspace is closed when this returns.
  const summary = await resolveSummary(cloister, run);
  if (summary.unreadable !== undefined) throw new CloisterError('run_format', summary.unreadable);
  return summary;
};

type RunAgents = {
  readonly workspace: string;
  readonly agents: readonly string[];
  readonly config: string | null;
  readonly offline?: boolean;
  /** The run as it was named, if that may be an archive. */
  readonly archive?: string;
};

/** Uses the given agents, or those recorded in the log of this run. */
export const openForRun = (
  run: RunId,
  { workspace, agents, config, offline = false, archive = '' }: RunAgents,
  { open }: Pick<CliRuntime, 'open'>,
): Promise<Cloister> =>
  open({
    workspace,
    agents,
    config,
    offline,
    ...(agents.length === 0 ? { ofRun: run } : {}),
    ...(isArchivePath(archive) ? { archive } : {}),
  });

/** Lists from the workspace alone. An agent without records there must exist: it is found as `chat` finds it. */
export const listKnownConversations = async <T>(
  { workspace, agent }: { readonly workspace: string; readonly agent: string | null },
  runtime: Pick<CliRuntime, 'open'>,
  list: (cloister: Cloister) => Promise<T>,
): Promise<T> => {
  await using cloister = await openToRead(workspace, runtime);
  try {
    return await list(cloister);
  } catch (error) {
    if (agent === null || !(error instanceof CloisterError) || error.code !== 'agent_unknown') throw error;
    await using other = await runtime.open({ workspace, agents: [], agent, offline: true });
    if (other.agents.length === 0) throw error;
    return await list(other);
  }
};

const candidatesMax = 5;

export const resolveRun = async (archive: RunArchive & StoredRuns, name: string): Promise<RunId> =>
  (await resolveSummary(archive, name)).run;

/** `last` stands for the run that began last. */
export const resolveSummary = async (archive: RunArchive & StoredRuns, name: string): Promise<RunSummary> => {
  const isLast = name === 'last' || isArchivePath(name);
  const [found, ...others] = isLast ? await archive.runs({ most: 1 }) : await runsNamed(archive, name);
  if (others.length > 0)
    throw ambiguousError(
      'run',
      name,
      [found!, ...others].map(({ run }) => run),
      isCut,
    );
  if (found !== undefined) return found;
  const gone = isLast || !isName(name) ? [] : await archive.storage.tombstones({ prefix: name });
  if (gone.length > 0) throw new CloisterError('run_unknown', deletedText(gone));
  const newest = (await archive.runs({ most: candidatesMax + 1 })).map(({ run }) => run);
  throw new CloisterError(
    'run_unknown',
    newest.length === 0 ? 'It has no runs yet.' : `The newest are: ${listNames(newest, isCut)}.`,
  );
};

type StoredRuns = Pick<Cloister, 'storage'>;

/** By its id, or a prefix of it. */
export const resolveArchivedRun = async ({ storage }: StoredRuns, name: string): Promise<RunId> => {
  const gone = isName(name) ? await storage.tombstones({ prefix: name }) : [];
  const archived = gone.filter(({ archive }) => archive !== undefined).map(({ run }) => run);
  const exact = archived.find((run) => run === name);
  if (exact === undefined && archived.length > 1) throw ambiguousError('run', name, archived);
  const found = exact ?? archived[0];
  if (found !== undefined) return found;
  throw new CloisterError(
    'run_unknown',
    gone.length > 0
      ? deletedText(gone)
      : 'It is not archived in this workspace. A file is taken in with `cloister runs import`.',
  );
};

const deletedText = (gone: readonly Tombstone[]): string => {
  const lines = gone.slice(0, candidatesMax).map(({ run, deletedAt, by, why, archive }) => {
    const [how, where] = archive === undefined ? ['deleted', ''] : ['archived', `; its archive is ${archive.file}`];
    return `Run ${run} was ${how} on ${dateTime(deletedAt)} by ${by}${why === '' ? '' : ` (${why})`}${where}.`;
  });
  const more = gone.length - lines.length;
  return [...lines, ...(more > 0 ? [`… and ${more} more begin like this.`] : [])].join(' ');
};

/** The one that is called so; if none is, those that begin so. */
const runsNamed = async (archive: RunArchive, name: string): Promise<readonly RunSummary[]> => {
  if (!isName(name)) return [];
  const exact = await archive.runs({ run: name });
  return exact.length > 0 ? exact : archive.runs({ prefix: name, most: candidatesMax + 1 });
};

/** By its id, or a prefix that no other question has; one that waits comes before the others. Throws `question_unknown`. */
export const resolveQuestion = async (
  cloister: Pick<Cloister, 'questions' | 'workspace'>,
  name: string,
): Promise<QuestionReport> => {
  const run = readQuestionId(name)?.run;
  const named = run === undefined ? [] : await cloister.questions({ run, all: true });
  const exact = named.find(({ id }) => id === name);
  if (exact !== undefined) return exact;
  const all = await cloister.questions({ all: true });
  const ids = all.map(({ id }) => id);
  const open = all.filter(({ state }) => state === 'open').map(({ id }) => id);
  const waiting = matchPrefix(name, open);
  const found = waiting.length > 0 ? waiting : matchPrefix(name, ids);
  if (found.length > 1) throw ambiguousError('question', name, found);
  const question = all.find(({ id }) => id === found[0]);
  if (question !== undefined) return question;
  throw new CloisterError(
    'question_unknown',
    `${open.length === 0 ? 'No question waits' : `These wait: ${listNames(open)},`} in the workspace ${cloister.workspace ?? 'in memory'}. Name another workspace with --workspace <dir>.`,
  );
};

/** An agent name works too if only one cell has that agent, and so does a task id, which stands for the newest cell of the task. */
export const resolveCell = (report: RunReport, name: string, tasks: readonly TaskReport[] = []): CellId => {
  const cells = report.cells.map(({ cell }) => cell);
  const task = tasks.find(({ id }) => id === name);
  if (task !== undefined && !cells.some((cell) => cell === name)) return cellOfTask(task);
  const ofAgent = report.cells.filter(({ agent }) => agent === name).map(({ cell }) => cell);
  const found = ofAgent.length === 1 ? ofAgent : matchPrefix(name, cells);
  if (found.length === 1 && found[0] !== undefined) return found[0];
  if (found.length > 1) throw ambiguousError('cell', name, found);
  throw new CloisterError(
    'cell_unknown',
    `The run has: ${listNames(cells)}${tasks.length === 0 ? '' : `; its tasks: ${listNames(tasks.map(({ id }) => id))}`}.`,
  );
};

const cellOfTask = ({ id, status, cells }: TaskReport): CellId => {
  const newest = cells.at(-1);
  if (newest !== undefined) return newest;
  throw new CloisterError('cell_unknown', `No agent has worked on task ${id}: it is ${status}.`);
};

/** Those that are called so; if none is, those that begin so. */
const matchPrefix = <T extends string>(name: string, all: readonly T[]): readonly T[] => {
  if (name === '') return [];
  const exact = all.filter((one) => one === name);
  return exact.length > 0 ? exact : all.filter((one) => one.startsWith(name));
};

type NameList = { readonly isCut: boolean };

/** There are more than were read. */
const isCut: NameList = { isCut: true };

const ambiguousError = (what: string, name: string, found: readonly string[], list?: NameList): UsageError =>
  new UsageError(
    `more than one ${what} starts with "${name}": ${listNames(found, list)}`,
    `type more characters of the ${what} id`,
  );

const listNames = (names: readonly string[], list?: NameList): string => {
  const more = names.length - candidatesMax;
  const rest = list?.isCut === true ? 'more' : `${more} more`;
  return `${names.slice(0, candidatesMax).join(', ')}${more > 0 ? ` and ${rest}` : ''}`;
};

/**
 * If several agents have a conversation of that name, the default agent's. `deleted`: prefer deleted ones. Also finds
 * conversations that the command will refuse: the runtime says why.
 */
export const resolveConversation = async (
  { conversations }: Pick<Cloister, 'conversations'>,
  { name, agent }: { readonly name: string; readonly agent: string | null },
  deleted: boolean,
  runtime: Pick<CliRuntime, 'defaultAgent'>,
): Promise<ConversationSummary> => {
  const all = await conversations.list({ deleted: true });
  const fitting = all.filter((one) => one.name === name && (agent === null || one.agent === agent));
  const meant = fitting.filter(({ deletedAt }) => (deletedAt !== null) === deleted);
  const [found, ...others] = meant.length === 0 ? fitting : meant;
  if (found === undefined) throw unknownConversationError(all);
  if (others.length === 0) return found;
  const ofDefault = await runtime.defaultAgent(null);
  const own = [found, ...others].find((one) => one.agent === ofDefault);
  if (own !== undefined) return own;
  const names = [found, ...others].map(formatConversation);
  throw new UsageError(
    `more than one agent has a conversation "${name}": ${listNames(names)}`,
    `include the agent: ${names[0]}`,
  );
};

const unknownConversationError = (all: readonly ConversationSummary[]): CloisterError =>
  new CloisterError(
    'conversation_unknown',
    all.length === 0
      ? 'This workspace has no conversations.'
      : `The newest are: ${listNames(all.map(formatConversation))}.`,
  );

export type ResolvedCheckpoint = {
  /** In the form that the runtime takes. */
  readonly ref: string;
  /** Null for a file that names no checkpoint of this workspace: the runtime says what is wrong with it. */
  readonly checkpoint: Checkpoint | null;
};

export const findCheckpointByName = async (
  cloister: Cloister,
  { id, agent }: { readonly id: string; readonly agent: string | null },
  { files, runtime }: Pick<CliWorld, 'files' | 'runtime'>,
): Promise<ResolvedCheckpoint> => {
  const checkpoints = await cloister.checkpoints.list(agent === null ? {} : { agent });
  if (!isFile(id)) {
    const checkpoint = await resolveCheckpoint(checkpoints, { id, agent }, runtime);
    return { ref: checkpoint.id, checkpoint };
  }
  const named = await readCheckpointId(id, files);
  return { ref: id, checkpoint: checkpoints.find((one) => one.id === named) ?? null };
};

const isFile = (id: string): boolean => /[/\\]|\.json$/u.test(id);

const readCheckpointId = async (path: string, { readText }: Pick<CliFiles, 'readText'>): Promise<unknown> => {
  try {
    return (JSON.parse(await readText(path)) as Partial<Checkpoint> | null)?.id;
  } catch {
    return undefined;
  }
};

/** `last` stands for the newest one. */
const resolveCheckpoint = async (
  checkpoints: readonly Checkpoint[],
  { id, agent }: { readonly id: string; readonly agent: string | null },
  runtime: Pick<CliRuntime, 'defaultAgent'>,
): Promise<Checkpoint> => {
  if (id === 'last' && checkpoints[0] !== undefined) return checkpoints[0];
  const ids = checkpoints.map((one) => one.id);
  const fitting = matchPrefix(id, ids);
  const found = fitting.length > 1 ? await preferDefaultAgent(checkpoints, fitting, runtime) : fitting;
  if (found.length > 1) throw ambiguousError('checkpoint', id, found);
  const checkpoint = checkpoints.find((one) => one.id === found[0]);
  if (checkpoint !== undefined) return checkpoint;
  const whose = agent === null ? '' : ` of ${agent}`;
  throw new CloisterError(
    'checkpoint_unknown',
    ids.length === 0 ? `This workspace has no checkpoints${whose}.` : `The newest${whose} are: ${listNames(ids)}.`,
  );
};

/** Only those of the default agent, if it has any of them. */
const preferDefaultAgent = async (
  checkpoints: readonly Checkpoint[],
  ids: readonly string[],
  { defaultAgent }: Pick<CliRuntime, 'defaultAgent'>,
): Promise<readonly string[]> => {
  const agent = await defaultAgent(null);
  const own = checkpoints.flatMap((one) => (one.agent === agent && ids.includes(one.id) ? [one.id] : []));
  return own.length === 0 ? ids : own;
};

/** `<agent>/<name>`. */
export const formatConversation = ({ agent, name }: ConversationRef): string => `${agent}/${name}`;

/** Completes a name with its agent; without a name, `main`. */
export const fullConversation = (given: string | ConversationRef | null, agent: string): ConversationRef =>
  given === null || typeof given === 'string' ? { agent, name: given ?? 'main' } : given;
