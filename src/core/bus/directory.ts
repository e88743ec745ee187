// The live agents of a run, their names, and who may write to whom.
//
//   mail-needs-both-names. A message passes between two cells when each one's definition names the other: as its parent, a
//       child, a sibling, or by the agent's name.
//   mail-names-only-reachable. A name is looked up among the agents that the requester may write to. Any other name looks
//       unknown.
//   mail-ended-only-reachable. What an agent is told about ended agents depends only on those that it could write to, however
//       many others have ended.
import type { CellId } from '#base';
import type { SpawnIdentity, TeamPart, TopicRules } from '#contracts';
import { areTeammates, mayWrite } from '#core/crossings';
import { Mailbox } from './mailbox.ts';
import type { Deliveries, CheckCrossed } from './mailbox.ts';

/** A cell that can receive mail. */
export type Member = {
  readonly cell: CellId;
  readonly parent: CellId | null;
  readonly agent: string;
  /** The name others use for it. */
  readonly name: string;
  readonly spawned: SpawnIdentity | null;
  /** Whom it may exchange messages with. */
  readonly messages: readonly string[];
  readonly topics: TopicRules;
  readonly createdAt: number;
  /** For a cell of a team: its part. */
  readonly part: TeamPart | null;
  /** For a team: which members each of its agents may write to. The team receives that mail for them. */
  readonly forwards?: Readonly<Record<string, readonly string[]>> | undefined;
  readonly mailbox: Mailbox;
  /** Topics, in the order of subscribing. */
  readonly subscriptions: Set<string>;
  /** Agents that it could write to and that ended during its life, the newest last: it gets `ended` instead of `unknown`. */
  readonly ended: Entry[];
};

export type LookupResult =
  /** `as`: the team member for whom this team receives the mail. */
  | { readonly found: Member; readonly as?: string }
  | {
      readonly found: null;
      readonly why: 'unknown' | 'ambiguous' | 'self' | 'ended';
      readonly known: readonly string[];
      readonly hidden?: Member;
    };

type Entry = Omit<Member, 'mailbox' | 'subscriptions' | 'ended'>;

export class Directory {
  readonly #members = new Map<CellId, Member>();
  /** By full name and by agent name. */
  readonly #byName = new Map<string, Set<Member>>();
  readonly #byParent = new Map<CellId, Set<Member>>();
  readonly #subscribers = new Map<string, Set<Member>>();

  readonly #door: CheckCrossed;
  readonly #deliveries: Deliveries | undefined;

  constructor(door: CheckCrossed, deliveries?: Deliveries) {
    this.#door = door;
    this.#deliveries = deliveries;
  }

