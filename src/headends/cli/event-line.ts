// One plain line per durable event worth saying.
import type { CellId } from '#base';
import type { DurableEvent } from '#contracts';
import { amendmentWords } from './describe-amendment.ts';
import { calledAs, endName } from './run-progress.ts';
import type { RunProgress } from './run-progress.ts';
import { cacheWords, clockTime, count, duration, money, plural, compactNumber } from './format-numbers.ts';
import { excerpt, sanitizeLine } from './sanitize-text.ts';
import { clampWords, trimWords } from './describe-window.ts';

const excerptColumns = 72;

/** Null for what is said only with --verbose. The event must be harmless. */
export const eventLine = (event: DurableEvent, board: RunProgress, verbose: boolean): string | null => {
  const tool = calledAs(board, event.cell);
  const words = eventWords(event, board, { child: tool !== null, verbose });
  const who = tool === null ? event.agent : `child:${tool} ${event.run}`;
  return words === null ? null : `${clockTime(event.at)} ${who}  ${words}`;
};

/** A refused crossing in words; `show`, `audit` and the demo say it the same way. */
export const refusalWords = (event: DurableEvent & { type: 'crossing-refused' }, board: RunProgress): string =>
  `crossing refused ${event.kind} ${endName(board, event.from)} → ${endName(board, event.to)}: ${event.reason}`;

type Circumstance = { readonly child: boolean; readonly verbose: boolean };

const eventWords = (event: DurableEvent, board: RunProgress, { child, verbose }: Circumstance): string | null => {
  switch (event.type) {
    case 'session-start':
      if (child) return verbose ? `started: ${excerpt(event.goal, excerptColumns)}` : null;
      return `started run ${event.run}: ${excerpt(event.goal, excerptColumns)}`;
    case 'model-start':
      return verbose ? `turn ${event.turn}: model ${event.model}, ${count(event.promptBytes)} bytes` : null;
    case 'model-end':
      return modelWords(event, verbose);
    case 'tool-start':
      return verbose ? `tool ${event.tool} ${excerpt(event.args, excerptColumns)}` : null;
    case 'tool-end':
      return `tool ${event.tool} ${event.ok ? 'ok' : 'failed'} ${duration(event.ms)}${sizes(event, verbose)}${trouble(event.error)}`;
    case 'child-start':
      return isTold(event.cell, board, verbose) ? null : `→ ${event.childAgent}  started`;
    case 'child-end':
      return isTold(event.cell, board, verbose)
        ? null
        : `← ${event.childAgent}  ${event.status} ${duration(event.ms)}${sizes(event, verbose)}`;
    case 'wait-start':
      return `waits ${duration(event.ms)}`;
    case 'crossing':
      return verbose
        ? `crossing ${event.kind} ${endName(board, event.from)} → ${endName(board, event.to)}: ${event.grant}, ${count(event.bytes)} bytes`
        : null;
    case 'crossing-refused':
      return refusalWords(event, board);
    case 'window-clamp':
      return `window ${clampWords(event)}`;
    case 'window-trim':
      return `window: ${trimWords({ ...event, what: event.how })}`;
    case 'mail':
      return mailWords(event, verbose);
    case 'task':
      return taskWords(event, board, verbose);
    case 'session-end':
      return child && !verbose ? null : `${event.status} ${duration(event.spent.ms)}${trouble(event.error)}`;
    case 'run-resume':
      return `goes on after ${duration(event.downMs)}`;
    case 'run-fork':
      return forkWords(event);
    case 'run-cancel':
      return 'is asked to stop';
  }
};

const mailWords = (event: DurableEvent & { type: 'mail' }, verbose: boolean): string | null => {
  const { kind, sender, recipient, topic, state, reason } = event;
  // The end of a child has a line of its own.
  if (kind === 'result' && !verbose) return null;
  const to = sanitizeLine(recipient);
  const what = `${kind} ${sender ?? 'person'} → ${topic === null ? to : `#${topic} (${to})`}`;
  if (state === 'dead') return `${what}: dead, ${reason}`;
  return state === 'queued' || verbose ? `${what}${state === 'queued' ? '' : `: ${state}`}` : null;
};

/** While a team has tasks to do, the cells that it begins are theirs, and told with them. */
const isTold = (cell: CellId, { cells, openTasks }: RunProgress, verbose: boolean): boolean =>
  !verbose && openTasks.size > 0 && cells.get(cell)?.parent === null;

/** What changes nothing for those who wait is left out. */
const taskWords = (event: DurableEvent & { type: 'task' }, board: RunProgress, verbose: boolean): string | null => {
  const { task, title, assignee, status, attempt, reason, at, cell } = event;
  if (board.cells.get(cell)?.plansOnly === true) return null;
  const isAgain = status === 'pending' && attempt > 0;
  if (!verbose && !isAgain && (status === 'pending' || status === 'ready')) return null;
  const who = assignee === null ? '' : ` (${sanitizeLine(assignee)})`;
  const { startedAt = null, cell: works = null } = board.tasks.get(task) ?? {};
  const downMs = works === null ? 0 : (board.cells.get(works)?.downMs ?? 0);
  const ended = status === 'completed' || status === 'failed' || isAgain;
  const took = ended && startedAt !== null ? ` ${duration(at - startedAt - downMs)}` : '';
  const why = reason === null ? '' : `: ${sanitizeLine(reason.text)}`;
  return `task ${excerpt(title, excerptColumns)}${who} ${isAgain ? 'will be tried again' : status}${took}${why}`;
};

/** What goes on from a checkpoint is a fork in which nothing is changed. */
const forkWords = ({ from, amendment }: DurableEvent & { type: 'run-fork' }): string => {
  const kept = `keeps ${plural(from.frames, 'record')} of run ${from.run}`;
  const { agent: _agent, ...changes } = amendment;
  if (Object.keys(changes).length === 0) return `${kept} and goes on from there`;
  return `${kept}, up to ${from.at}: ${amendmentWords(amendment)}`;
};

const modelWords = (event: DurableEvent & { type: 'model-end' }, verbose: boolean): string => {
  const head = `model ${event.model} ${event.ok ? 'ok' : 'failed'} ${duration(event.ms)}`;
  const uncertain = event.uncertain > 0 ? `, ${compactNumber(event.uncertain)} uncertain` : '';
  const used = `, ${compactNumber(event.inputTokens)} in${cacheWords(event)}, ${compactNumber(event.outputTokens)} out, ${money(event.usd)}`;
  return `${head}${event.ok ? used : ''}${uncertain}${sizes(event, verbose)}${trouble(event.error)}`;
};

type Sizes = Pick<DurableEvent & { type: 'model-end' }, 'bytesIn' | 'charsIn' | 'bytesOut' | 'charsOut'>;

const sizes = ({ bytesIn, charsIn, bytesOut, charsOut }: Sizes, verbose: boolean): string =>
  verbose
    ? `, ${count(bytesIn)} bytes (${count(charsIn)} characters) in, ${count(bytesOut)} (${count(charsOut)}) out`
    : '';

const trouble = (error: { readonly summary: string } | null): string => (error === null ? '' : `: ${error.summary}`);
