// Commands that come before the run has started: checked against what is known by then, and carried out in their order when it
// starts.
import { CloisterError, utf8Bytes } from '#base';
import type { RunId } from '#base';
import type { Agent, Ids, RunCommand, RunCommandTable } from '#contracts';
import { mailboxBytesMax, mailboxMessagesMax } from '#core/bus';
import { checkTeamMember } from '#core/orchestration';
import type { Run } from '#core/orchestration';
import { isSameMessage } from './keyed-messages.ts';

type EarlyCommandPorts = {
  readonly run: RunId;
  readonly ids: Ids;
  /** The root's definition. */
  readonly agent: Agent;
  /** A resident accepts messages whatever its definition says. */
  readonly resident: boolean;
  /** Resolves when the run has started. Rejects with `cell_ended`. */
  started(): Promise<Run>;
};

/** A command that can wait until the run has started. */
type EarlyCommand = RunCommand<'add-context' | 'send' | 'forward-topic' | 'confirm' | 'finish'>;

export class EarlyCommands {
  readonly ports: EarlyCommandPorts;
  readonly queue: EarlyCommand[] = [];

  constructor(ports: EarlyCommandPorts) {
    this.ports = ports;
  }

  add(command: EarlyCommand): void {
    this.queue.push(command);
  }

  /** The messages that are not in the log yet. */
  get messages(): readonly RunCommand<'send'>[] {
    return this.queue.filter((one) => one.do === 'send');
  }
}

export const earlyCommands: RunCommandTable<EarlyCommands> = {
  'add-context': (early, command) => early.add(command),
  'refresh-share': (early) => notStarted(early),
  send: (early, command) => {
    const { id: known } = command;
    if (known !== undefined && early.messages.some(({ id = '' }) => isSameMessage(id, known))) return known;
    checkEarlyMessage(early, command);
    const { id = `m-${early.ports.ids.random()}` } = command;
    early.add({ ...command, id });
    return id;
  },
  route: (early) => notStarted(early),
  'forward-topic': (early, command) => early.add(command),
  confirm: (early, command) => {
    const { message } = command;
    if (!early.queue.some((one) => one.do === 'confirm' && one.message === message)) early.add(command);
  },
  spawn: async ({ ports }, command) => (await ports.started()).do(command),
  'add-tasks': async ({ ports }, command) => (await ports.started()).do(command),
  finish: (early, command) => {
    const { name } = command;
    checkMailbox(early);
    if (name !== undefined && name !== early.ports.agent.name) throw onlyRoot(early);
    early.add({ do: 'finish' });
  },
  'add-tools': async ({ ports }, command) => (await ports.started()).do(command),
  answer: async ({ ports }, command) => (await ports.started()).do(command),
  // The run is started as a cancelled one.
  cancel: () => undefined,
};

/** Whoever gave the command was told that it waits, so a refusal now ends neither the run nor the commands after it. */
export const carryOutEarly = (live: Run, command: EarlyCommand): void => {
  try {
    live.do(command);
  } catch (error) {
    if (!(error instanceof CloisterError)) throw error;
  }
};

const notStarted = ({ ports: { run } }: EarlyCommands): never => {
  throw new CloisterError('cell_ended', `Run ${run} has not started.`);
};

const onlyRoot = ({ ports: { run, agent } }: EarlyCommands): CloisterError =>
  new CloisterError('mail_unknown', `Run ${run} has not started: only ${agent.name} is available.`);

/** An agent without a mailbox cannot be asked to finish, either. */
const checkMailbox = ({ ports: { agent, resident } }: EarlyCommands): void => {
  if (!resident && agent.permissions.messages === null)
    throw new CloisterError(
      'mail_unknown',
      `${agent.name} does not accept messages: start it with \`spawn\`, or set \`messages\` in its definition.`,
    );
};

/** Throws now if the message could not be delivered once the run starts. */
const checkEarlyMessage = (early: EarlyCommands, { text, to, topic }: RunCommand<'send'>): void => {
  const { run, agent } = early.ports;
  checkMailbox(early);
  if (agent.team !== null) checkTeamMember(agent.team.rules, to);
  else if (topic === undefined && to !== undefined && to !== agent.name) throw onlyRoot(early);
  const waiting = early.messages;
  const bytes = [...waiting.map((one) => one.text), text].reduce((sum, one) => sum + messageBytes(one), 0);
  if (waiting.length >= mailboxMessagesMax || bytes > mailboxBytesMax)
    throw new CloisterError('mailbox_full', `Run ${run} has not started.`);
};

const messageBytes = (text: string): number => utf8Bytes(JSON.stringify(text)) + envelopeBytes;

/** Upper bound for what the runtime adds to the text of a message. */
const envelopeBytes = 1_000;
