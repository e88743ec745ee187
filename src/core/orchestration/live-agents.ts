// The live agents of a run, as somebody outside sees them and names them.
import { CloisterError } from '#base';
import type { CellId } from '#base';
import type { LiveAgent } from '#contracts';
import { sessionHandle } from '#core/bus';
import type { LiveCell, LocalRun, Member } from '#core/cells';

/** Every live agent of the run; those that a model called can receive no messages, unless their definition says so. */
export const listAgents = (run: LocalRun): readonly LiveAgent[] => {
  const members = run.usesMail ? [...run.mail.directory.all] : [];
  const known = new Set(members.map(({ cell }) => cell));
  const called = run.liveCells.filter(({ cellId }) => !known.has(cellId));
  return [...members.map(describeMember), ...called.map(describeCalled)];
};

/** Finds a live agent by its cell, session_id or name; otherwise by the name of its definition. Default: the root. */
export const findLiveAgent = (run: LocalRun, name: string = run.root.cellId): CellId => {
  const agents = listAgents(run);
  const found = matching(agents, name);
  if (found.length === 1) return found[0]!.cell;
  if (found.length > 1) throw ambiguous(name, found);
  throw new CloisterError('mail_unknown', `No live agent is named ${quote(name)}. Live agents: ${namesOf(agents)}.`);
};

/** Like `findLiveAgent`, among the agents that can receive messages. */
export const findMember = (run: LocalRun, name?: string): Member => {
  const own = name === undefined ? run.mail.directory.get(run.root.cellId) : undefined;
  if (own !== undefined) return own;
  const agents = listAgents(run).filter(({ mailbox }) => mailbox);
  const found = name === undefined ? [] : matching(agents, name);
  if (found.length === 1) return run.mail.directory.get(found[0]!.cell)!;
  if (found.length > 1) throw ambiguous(name!, found);
  const named = name === undefined ? '' : ` named ${quote(name)}`;
  throw new CloisterError('mail_unknown', `No agent${named} can receive messages. Available: ${namesOf(agents)}.`);
};

const matching = (agents: readonly LiveAgent[], name: string): readonly LiveAgent[] => {
  const exact = agents.filter((one) => [one.cell, one.sub_agent_id, one.session_id].includes(name));
  return exact.length > 0 ? exact : agents.filter(({ agent }) => agent === name);
};

/** Agents that were called may have the same name; their session_ids differ. */
const ambiguous = (name: string, found: readonly LiveAgent[]): CloisterError => {
  const names = [...new Set(found.map((one) => one.sub_agent_id))];
  const choices = names.length === found.length ? names : found.map((one) => one.session_id);
  return new CloisterError('mail_ambiguous', `${quote(name)} is ambiguous; use one of: ${choices.join(', ')}.`);
};

const quote = (name: string): string => JSON.stringify(name.slice(0, 80));

const namesOf = (agents: readonly LiveAgent[]): string => agents.map((one) => one.sub_agent_id).join(', ') || 'none';

const describeMember = (member: Member): LiveAgent => ({
  cell: member.cell,
  parent: member.parent,
  agent: member.agent,
  sub_agent_id: member.name,
  session_id: sessionHandle(member.cell),
  workflow_id: member.spawned?.workflow ?? null,
  subscriptions: [...member.subscriptions],
  metadata: member.spawned?.metadata ?? {},
  spawned_at: member.createdAt,
  status: member.mailbox.idle ? 'waiting' : 'running',
  mailbox: true,
});

const describeCalled = ({ cellId: cell, parent, agent: { name }, createdAt }: LiveCell): LiveAgent => ({
  cell,
  parent,
  agent: name,
  sub_agent_id: name,
  session_id: sessionHandle(cell),
  workflow_id: null,
  subscriptions: [],
  metadata: {},
  spawned_at: createdAt,
  status: 'running',
  mailbox: false,
});
