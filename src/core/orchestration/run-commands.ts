// What somebody outside asks of a run in progress: one function for each command.
import { CloisterError } from '#base';
import type { CellId } from '#base';
import type { Crossed, GivenTools, History, RunCommandTable, SharedMessage } from '#contracts';
import type { LiveCell, LocalRun } from '#core/cells';
import { shutdownGraceMs } from '#core/session';
import { assertTakesContext, routeTo, sendFromOutside, sendTasks } from './external-mail.ts';
import { findLiveAgent, findMember } from './live-agents.ts';
import { startFromOutside, whenCaughtUp } from './outside-spawn.ts';
import { checkLaterTools } from './request-tools.ts';
import { contextToShare } from './share.ts';
import type { TeamMailbox } from './task-intake.ts';
import type { TeamSessionRunner } from './team-session-runner.ts';

/** What commands act on. */
export type CommandTarget = LocalRun & {
  readonly team: TeamSessionRunner | null;
  readonly hasEnded: boolean;
  assertRunning(): void;
  haltAfter(graceMs: number, cell: CellId): void;
};

export const runCommands: RunCommandTable<CommandTarget> = {
  cancel: (run) => {
    if (run.hasEnded || run.root.halted) return;
    // probe: run-record-cancel
    run.write(run.root.cellId, run.time(), { type: 'cancel' });
    run.root.halt();
  },
  'add-context': (run, { text }) => {
    run.assertRunning();
    addContext(run, text);
  },
  'refresh-share': (run, { child }) => refreshShare(run, child as CellId),
  send: (run, command) => {
    run.assertRunning();
    return sendFromOutside(run, command);
  },
  route: (run, { from, to, ...choice }) => {
    run.assertRunning();
    const sender = liveCell(run, from);
    return to.map((one) => liveCell(run, one)).reduce((sum, one) => sum + routeTo(run, sender, one, choice), 0);
  },
  'forward-topic': (run, { topic }) => void run.mail.outsideTopics.add(topic),
  confirm: (run, { message }) => {
    if (!run.hasEnded) run.write(run.root.cellId, run.time(), { type: 'delivered', messages: [message] });
  },
  spawn: async (run, request) => {
    run.assertRunning();
    await whenCaughtUp(run);
    run.assertRunning();
    return startFromOutside(run, liveCell(run, request.parent), request);
  },
  'add-tasks': async (run, { tasks }) => {
    run.assertRunning();
    if (run.team === null) throw new CloisterError('cell_ended', 'This agent is not a team.');
    await run.team.intake.ready(() => !run.root.halted && run.root.nextFrame < run.nextFrame);
    run.assertRunning();
    sendTasks(run, JSON.stringify(run.team.intake.check(tasks, teamMailbox(run))));
  },
  'add-tools': async (run, { tools, timeoutMs }) => {
    run.assertRunning();
    await whenCaughtUp(run);
    run.assertRunning();
    return addTools(run, { tools, timeoutMs });
  },
  answer: async (run, { do: _do, ...answer }) => {
    run.assertRunning();
    await whenCaughtUp(run);
    run.assertRunning();
    return run.questions.answer(answer);
  },
  finish: (run, { name }) => {
    run.assertRunning();
    const { cell, mailbox } = findMember(run, name);
    mailbox.close();
    run.mail.wake();
    // The root has no grace period: the user can wait, or cancel the run.
    if (cell !== run.root.cellId) run.haltAfter(run.root.agent.children.spawns?.graceMs ?? shutdownGraceMs, cell);
  },
};

const teamMailbox = ({ mail, root }: LocalRun): TeamMailbox => {
  const mailbox = mail.directory.get(root.cellId)?.mailbox;
  const fromOutside = (mailbox?.unread ?? []).filter(({ from }) => from === 'outside');
  return {
    closing: mailbox?.closing === true,
    unread: fromOutside.flatMap(({ seq }) => root.receivedCrossings.at(seq)?.content ?? []),
  };
};

