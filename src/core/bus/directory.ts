// Who lives in a run, by which name, and who may write to whom.
//
//   D1. A message passes between two cells when each one's definition names the other: as its parent, a child, a sibling,
//       or by the agent's name.
//   D2. A name is looked up among those that the asker may write to. For others it is as if nobody had it.
import type { CellId } from '#base';
import type { SpawnIdentity, TopicRules } from '#contracts';
import { Mailbox } from './mailbox.ts';

/** One that can be written to. `hidden`, of a look: one that is there and may not be written to, for the record alone. */
export type Member = {
  readonly cell: CellId;
  readonly parent: CellId | null;
  readonly agent: string;
  /** What others call it. */
  readonly name: string;
  readonly spawned: SpawnIdentity | null;
  /** Whom it may exchange messages with. */
  readonly messages: readonly string[];
  readonly topics: TopicRules;
  readonly bornAt: number;
  /** Of a team: to whom of its members each of its agents may write; it takes that mail for them. */
  readonly forwards?: Readonly<Record<string, readonly string[]>> | undefined;
  readonly box: Mailbox;
  /** What it hears, in the order of its subscriptions. */
  readonly heard: Set<string>;
};

export type LookupResult =
  /** `as`: it takes the mail of the one who was meant. */
  | { readonly found: Member; readonly as?: string }
  | {
      readonly found: null;
      readonly why: 'unknown' | 'ambiguous' | 'self' | 'ended';
      readonly known: readonly string[];
      readonly hidden?: Member;
    };

type Entry = Omit<Member, 'box' | 'heard'>;

export class Directory {
  readonly #members = new Map<CellId, Member>();
  /** By every name that one can be called. */
  readonly #named = new Map<string, Set<Member>>();
  readonly #hearers = new Map<string, Set<Member>>();
  /** Those who have ended, with what is needed to say so to those who knew them. */
  #ended: readonly Entry[] = [];