  add(entry: Entry): Member {
    const member: Member = {
      ...entry,
      mailbox: new Mailbox(entry.cell, this.#door, this.#deliveries),
      subscriptions: new Set(),
      ended: [],
    };
    // probe: directory-add-member
    this.#members.set(entry.cell, member);
    if (entry.parent !== null) addTo(this.#byParent, entry.parent, member);
    for (const name of memberNames(entry)) addTo(this.#byName, name, member);
    for (const topic of entry.spawned?.topics ?? []) this.subscribe(member, topic);
    return member;
  }

  remove(cell: CellId): void {
    const member = this.#members.get(cell);
    if (member === undefined) return;
    // probe: directory-remove-member
    this.#members.delete(cell);
    for (const name of memberNames(member)) removeFrom(this.#byName, name, member);
    if (member.parent !== null) removeFrom(this.#byParent, member.parent, member);
    for (const topic of member.subscriptions) removeFrom(this.#subscribers, topic, member);
    const { mailbox: _mailbox, subscriptions: _subscriptions, ended: _ended, ...entry } = member;
    for (const other of /* probe: directory-ended-to */ this.#listedBy(member)) {
      // probe: directory-ended-may
      if (!mayWrite(member, other)) continue;
      // probe: directory-note-ended
      other.ended.push(entry);
      if (other.ended.length > endedMax) other.ended.shift();
    }
  }

  /** The live agents that this one's definition names. */
  #listedBy({ cell, parent, messages }: Member): ReadonlySet<Member> {
    const listed = messages.flatMap((name): readonly (Member | undefined)[] => {
      if (name === 'parent') return parent === null ? [] : [this.#members.get(parent)];
      if (name === 'children') return [...(this.#byParent.get(cell) ?? [])];
      if (name === 'siblings') return parent === null ? [] : [...(this.#byParent.get(parent) ?? [])];
      return [...(this.#byName.get(name) ?? [])];
    });
    return new Set(listed.filter((one) => one !== undefined));
  }

  get(cell: CellId): Member | undefined {
    return this.#members.get(cell);
  }

  get all(): Iterable<Member> {
    return this.#members.values();
  }

  /**
   * Whether all agents below a cell only wait for mail: none of them works, and none has unread mail. Cells without a mailbox need
   * not be asked: while such a cell lives, its caller is not idle.
   */
  isIdleBelow(cell: CellId): boolean {
    // probe: directory-idle-below
    for (const { cell: child, mailbox } of this.#byParent.get(cell) ?? [])
      if (!mailbox.idle || !this.isIdleBelow(child)) return false;
    return true;
  }

  subscribe(member: Member, topic: string): void {
    member.subscriptions.add(topic);
    addTo(this.#subscribers, topic, member);
  }

  subscribersOf(topic: string): readonly Member[] {
    return [...(this.#subscribers.get(topic) ?? [])];
  }

  /** Finds the agent that a cell means by a name. */
  lookup(requester: Member, name: string): LookupResult {
    if (name === 'self' || name === requester.name)
      return { found: null, why: 'self', known: this.#reachableNames(requester) };
    const team = this.#teamFor(requester);
    if (team !== undefined && reachableTeammates(team, requester).includes(name) && mayWrite(requester, team))
      return { found: team, as: name };
    const candidates = this.#membersNamed(requester, name).filter((other) => !this.isSibling(requester, other));
    const found = preferNearest(
      candidates.filter((other) => mayWrite(requester, other)),
      requester,
      name,
    );
    // If the agent with this full name has ended, another agent with the same short name must not get its mail.
    const hasEnded =
      !found.some((one) => one.name === name) &&
      requester.ended.some((other) => other.name === name && mayWrite(requester, other));
    if (hasEnded) return { found: null, why: 'ended', known: this.#reachableNames(requester) };
    if (found.length === 1) return { found: found[0]! };
    if (found.length > 1) return { found: null, why: 'ambiguous', known: found.map((one) => one.name) };
    const known = this.#reachableNames(requester);
    if (name === requester.agent) return { found: null, why: 'self', known };
    // probe: directory-was-reachable
    const wasReachable = requester.ended.some((other) => hasName(other, requester, name) && mayWrite(requester, other));
    const hidden = wasReachable ? undefined : candidates[0];
    return { found: null, why: wasReachable ? 'ended' : 'unknown', known, ...(hidden === undefined ? {} : { hidden }) };
  }

  #membersNamed(requester: Member, name: string): readonly Member[] {
    const isOpen = (one: Member): boolean => one.forwards === undefined;
    // A team receives mail for its members, never for itself.
    if (name !== 'parent') return [...(this.#byName.get(name) ?? [])].filter(isOpen);
    const parent = requester.parent === null ? undefined : this.#members.get(requester.parent);
    return parent === undefined ? [] : [parent].filter(isOpen);
  }

  /** Two members of one team. They can write to each other only through the team, and never on topics. */
  isSibling(one: Member, other: Member): boolean {
    return areTeammates(one, other) && one.cell !== other.cell;
  }

  /** The team that the member works in. */
  #teamFor({ parent }: Member): Member | undefined {
    const found = parent === null ? undefined : this.#members.get(parent);
    return found?.forwards === undefined ? undefined : found;
  }

  #reachableNames(requester: Member): readonly string[] {
    // probe: directory-reachable
    const open = [...this.#members.values()].filter(
      (other) => mayWrite(requester, other) && other.forwards === undefined && !this.isSibling(requester, other),
    );
    const team = this.#teamFor(requester);
    return [...open.map(({ name }) => name), ...(team === undefined ? [] : reachableTeammates(team, requester))];
  }
}

/** The teammates that a member of a team may write to. */
const reachableTeammates = ({ forwards = {} }: Member, { agent }: Member): readonly string[] =>
  Object.hasOwn(forwards, agent) ? forwards[agent]! : [];

const addTo = <K extends string>(table: Map<K, Set<Member>>, key: K, member: Member): void => {
  const members = table.get(key);
  if (members === undefined) table.set(key, new Set([member]));
  else members.add(member);
};

const removeFrom = <K extends string>(table: Map<K, Set<Member>>, key: K, member: Member): void => {
  const members = table.get(key);
  members?.delete(member);
  if (members?.size === 0) table.delete(key);
};

const memberNames = ({ name, agent }: Entry): readonly string[] => (name === agent ? [name] : [name, agent]);

const hasName = (one: Entry, requester: Member, name: string): boolean =>
  name === 'parent' ? one.cell === requester.parent : memberNames(one).includes(name);

/** Prefers an exact name, then a short name in the requester's own workflow, then any short name. */
const preferNearest = (among: readonly Member[], requester: Member, name: string): readonly Member[] => {
  const exact = among.filter((one) => one.name === name);
  if (name === 'parent' || exact.length > 0) return name === 'parent' ? among : exact;
  const near = among.filter(({ spawned }) => (spawned?.workflow ?? null) === (requester.spawned?.workflow ?? null));
  return near.length > 0 ? near : among;
};

/** Per agent that could write to them: a bound for the whole run would show how many agents of others have ended. */
const endedMax = 1_000;
