// What somebody outside asks of a run in progress: one function for each command.
import { CloisterError } from '#base';
import type { CellId } from '#base';
import type { Crossed, History, RunCommandTable, SharedMessage } from '#contracts';
import type { LiveCell, LocalContext, LocalRun } from '#core/cells';
import { shutdownGraceMs } from '#core/session';
import { routeTo, sendFromOutside, sendTasks } from './external-mail.ts';
import { findLiveAgent, findMember } from './live-agents.ts';
import { startFromOutside, whenCaughtUp } from './outside-spawn.ts';
import { contextToShare } from './share.ts';
import type { TeamMailbox } from './task-intake.ts';
import type { TeamSessionRunner } from './team-session-runner.ts';

/** What commands act on. */
export type CommandedRun = {
  readonly local: LocalRun;
  readonly root: LocalContext;
  readonly team: TeamSessionRunner | null;
  readonly hasEnded: boolean;
  assertRunning(): void;
  haltAfter(graceMs: number, cell: CellId): void;
};

export const runCommands: RunCommandTable<CommandedRun> = {
  cancel: ({ local, root, hasEnded }) => {
    if (hasEnded || root.halted) return;
    // probe: run-record-cancel
    local.write(root.cellId, local.time(), { type: 'cancel' });
    root.halt();
  },
  'add-context': (run, { text }) => {
    run.assertRunning();
    addContext(run, text);
  },
  'refresh-share': (run, { child }) => refreshShare(run, child as CellId),
  send: (run, command) => {
    run.assertRunning();
    return sendFromOutside(run.local, run.root, command);
  },
  route: (run, { from, to, ...choice }) => {
    run.assertRunning();
    const sender = liveCell(run, from);
    return to.map((one) => liveCell(run, one)).reduce((sum, one) => sum + routeTo(run.local, sender, one, choice), 0);
  },
  'forward-topic': ({ local }, { topic }) => void local.mail.outsideTopics.add(topic),
  confirm: ({ local, root, hasEnded }, { message }) => {
    if (!hasEnded) local.write(root.cellId, local.time(), { type: 'delivered', messages: [message] });
  },
  spawn: async (run, request) => {
    run.assertRunning();
    await whenCaughtUp(run.local, run.root);
    run.assertRunning();
    return startFromOutside(run.local, liveCell(run, request.parent), request);
  },
  'add-tasks': async (run, { tasks }) => {
    run.assertRunning();
    if (run.team === null) throw new CloisterError('cell_ended', 'This agent is not a team.');
    await run.team.intake.ready(() => !run.root.halted && run.root.nextFrame < run.local.nextFrame);
    run.assertRunning();
    sendTasks(run.local, run.root, JSON.stringify(run.team.intake.check(tasks, teamMailbox(run))));
  },
  finish: (run, { name }) => {
    run.assertRunning();
    const { cell, mailbox } = findMember(run.local, run.root, name);
    mailbox.close();
    // The root has no grace period: the user can wait, or cancel the run.
    if (cell !== run.root.cellId) run.haltAfter(run.root.agent.spawns?.graceMs ?? shutdownGraceMs, cell);
  },
};

const teamMailbox = ({ local, root }: CommandedRun): TeamMailbox => {
  const mailbox = local.mail.directory.get(root.cellId)?.mailbox;
  const fromOutside = (mailbox?.unread ?? []).filter(({ from }) => from === 'outside');
  return {
    closing: mailbox?.closing === true,
    unread: fromOutside.flatMap(({ seq }) => root.receivedCrossings.at(seq)?.content ?? []),
  };
};

/** By default, the root. */
const liveCell = ({ local, root }: CommandedRun, name?: string): LiveCell => {
  const cell = findLiveAgent(local, root, name);
  const found = cell === root.cellId ? root : local.getLiveCell(cell);
  // After a crash, an agent is known before its session has come back.
  if (found === undefined) throw new CloisterError('cell_ended', `${cell} is not running in this run.`);
  return found;
};

const addContext = ({ local, root }: CommandedRun, text: string): void => {
  const known = local.redactFor(root.agent)?.text(text) ?? text;
  const history: History = {
    conversation: '',
    leftOut: 0,
    entries: [{ agent: null, category: 'CONTEXT', text: known }],
  };
  const to = root.cellId;
  const at = local.time();
  const request = { kind: 'history', from: 'outside', to, content: JSON.stringify(history) } as const;
  const passed = local.door.cross(request, { at, frame: local.nextFrame });
  // probe: run-record-gift
  root.receivedCrossings.addFromFrame(local.write(to, at, { type: 'give', to }));
  if ('refused' in passed) throw new CloisterError('crossing_refused', `${root.agent.name} accepts no history.`);
};

const refreshShare = ({ local, root, hasEnded }: CommandedRun, to: CellId): number => {
  const share = local.getShare(to);
  if (share === undefined || hasEnded || root.halted)
    throw new CloisterError('cell_ended', `${to} was given no share of its caller's context, or is not running.`);
  const known = new Set(share.cell.receivedCrossings.addedContext('by now').flatMap(readShared).map(messageKey));
  // probe: share-changed
  const changed = contextToShare(share.from, share.cell.agent).filter((message) => !known.has(messageKey(message)));
  if (changed.length === 0) return 0;
  const at = local.time();
  const request = { kind: 'share', from: share.from.cellId, to, content: JSON.stringify(changed) } as const;
  const passed = local.door.cross(request, { at, frame: local.nextFrame });
  share.cell.receivedCrossings.addFromFrame(local.write(to, at, { type: 'give', to }));
  if ('refused' in passed) throw new CloisterError('crossing_refused', `${to} may no longer be given a share.`);
  return changed.length;
};

const readShared = ({ kind, content }: Crossed): readonly SharedMessage[] =>
  kind === 'share' ? (JSON.parse(content) as readonly SharedMessage[]) : [];

const messageKey = ({ category, text }: SharedMessage): string => `${category} ${text}`;