/** By default, the root. */
const liveCell = (run: LocalRun, name?: string): LiveCell => {
  const cell = findLiveAgent(run, name);
  const found = run.getLiveCell(cell);
  // After a crash, an agent is known before its session has come back.
  if (found === undefined) throw new CloisterError('cell_ended', `${cell} is not running in this run.`);
  return found;
};

const addContext = (run: LocalRun, text: string): void => {
  assertTakesContext(run.root);
  const known = run.redactFor(run.root.agent)?.text(text) ?? text;
  const history: History = {
    conversation: '',
    leftOut: 0,
    entries: [{ agent: null, category: 'CONTEXT', text: known }],
  };
  const to = run.root.cellId;
  const at = run.time();
  const request = { kind: 'history', from: 'outside', to, content: JSON.stringify(history) } as const;
  const passed = run.door.cross(request, { at, frame: run.nextFrame });
  // probe: run-record-gift
  run.root.receivedCrossings.addFromFrame(run.write(to, at, { type: 'give', to }));
  if ('refused' in passed) throw new CloisterError('crossing_refused', `${run.root.agent.name} accepts no history.`);
};

/** Throws `options_invalid`. */
const addTools = (run: LocalRun, { tools, timeoutMs }: GivenTools): number => {
  assertTakesContext(run.root);
  const { agent, cellId: to, receivedCrossings } = run.root;
  const known = new Set([
    ...Object.keys(agent.definition.client ?? {}),
    ...receivedCrossings.addedContext('by now').flatMap(readGivenTools),
  ]);
  const fresh = tools
    .filter(({ name }) => !known.has(name))
    .map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  if (fresh.length === 0) return 0;
  if (known.size + fresh.length > clientToolsMax)
    throw new CloisterError('options_invalid', `tools: the run has ${known.size}; the limit is ${clientToolsMax}.`);
  checkLaterTools(agent, fresh);
  const at = run.time();
  const content = JSON.stringify({ tools: fresh, timeoutMs } satisfies GivenTools);
  const passed = run.door.cross({ kind: 'tools', from: 'outside', to, content }, { at, frame: run.nextFrame });
  receivedCrossings.addFromFrame(run.write(to, at, { type: 'give', to }));
  if ('refused' in passed) throw new CloisterError('crossing_refused', `${agent.name} has no client with tools.`);
  return fresh.length;
};

/** All tools of one client together. */
const clientToolsMax = 512;

const readGivenTools = ({ kind, content }: Crossed): readonly string[] =>
  kind === 'tools' ? (JSON.parse(content) as GivenTools).tools.map(({ name }) => name) : [];

const refreshShare = (run: CommandTarget, to: CellId): number => {
  const share = run.getShare(to);
  if (share === undefined || run.hasEnded || run.root.halted)
    throw new CloisterError('cell_ended', `${to} was given no share of its caller's context, or is not running.`);
  assertTakesContext(share.cell);
  const known = new Set(share.cell.receivedCrossings.addedContext('by now').flatMap(readShared).map(messageKey));
  // probe: share-changed
  const changed = contextToShare(share.from, share.cell.agent).filter((message) => !known.has(messageKey(message)));
  if (changed.length === 0) return 0;
  const at = run.time();
  const request = { kind: 'share', from: share.from.cellId, to, content: JSON.stringify(changed) } as const;
  const passed = run.door.cross(request, { at, frame: run.nextFrame });
  share.cell.receivedCrossings.addFromFrame(run.write(to, at, { type: 'give', to }));
  if ('refused' in passed) throw new CloisterError('crossing_refused', `${to} may no longer be given a share.`);
  return changed.length;
};

const readShared = ({ kind, content }: Crossed): readonly SharedMessage[] =>
  kind === 'share' ? (JSON.parse(content) as readonly SharedMessage[]) : [];

const messageKey = ({ category, text }: SharedMessage): string => `${category} ${text}`;
