// The mail of a run as its caller holds it. What is sent before the run has begun waits here, within the bounds of a mailbox.
import { CloisterError, decodeMessage, utf8Bytes } from '#base';
import type { RunId } from '#base';
import type { Agent, Ids, LiveAgent, Mail, RouteChoice, MessageTarget } from '#contracts';
import { mailboxBytesMax, mailboxMessagesMax } from '#core/bus';
import type { RunHandle } from '#core/orchestration';
import { withChildren } from './agents/resources-from-code.ts';
import { checkChoice, checkSending, checkText, checkTopic } from './check-mail.ts';
import type { Fold } from './frame-reader.ts';

export type MailControls = Pick<RunHandle, 'send' | 'route' | 'members' | 'hear' | 'finish'>;

export type SessionMailPorts = {
  readonly run: RunId;
  readonly ids: Ids;
  /** The root's; undefined when it is not known here any more. */
  readonly agent: Agent | undefined;
  /** It takes mail whatever its definition says. */
  readonly resident: boolean;
};

/** The next id that is drawn in the run is this one. */
export type DrawNext = (id: string) => void;

type Early = (live: MailControls, drawNext: DrawNext) => void;

/** What the runtime adds to the words of a message, at most. */
const envelopeBytes = 1_000;

export class SessionMail {
  readonly #of: SessionMailPorts;
  #live: MailControls | undefined;
  #early: Early[] = [];
  #sent = new Map<string, number>();

  constructor(of: SessionMailPorts, live: MailControls | undefined) {
    this.#of = of;
    this.#live = live;
  }

  attach(live: MailControls, drawNext: DrawNext): void {
    this.#live = live;
    const early = this.#early;
    this.#early = [];
    this.#sent.clear();
    for (const act of early) act(live, drawNext);
  }

  /** Was sent, and is not in the log yet. */
  isEarly(message: string): boolean {
    return this.#sent.has(message);
  }

  send(text: string, sending: MessageTarget = {}): string {
    checkText(text);
    checkSending(sending);
    if (sending.topic !== undefined) checkTopic(sending.topic, this.#topics('hear'), 'hears');
    if (this.#live !== undefined) return this.#live.send(text, sending);
    this.#checkEarly(text, sending);
    const drawn = this.#of.ids.random();
    this.#sent.set(`m-${drawn}`, utf8Bytes(JSON.stringify(text)) + envelopeBytes);
    this.#early.push((live, drawNext) => {
      drawNext(drawn);
      live.send(text, sending);
    });
    return `m-${drawn}`;
  }

  /** Says so now if it could not be put into the box later. */
  #checkEarly(text: string, { to, topic }: MessageTarget): void {
    const { run, agent, resident } = this.#of;
    if (!resident && (agent?.messages ?? null) === null)
      throw new CloisterError(
        'mail_unknown',
        `${agent?.name ?? 'The agent'} takes no mail: spawn it, or name \`messages\` in its definition.`,
      );
    if (agent?.team != null && !Object.hasOwn(agent.team.members, to ?? ''))
      throw new CloisterError(
        'mail_unknown',
        `A team takes messages for its members: name one of ${Object.keys(agent.team.members).join(', ')}.`,
      );
    if (agent?.team == null && topic === undefined && to !== undefined && to !== agent?.name)
      throw new CloisterError('mail_unknown', `Run ${run} has not begun: there is only ${agent?.name ?? 'its root'}.`);
    const bytes = [...this.#sent.values()].reduce((sum, one) => sum + one, 0) + utf8Bytes(text) + envelopeBytes;
    if (this.#sent.size >= mailboxMessagesMax || bytes > mailboxBytesMax)
      throw new CloisterError('mailbox_full', `Run ${run} has not begun.`);
  }

  hear(topic: string): void {
    checkTopic(topic, this.#topics('say'), 'speaks on');
    if (this.#live === undefined) this.#early.push((live) => live.hear(topic));
    else this.#live.hear(topic);
  }

  finish(name?: string): void {
    if (this.#live !== undefined) return this.#live.finish(name);
    const { run, agent } = this.#of;
    if (name !== undefined && name !== agent?.name)
      throw new CloisterError('mail_unknown', `Run ${run} has not begun: there is only ${agent?.name ?? 'its root'}.`);
    this.#early.push((live) => live.finish());
  }

  agents(): readonly LiveAgent[] {
    return this.#live?.members() ?? [];
  }

  route(from: string, to: string | readonly string[], choice: RouteChoice): number {
    checkChoice(choice);
    if (this.#live === undefined) throw new CloisterError('cell_ended', `Run ${this.#of.run} has not begun.`);
    const others = typeof to === 'string' ? [to] : to;
    return this.#live.route(
      this.#cellOf(from),
      others.map((one) => this.#cellOf(one)),
      choice,
    );
  }

  /** By any of the names that it is known by; what is none is taken for the cell itself. */
  #cellOf(name: string): string {
    const all = this.agents();
    const exact = all.filter((one) => [one.cell, one.sub_agent_id, one.session_id].includes(name));
    const found = exact.length > 0 ? exact : all.filter(({ agent }) => agent === name);
    if (found.length > 1)
      throw new CloisterError(
        'mail_ambiguous',
        `"${name}" could be one of: ${found.map((one) => one.sub_agent_id).join(', ')}.`,
      );
    return found[0]?.cell ?? name;
  }

  #topics(way: 'hear' | 'say'): readonly string[] {
    const { agent } = this.#of;
    return agent === undefined ? [] : [...new Set([...withChildren([agent])].flatMap(({ topics }) => topics[way]))];
  }
}

/** What is published on a topic and goes outside. */
export const followTopic = (topic: string): Fold<Mail> => ({
  next: ({ contents = [] }) =>
    contents.flatMap(({ kind, to, content }): readonly Mail[] => {
      if (kind !== 'broadcast' || to !== 'outside') return [];
      const mail = decodeMessage(content) as Mail;
      return mail.topic === topic ? [mail] : [];
    }),
});
