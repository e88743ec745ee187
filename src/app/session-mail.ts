// A caller's access to the messages of a run. Messages sent before the run has started wait here, within mailbox limits.
import { CloisterError, decodeMessage, utf8Bytes } from '#base';
import type { RunId } from '#base';
import type { Agent, Ids, LiveAgent, Mail, RouteChoice, MessageTarget } from '#contracts';
import { mailboxBytesMax, mailboxMessagesMax } from '#core/bus';
import type { RunHandle } from '#core/orchestration';
import { withChildren } from './agents/resources-from-code.ts';
import { checkRouteChoice, checkMessageTarget, checkMessageText, checkTopic } from './check-mail.ts';
import type { FrameFold } from './frame-reader.ts';

export type MailControls = Pick<RunHandle, 'send' | 'route' | 'members' | 'forwardTopic' | 'finish'>;

export type SessionMailPorts = {
  readonly run: RunId;
  readonly ids: Ids;
  /** The root's definition; undefined if it is no longer loaded. */
  readonly agent: Agent | undefined;
  /** A resident accepts messages whatever its definition says. */
  readonly resident: boolean;
};

/** Makes the next random id in the run this one. */
export type UseNextId = (id: string) => void;

type EarlyAction = (controls: MailControls, useNextId: UseNextId) => void;

/** Upper bound for what the runtime adds to the text of a message. */
const envelopeBytes = 1_000;

export class SessionMail {
  readonly #ports: SessionMailPorts;
  #controls: MailControls | undefined;
  #earlyActions: EarlyAction[] = [];
  #earlyBytes = new Map<string, number>();

  constructor(ports: SessionMailPorts, controls: MailControls | undefined) {
    this.#ports = ports;
    this.#controls = controls;
  }

  attach(controls: MailControls, useNextId: UseNextId): void {
    this.#controls = controls;
    const early = this.#earlyActions;
    this.#earlyActions = [];
    this.#earlyBytes.clear();
    for (const act of early) act(controls, useNextId);
  }

  /** Whether the message was sent but is not in the log yet. */
  isEarly(message: string): boolean {
    return this.#earlyBytes.has(message);
  }

  send(text: string, target: MessageTarget = {}): string {
    checkMessageText(text);
    checkMessageTarget(target);
    if (target.topic !== undefined) checkTopic(target.topic, this.#topics('hear'), 'subscribes to');
    if (this.#controls !== undefined) return this.#controls.send(text, target);
    this.#checkEarly(text, target);
    const id = this.#ports.ids.random();
    this.#earlyBytes.set(`m-${id}`, utf8Bytes(JSON.stringify(text)) + envelopeBytes);
    this.#earlyActions.push((controls, useNextId) => {
      useNextId(id);
      controls.send(text, target);
    });
    return `m-${id}`;
  }

  /** Throws now if the message could not be delivered once the run starts. */
  #checkEarly(text: string, { to, topic }: MessageTarget): void {
    const { run, agent, resident } = this.#ports;
    if (!resident && (agent?.messages ?? null) === null)
      throw new CloisterError(
        'mail_unknown',
        `${agent?.name ?? 'The agent'} does not accept messages: start it with \`spawn\`, or set \`messages\` in its definition.`,
      );
    if (agent?.team != null && !Object.hasOwn(agent.team.members, to ?? ''))
      throw new CloisterError(
        'mail_unknown',
        `A team accepts messages only for its members; set \`to\` to one of: ${Object.keys(agent.team.members).join(', ')}.`,
      );
    if (agent?.team == null && topic === undefined && to !== undefined && to !== agent?.name)
      throw new CloisterError(
        'mail_unknown',
        `Run ${run} has not started: only ${agent?.name ?? 'its root'} is available.`,
      );
    const bytes = [...this.#earlyBytes.values()].reduce((sum, one) => sum + one, 0) + utf8Bytes(text) + envelopeBytes;
    if (this.#earlyBytes.size >= mailboxMessagesMax || bytes > mailboxBytesMax)
      throw new CloisterError('mailbox_full', `Run ${run} has not started.`);
  }

  subscribe(topic: string): void {
    checkTopic(topic, this.#topics('say'), 'publishes to');
    if (this.#controls === undefined) this.#earlyActions.push((controls) => controls.forwardTopic(topic));
    else this.#controls.forwardTopic(topic);
  }

  finish(name?: string): void {
    if (this.#controls !== undefined) return this.#controls.finish(name);
    const { run, agent } = this.#ports;
    if (name !== undefined && name !== agent?.name)
      throw new CloisterError(
        'mail_unknown',
        `Run ${run} has not started: only ${agent?.name ?? 'its root'} is available.`,
      );
    this.#earlyActions.push((controls) => controls.finish());
  }

  agents(): readonly LiveAgent[] {
    return this.#controls?.members() ?? [];
  }

  route(from: string, to: string | readonly string[], choice: RouteChoice): number {
    checkRouteChoice(choice);
    if (this.#controls === undefined) throw new CloisterError('cell_ended', `Run ${this.#ports.run} has not started.`);
    const others = typeof to === 'string' ? [to] : to;
    return this.#controls.route(
      this.#findCell(from),
      others.map((one) => this.#findCell(one)),
      choice,
    );
  }

  /** Finds a cell by any of its names; a name that matches none is taken as a cell id. */
  #findCell(name: string): string {
    const all = this.agents();
    const exact = all.filter((one) => [one.cell, one.sub_agent_id, one.session_id].includes(name));
    const found = exact.length > 0 ? exact : all.filter(({ agent }) => agent === name);
    if (found.length > 1)
      throw new CloisterError(
        'mail_ambiguous',
        `"${name}" is ambiguous; use one of: ${found.map((one) => one.sub_agent_id).join(', ')}.`,
      );
    return found[0]?.cell ?? name;
  }

  #topics(way: 'hear' | 'say'): readonly string[] {
    const { agent } = this.#ports;
    return agent === undefined ? [] : [...new Set([...withChildren([agent])].flatMap(({ topics }) => topics[way]))];
  }
}

/** Messages published on a topic that are delivered outside the run. */
export const followTopic = (topic: string): FrameFold<Mail> => ({
  next: ({ contents = [] }) =>
    contents.flatMap(({ kind, to, content }): readonly Mail[] => {
      if (kind !== 'broadcast' || to !== 'outside') return [];
      const mail = decodeMessage(content) as Mail;
      return mail.topic === topic ? [mail] : [];
    }),
});
