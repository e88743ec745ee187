// One plain line for each durable event worth showing.
import { limitSentence } from '#base';
import type { CellId } from '#base';
import type { DurableEvent, EventError } from '#contracts';
import {
  cellName,
  clockTime,
  compactNumber,
  count,
  crossingEndName,
  formatDuration,
  plural,
  toolNameOf,
  workedMs,
} from '#headends/run-view';
import type { RunView } from '#headends/run-view';
import { describeAmendment, describeCacheUse, describeClamp, describeTrim, describeCost } from './format.ts';
import { excerpt, sanitizeLine, width, wrapText } from './sanitize-text.ts';

const [excerptColumns, detailColumns] = [72, 160];

/** Null for events shown only with --verbose. The event must be sanitized. */
export const eventLine = (event: DurableEvent, runView: RunView, verbose: boolean): string | null => {
  const tool = toolNameOf(runView, event.cell);
  const words = describeEvent(event, runView, { child: tool !== null, verbose });
  const who = tool === null ? event.agent : `child:${cellName(runView, tool, event.agent, event.cell)}`;
  return words === null ? null : `${clockTime(event.at)} ${who}  ${words}`;
};

/** For a terminal: on several lines rather than with a word broken at its edge. */
export const fitEventLine = (line: string, columns: number): readonly string[] => {
  const { head = '', words = '' } = /^(?<head>\S+ \S+ {2})(?<words>.*)$/u.exec(line)?.groups ?? {};
  return width(line) <= columns || words === '' ? [line] : wrapText(head, words, columns, hangColumns);
};

/** Below the name, after the time. */
const hangColumns = 9;

/** Describes a refused crossing, for `show`, `audit` and the demo alike. */
export const describeRefusal = (event: DurableEvent & { type: 'crossing-refused' }, runView: RunView): string =>
  `crossing refused: ${event.kind} ${crossingEndName(runView, event.from)} → ${crossingEndName(runView, event.to)}: ${event.reason}`;

type EventView = { readonly child: boolean; readonly verbose: boolean };

const describeEvent = (event: DurableEvent, runView: RunView, { child, verbose }: EventView): string | null => {
  switch (event.type) {
    case 'session-start':
      if (child && !verbose) return event.passedOver === undefined ? null : describePassedOver(event.passedOver);
      return `started${child ? '' : ` run ${event.run}`}: ${excerpt(event.goal, excerptColumns)}${
        event.passedOver === undefined ? '' : `; ${describePassedOver(event.passedOver)}`
      }`;
    case 'model-start':
      return verbose ? `turn ${event.turn}: model ${event.model}, ${count(event.promptBytes)} bytes` : null;
    case 'model-end':
      return describeModelCall(event, verbose);
    case 'tool-start':
      return verbose ? `tool ${event.tool} ${excerpt(event.args, excerptColumns)}` : null;
    case 'tool-end':
      return `tool ${event.tool} ${event.ok ? 'ok' : 'failed'} ${formatDuration(event.ms)}${sizeSuffix(event, verbose)}${errorSuffix(event.error, verbose)}${pathSuffix(event)}`;
    case 'child-start':
      return isCoveredByTask(event.cell, runView, verbose)
        ? null
        : `→ ${cellName(runView, event.childAgent, event.childAgent, event.child)}  started`;
    case 'child-end':
      return isCoveredByTask(event.cell, runView, verbose)
        ? null
        : `← ${cellName(runView, event.childAgent, event.childAgent, event.child)}  ${event.status} ${formatDuration(event.ms)}${sizeSuffix(event, verbose)}${errorSuffix(event.error, verbose)}`;
    case 'question':
      return `asks a person: ${event.tool} ${excerpt(JSON.stringify(event.args), excerptColumns)} (${event.question})`;
    case 'ruling':
      return `${sanitizeLine(event.by)} answered: ${event.verdict}${event.args === undefined ? '' : ', with other arguments'}${event.reason === null ? '' : `: ${excerpt(event.reason, excerptColumns)}`}`;
    case 'question-end':
      return event.state === 'allowed' || event.state === 'denied'
        ? verbose
          ? `question ${event.question}: ${event.state}`
          : null
        : `question ${event.question}: ${event.state}`;
    case 'wait-start':
      return event.for === undefined ? `waiting ${formatDuration(event.ms)}` : describeSpawnedWait(event, runView);
    case 'crossing':
      return verbose
        ? `crossing ${event.kind} ${crossingEndName(runView, event.from)} → ${crossingEndName(runView, event.to)} under grant "${event.grant}", ${plural(event.bytes, 'byte')}`
        : null;
    case 'crossing-refused':
      return describeRefusal(event, runView);
    case 'window-clamp':
      return `window ${describeClamp(event)}`;
    case 'window-trim':
      return `window: ${describeTrim({ ...event, what: event.how })}`;
    case 'mail':
      return describeMail(event, verbose);
    case 'task':
      return describeTask(event, runView, verbose);
    case 'session-end':
      return child && !verbose
        ? null
        : `${event.status} ${formatDuration(event.spent.ms)}${errorSuffix(event.error, verbose)}`;
    case 'run-resume':
      return `resumed after ${formatDuration(event.downMs)}`;
    case 'run-fork':
      return describeFork(event);
    case 'run-cancel':
      return 'cancel requested';
  }
};

