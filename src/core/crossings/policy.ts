// Who may pass what to whom: one pure function of the kind and the two ends.
//
//   policy-reads-no-content. It reads definitions, the position of the ends in the run, and what an operator has withdrawn.
//       Nothing that a model, a message or a tool can write is among its inputs.
//   policy-reads-two-ends. What any other cell is or does changes nothing.
//   policy-makes-every-grant. It is asked for every kind, and nobody else creates a `Grant`.
import type { CellId } from '#base';
import type { Agent, AgentDefinition, CrossingEnd, CrossingKind, GrantName, Label, TeamPart } from '#contracts';

/** A cell as policy sees it. */
export type Party = {
  readonly cell: CellId;
  readonly parent: CellId | null;
  /** Who asked for it, and so may give it a goal: its parent, or somebody outside. */
  readonly requestedBy: CrossingEnd;
  readonly agent: Pick<Agent, 'name' | 'definition'>;
  /** Nobody waits for it, so it can be written to even if its definition does not say so. */
  readonly spawned: boolean;
  /** For a cell of a team: its part. */
  readonly part: TeamPart | null;
};

type Ends = { readonly from: Party | 'outside'; readonly to: Party | 'outside' };

type Conditions = {
  /** The grants that operators have taken away from this agent's cells. */
  readonly withdrawn: (agent: string) => readonly GrantName[];
  /** For a broadcast. */
  readonly topic?: string | undefined;
  /** For a note: it says that a message was not read. */
  readonly unread?: true | undefined;
};

declare const granted: unique symbol;

/** Permission for one kind of crossing between two ends. Only `policy` creates one, and it stays in this folder. */
export type Grant = {
  readonly [granted]: true;
  readonly name: string;
  readonly kind: CrossingKind;
  readonly from: CrossingEnd;
  readonly to: CrossingEnd;
  readonly refuses?: readonly Label[];
};

/** The grant for this kind between these ends; null if there is none. */
export const policy = (kind: CrossingKind, ends: Ends, conditions: Conditions): Grant | null => {
  const name = grantName(kind, ends, conditions);
  return name === null ? null : ({ name, kind, from: endOf(ends.from), to: endOf(ends.to) } as Grant);
};

const endOf = (party: Party | 'outside'): CrossingEnd => (party === 'outside' ? party : party.cell);

/** The ledger records this name. */
const grantName = (kind: CrossingKind, { from, to }: Ends, { withdrawn, topic, unread }: Conditions): string | null => {
  if (from === to) return null;
  const has = ({ agent }: Party, name: GrantName): boolean =>
    defines(agent.definition, name) && !withdrawn(agent.name).includes(name);
  switch (kind) {
    case 'goal':
    case 'share':
      if (to === 'outside' || endOf(from) !== to.requestedBy) return null;
      // The caller's own instructions, to the agent that it calls.
      if (kind === 'share' && from === 'outside' && to.parent === null)
        return withdrawn(to.agent.name).includes(kind) ? null : kind;
      return /* probe: policy-down */ has(to, kind) ? kind : null;
    case 'attachment':
      // It is part of the request, so whoever may give the goal may attach files to it; to the root only.
      if (from !== 'outside' || to === 'outside' || to.parent !== null) return null;
      return has(to, 'goal') ? kind : null;
    case 'answer':
      // The run crosses one only for a question that the cell asked, from somebody who may answer it.
      return from === 'outside' && to !== 'outside' ? kind : null;
    case 'tools':
      // More of what the run was started with: tools of its client.
      if (from !== 'outside' || to === 'outside' || to.parent !== null) return null;
      return to.agent.definition.client === undefined ? null : kind;
    case 'result':
      if (from === 'outside' || endOf(to) !== (from.parent ?? 'outside')) return null;
      return /* probe: policy-result */ has(from, kind) ? kind : null;
    case 'note':
      if (from === 'outside' || to === 'outside' || withdrawn(from.agent.name).includes(kind)) return null;
      // Whoever may write to a cell is told that it did not read the message.
      return (to.cell === from.parent && has(from, kind)) || (unread === true && mayMessage(from, to)) ? kind : null;
    case 'history':
    case 'file':
      // The caller grants them: they are the caller's own.
      if (from !== 'outside' || to === 'outside' || to.parent !== null) return null;
      return kind === 'history' && withdrawn(to.agent.name).includes(kind) ? null : kind;
    case 'dependency':
      if (from === 'outside' || to === 'outside' || !isTeamOf(from, to)) return null;
      return to.part?.part === 'task' ? to.part.scope : 'all';
    case 'message':
    case 'broadcast':
      if (kind === 'broadcast' && !isOnTopic(from, to, topic)) return null;
      // What a root may not answer, it may not send either. A child may always answer a person.
      if (to === 'outside') return from !== 'outside' && (from.parent !== null || has(from, 'result')) ? kind : null;
      if (from === 'outside') return hasMailbox(to) ? kind : null;
      if (kind === 'broadcast') return hasMailbox(to) && !areTeammates(from, to) ? kind : null;
      return mayMessage(from, to) || isTeamOf(from, to) ? kind : null;
    default:
      return kind satisfies never;
  }
};

const defines = ({ grants, share = [] }: AgentDefinition, name: GrantName): boolean =>
  name === 'share' ? share.length > 0 : grants.includes(name);

const hasMailbox = ({ spawned, agent }: Party): boolean => spawned || agent.definition.messages !== undefined;

const isOnTopic = (from: Party | 'outside', to: Party | 'outside', topic: string | undefined): boolean =>
  topic !== undefined &&
  (from === 'outside' || from.agent.definition.topics?.say.includes(topic) === true) &&
  (to === 'outside' || to.agent.definition.topics?.hear.includes(topic) === true);

const isTeamOf = (team: Party, { parent, part }: Party): boolean =>
  part !== null && parent === team.cell && team.agent.definition.team !== undefined;

const mayMessage = (from: Party, to: Party): boolean =>
  hasMailbox(from) && hasMailbox(to) && !areTeammates(from, to) && mayWrite(correspondent(from), correspondent(to));

/** Of a party, what decides whom it may write to. */
type Correspondent = {
  readonly cell: CellId;
  readonly parent: CellId | null;
  readonly agent: string;
  /** Whom it may exchange messages with. */
  readonly messages: readonly string[];
};

const correspondent = ({ cell, parent, agent }: Party): Correspondent => ({
  cell,
  parent,
  agent: agent.name,
  messages: agent.definition.messages ?? messagesDefault,
});

/** Members of a team write to each other through it, or not at all; on topics neither. */
export const areTeammates = (one: Pick<Party, 'parent' | 'part'>, other: Pick<Party, 'parent' | 'part'>): boolean =>
  one.part !== null && other.part !== null && one.parent === other.parent;

/** Each must name the other. */
export const mayWrite = (one: Correspondent, other: Correspondent): boolean =>
  // probe: policy-may-write
  one.cell !== other.cell && lists(one, other) && lists(other, one);

const lists = ({ cell, parent, messages }: Correspondent, other: Correspondent): boolean =>
  messages.some(
    (name) =>
      (name === 'parent' && other.cell === parent) ||
      (name === 'children' && other.parent === cell) ||
      (name === 'siblings' && other.parent === parent && parent !== null) ||
      (name === other.agent && !roles.includes(name)),
  );

/** Of a spawned agent whose definition does not say. */
export const messagesDefault: readonly string[] = ['parent', 'children'];

/** Reserved: no agent can have one of these names. */
const roles: readonly string[] = ['parent', 'children', 'siblings'];