  add(entry: Entry): Member {
    const member: Member = { ...entry, box: new Mailbox(), heard: new Set() };
    this.#members.set(entry.cell, member);
    for (const name of namesOf(entry)) put(this.#named, name, member);
    for (const topic of entry.spawned?.topics ?? []) this.subscribe(member, topic);
    return member;
  }

  remove(cell: CellId): void {
    const member = this.#members.get(cell);
    if (member === undefined) return;
    // probe: directory-remove-member
    this.#members.delete(cell);
    for (const name of namesOf(member)) takeOut(this.#named, name, member);
    for (const topic of member.heard) takeOut(this.#hearers, topic, member);
    const { box: _box, heard: _heard, ...entry } = member;
    this.#ended = [...this.#ended.slice(-endedMax), entry];
  }

  get(cell: CellId): Member | undefined {
    return this.#members.get(cell);
  }

  get all(): Iterable<Member> {
    return this.#members.values();
  }

  subscribe(member: Member, topic: string): void {
    member.heard.add(topic);
    put(this.#hearers, topic, member);
  }

  subscribersOf(topic: string): readonly Member[] {
    return [...(this.#hearers.get(topic) ?? [])];
  }

  /** Whether a message may pass between them. */
  allows(one: Member, other: Member): boolean {
    return mayWrite(one, other);
  }

  /** The one that a cell means by a name. */
  lookup(asker: Member, name: string): LookupResult {
    if (name === 'self' || name === asker.name) return { found: null, why: 'self', known: this.#namesFor(asker) };
    const team = this.#teamOf(asker);
    if (team !== undefined && matesOf(team, asker).includes(name) && mayWrite(asker, team))
      return { found: team, as: name };
    const called = this.#called(asker, name).filter((other) => !this.isSibling(asker, other));
    const found = nearest(
      called.filter((other) => mayWrite(asker, other)),
      asker,
      name,
    );
    // Who had this whole name is not the one that has it as a short one now.
    const isOver =
      !found.some((one) => one.name === name) &&
      this.#ended.some((other) => other.name === name && mayWrite(asker, other));
    if (isOver) return { found: null, why: 'ended', known: this.#namesFor(asker) };
    if (found.length === 1) return { found: found[0]! };
    if (found.length > 1) return { found: null, why: 'ambiguous', known: found.map((one) => one.name) };
    const known = this.#namesFor(asker);
    if (name === asker.agent) return { found: null, why: 'self', known };
    const had = this.#ended.some((other) => isCalled(other, asker, name) && mayWrite(asker, other));
    const hidden = had ? undefined : called[0];
    return { found: null, why: had ? 'ended' : 'unknown', known, ...(hidden === undefined ? {} : { hidden }) };
  }

  #called(asker: Member, name: string): readonly Member[] {
    const isOpen = (one: Member): boolean => one.forwards === undefined;
    // A team takes mail for its members, none for itself.
    if (name !== 'parent') return [...(this.#named.get(name) ?? [])].filter(isOpen);
    const parent = asker.parent === null ? undefined : this.#members.get(asker.parent);
    return parent === undefined ? [] : [parent].filter(isOpen);
  }

  /** Members of a team write to each other through it, or not at all; on topics neither. */
  isSibling(one: Member, other: Member): boolean {
    return one.parent === other.parent && one.cell !== other.cell && this.#teamOf(one) !== undefined;
  }

  /** The team that it works in. */
  #teamOf({ parent }: Member): Member | undefined {
    const found = parent === null ? undefined : this.#members.get(parent);
    return found?.forwards === undefined ? undefined : found;
  }

  #namesFor(asker: Member): readonly string[] {
    const open = [...this.#members.values()].filter(
      (other) => mayWrite(asker, other) && other.forwards === undefined && !this.isSibling(asker, other),
    );
    const team = this.#teamOf(asker);
    return [...open.map(({ name }) => name), ...(team === undefined ? [] : matesOf(team, asker))];
  }
}

/** To whom a member of a team may write. */
const matesOf = ({ forwards = {} }: Member, { agent }: Member): readonly string[] =>
  Object.hasOwn(forwards, agent) ? forwards[agent]! : [];

const put = (table: Map<string, Set<Member>>, key: string, member: Member): void => {
  const known = table.get(key);
  if (known === undefined) table.set(key, new Set([member]));
  else known.add(member);
};

const takeOut = (table: Map<string, Set<Member>>, key: string, member: Member): void => {
  const known = table.get(key);
  known?.delete(member);
  if (known?.size === 0) table.delete(key);
};

const namesOf = ({ name, agent }: Entry): readonly string[] => (name === agent ? [name] : [name, agent]);

const isCalled = (one: Entry, asker: Member, name: string): boolean =>
  name === 'parent' ? one.cell === asker.parent : namesOf(one).includes(name);

/** By the whole name; else by the short one, inside the asker's own workflow first. */
const nearest = (among: readonly Member[], asker: Member, name: string): readonly Member[] => {
  const whole = among.filter((one) => one.name === name);
  if (name === 'parent' || whole.length > 0) return name === 'parent' ? among : whole;
  const near = among.filter(({ spawned }) => (spawned?.workflow ?? null) === (asker.spawned?.workflow ?? null));
  return near.length > 0 ? near : among;
};

const endedMax = 1_000;

type Related = Pick<Member, 'cell' | 'parent' | 'agent' | 'messages'>;

/** Nobody is called by one of these. */
const roles: readonly string[] = ['parent', 'children', 'siblings'];

/** Each must name the other. */
export const mayWrite = (one: Related, other: Related): boolean =>
  one.cell !== other.cell && names(one, other) && names(other, one);

const names = ({ cell, parent, messages }: Related, other: Related): boolean =>
  messages.some(
    (name) =>
      (name === 'parent' && other.cell === parent) ||
      (name === 'children' && other.parent === cell) ||
      (name === 'siblings' && other.parent === parent && parent !== null) ||
      (name === other.agent && !roles.includes(name)),
  );