const describeSpawnedWait = ({ cell, ms }: DurableEvent & { type: 'wait-start' }, { cells }: RunView): string => {
  const open = [...(cells.get(cell)?.activities.values() ?? [])].filter(({ type }) => type === 'child');
  const names = excerpt(open.map(({ name }) => name).join(', '), excerptColumns);
  return `has answered; waiting for the work of ${names}, ${formatDuration(ms)} at most`;
};

const describeMail = (event: DurableEvent & { type: 'mail' }, verbose: boolean): string | null => {
  const { kind, sender, recipient, topic, state, reason } = event;
  // The end of a child already has its own line.
  if (kind === 'result' && !verbose) return null;
  // The texts themselves are shown to the person.
  if (event.to === 'outside' && !event.unasked && !verbose) return null;
  if (event.unasked && event.text !== null) return `says unasked: ${excerpt(event.text, excerptColumns)}`;
  const to = sanitizeLine(recipient);
  const what = `${kind} ${sender ?? 'person'} → ${topic === null ? to : `#${topic} (${to})`}`;
  if (state === 'dead') return `${what}: dead, ${reason}`;
  return state === 'queued' || verbose ? `${what}${state === 'queued' ? '' : `: ${state}`}` : null;
};

/** While a team has open tasks, the cells it starts belong to them and are covered by their lines. */
const isCoveredByTask = (cell: CellId, { cells, openTasks }: RunView, verbose: boolean): boolean =>
  !verbose && openTasks.size > 0 && cells.get(cell)?.parent === null;

/** Leaves out status changes that a waiting user does not care about. */
const describeTask = (event: DurableEvent & { type: 'task' }, runView: RunView, verbose: boolean): string | null => {
  const { task, title, assignee, status, attempt, reason, at, cell } = event;
  if (runView.cells.get(cell)?.plansOnly === true) return null;
  const isAgain = status === 'pending' && attempt > 0;
  if (!verbose && !isAgain && (status === 'pending' || status === 'ready')) return null;
  const who = assignee === null ? '' : ` (${sanitizeLine(assignee)})`;
  const { startedAt = null, cell: works = null } = runView.tasks.get(task) ?? {};
  const worker = works === null ? undefined : runView.cells.get(works);
  const ended = status === 'completed' || status === 'failed' || isAgain;
  const ms = worker === undefined ? at - (startedAt ?? at) : workedMs(worker, at);
  const took = ended && startedAt !== null ? ` ${formatDuration(ms)}` : '';
  const why = reason === null ? '' : `: ${sanitizeLine(reason.text)}`;
  return `task ${excerpt(title, excerptColumns)}${who} ${isAgain ? 'will be retried' : status}${took}${why}`;
};

/** A run that continues from a checkpoint is a fork without changes. */
const describeFork = ({ from, amendment }: DurableEvent & { type: 'run-fork' }): string => {
  const kept = `keeps ${plural(from.frames, 'record')} of run ${from.run}`;
  const { agent: _agent, ...changes } = amendment;
  if (Object.keys(changes).length === 0) return `${kept} and continues from there`;
  return `${kept}, up to ${from.at}: ${describeAmendment(amendment)}`;
};

const describeModelCall = (event: DurableEvent & { type: 'model-end' }, verbose: boolean): string => {
  const head = `model ${event.model} ${event.ok ? 'ok' : 'failed'} ${formatDuration(event.ms)}`;
  const uncertain = event.uncertain > 0 ? `, ${compactNumber(event.uncertain)} uncertain` : '';
  const used = `, ${compactNumber(event.inputTokens)} tokens in${describeCacheUse(event)}, ${compactNumber(event.outputTokens)} out, ${describeCost(event.usd)}`;
  return `${head}${event.ok ? used : ''}${uncertain}${sizeSuffix(event, verbose)}${errorSuffix(event.error, verbose)}`;
};

type Sizes = Pick<DurableEvent & { type: 'model-end' }, 'bytesIn' | 'charsIn' | 'bytesOut' | 'charsOut'>;

const sizeSuffix = ({ bytesIn, charsIn, bytesOut, charsOut }: Sizes, verbose: boolean): string =>
  verbose
    ? `, ${count(bytesIn)} bytes (${count(charsIn)} characters) in, ${count(bytesOut)} (${count(charsOut)}) out`
    : '';

/** Describes the refused call of an agent: `a > b > a`. */
export const describeRefusedCall = ({ path = [], error }: DurableEvent & { type: 'tool-end' }): string =>
  `call refused: ${pathText(path)}: ${error?.summary ?? 'unknown reason'}`;

const pathSuffix = ({ path }: DurableEvent & { type: 'tool-end' }): string =>
  path === undefined ? '' : ` Path: ${pathText(path)}.`;

const pathText = (path: readonly string[]): string => path.map((name) => sanitizeLine(name)).join(' > ');

/** The detail is cut to a line; `show` has all of it. */
const errorSuffix = (error: EventError | null, verbose: boolean): string => {
  if (error === null) return '';
  const { summary, detail } = error;
  const said = detail === undefined ? '' : ` ${verbose ? sanitizeLine(detail) : excerpt(detail, detailColumns)}`;
  return `: ${summary}${limitSentence(error)}${said}`;
};

/** Which variables are missing is for `cloister check` to say: events are also sent to clients of a server. */
const describePassedOver = (models: readonly string[]): string =>
  `passed over ${models.map((model) => sanitizeLine(model)).join(', ')}: no API key (see \`cloister check\`)`;
