// The conversations of a workspace, from its workspace log and the logs of its runs.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import { checkOptionType, checkOptions, openObject, string } from '#base/shapes';
import type {
  WorkspaceRecord,
  Conversation,
  ConversationRef,
  Conversations,
  ConversationTurn,
  ConversationTurns,
} from '#contracts';
import { conversationKey } from './workspace-state.ts';
import type { WorkspaceState, ConversationState } from './workspace-state.ts';
import { describeConversation } from './conversation-names.ts';
import { checkAgentKnown, readWorkspaceState, retryOnConflict } from './conversation-ports.ts';
import { removeCheckpoints } from './export-checkpoint.ts';
import { exportConversation, conversationSummary, updateConversationFile } from './export-conversation.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { RunLocks, unfinishedRuns, runStates } from './active-runs.ts';
import { listTurns } from './entries.ts';
import type { TurnNode } from './entries.ts';

const refShape = { ...openObject({ agent: string(), name: string() }), expected: 'a conversation as { agent, name }' };

export class LocalConversations implements Conversations {
  readonly #ports: ConversationPorts;

  constructor(ports: ConversationPorts) {
    this.#ports = ports;
  }

  async list(options: { agent?: string; deleted?: boolean } = {}) {
    checkOptions(options, { agent: 'name', deleted: 'flag' });
    const { agent, deleted = false } = options;
    const { store } = this.#ports;
    const state = await readWorkspaceState(store);
    if (agent !== undefined) await checkAgentKnown(agent, state, this.#ports);
    const states = await runStates(store, [...state.conversations.values()].flatMap(unfinishedRuns));
    return [...state.conversations.values()]
      .filter(({ ref, deletedAt }) => (agent === undefined || ref.agent === agent) && (deleted || deletedAt === null))
      .map((one) => conversationSummary(one, states))
      .sort((one, other) => other.newestAt - one.newestAt || (one.name < other.name ? -1 : 1));
  }

  async turns(): Promise<readonly ConversationTurns[]> {
    const { conversations } = await readWorkspaceState(this.#ports.store);
    return [...conversations.values()].flatMap((one) =>
      one.deletedAt === null ? [{ ...one.ref, turns: turnsWithVersions(one) }] : [],
    );
  }

  async show(ref: ConversationRef): Promise<Conversation> {
    checkOptionType('conversation', ref, refShape);
    const { store, reader } = this.#ports;
    const found = findConversation(await readWorkspaceState(store), ref);
    return {
      ...conversationSummary(found, await runStates(store, unfinishedRuns(found))),
      entries: await reader.publicEntries(found),
    };
  }

  async export(ref: ConversationRef): Promise<string | null> {
    const { files, defaultAgent } = this.#ports;
    await this.#ports.settled();
    const conversation = await this.show(ref);
    if (conversation.deletedAt !== null)
      throw new CloisterError('conversation_deleted', `${describeConversation(ref)}.`);
    return files === null ? null : exportConversation(conversation, files, defaultAgent);
  }

  /** Writes the file of the conversation that a run belongs to, if it still exists. */
  async saveForRun(run: RunId): Promise<void> {
    const { store, reader, files, defaultAgent } = this.#ports;
    if (files === null) return;
    const { conversations } = await readWorkspaceState(store);
    const found = [...conversations.values()].find(({ nodes, deletedAt }) => nodes.has(run) && deletedAt === null);
    if (found === undefined) return;
    const conversation = {
      ...conversationSummary(found, await runStates(store, unfinishedRuns(found))),
      entries: await reader.publicEntries(found),
    };
    await exportConversation(conversation, files, defaultAgent);
  }

  async attach(ref: ConversationRef, agent: string): Promise<void> {
    checkOptionType('agent', agent, 'name');
    this.#ports.checkAgent(agent);
    await this.#change(ref, async ({ attached, deletedAt }) => {
      if (deletedAt !== null) throw new CloisterError('conversation_deleted', `${describeConversation(ref)}.`);
      return agent === ref.agent || attached.includes(agent) ? null : { type: 'attach', conversation: ref, agent };
    });
  }

  async detach(ref: ConversationRef, agent: string): Promise<void> {
    checkOptionType('agent', agent, 'name');
    await this.#change(ref, async ({ attached }) => {
      if (attached.includes(agent)) return { type: 'detach', conversation: ref, agent };
      const others = attached.length === 0 ? 'No agent is attached.' : `Attached: ${attached.join(', ')}.`;
      throw new CloisterError('agent_unknown', `"${agent}" is not attached to ${describeConversation(ref)}. ${others}`);
    });
  }

  async delete(ref: ConversationRef, options: { force?: boolean } = {}): Promise<void> {
    checkOptions(options, { force: 'flag' });
    const { force = false } = options;
    const locks = new RunLocks(this.#ports.store);
    try {
      await this.#change(ref, async (found, state) => {
        if (found.deletedAt !== null) return null;
        await locks.acquire(found, () => true);
        const others = describeReferences(found, state);
        if (others.length > 0 && !force)
          throw new CloisterError('conversation_shared', `${describeConversation(ref)}: ${others.join('; ')}.`);
        return { type: 'delete', conversation: ref };
      });
    } finally {
      await locks.release();
    }
  }

  async restore(ref: ConversationRef): Promise<void> {
    await this.#change(ref, async ({ deletedAt }) =>
      deletedAt === null ? null : { type: 'undelete', conversation: ref },
    );
  }

  /** Keeps the logs of its runs; only the conversation is gone. */
  async purge(ref: ConversationRef): Promise<void> {
    const { files } = this.#ports;
    await this.#ports.settled();
    const before = await this.#change(ref, async ({ deletedAt }) => {
      if (deletedAt !== null) return { type: 'purge', conversation: ref };
      throw new CloisterError('conversation_kept', `${describeConversation(ref)}.`);
    });
    if (files === null) return;
    await removeCheckpoints(
      [...before.checkpoints.values()].filter(
        ({ conversation }) => conversation !== null && conversationKey(conversation) === conversationKey(ref),
      ),
      files,
    );
  }

  /** Appends one record, decided on the current state; null: no change. Returns the state before the change. */
  async #change(
    ref: ConversationRef,
    decide: (found: ConversationState, state: WorkspaceState) => Promise<WorkspaceRecord | null>,
  ): Promise<WorkspaceState> {
    checkOptionType('conversation', ref, refShape);
    const { store } = this.#ports;
    return retryOnConflict(store, async (state) => {
      const record = await decide(findConversation(state, ref), state);
      if (record === null) return state;
      await store.appendRecord(record, state.lastEntryNo);
      await updateConversationFile(ref, this.#ports);
      return state;
    });
  }
}

/** Runs that continue from a cut of the same run, directly or not, are versions of one turn. */
const turnsWithVersions = (found: ConversationState): readonly ConversationTurn[] => {
  const firstOf = (node: TurnNode): RunId => {
    const before = node.from === null ? undefined : found.nodes.get(node.from.run);
    return before === undefined ? node.run : firstOf(before);
  };
  const byFirst = Map.groupBy(found.nodes.values(), firstOf);
  return listTurns(found).map((node) => ({
    run: node.run,
    agent: node.agent,
    at: node.at,
    versions: (byFirst.get(firstOf(found.nodes.get(node.run) ?? node)) ?? [node]).map(({ run }) => run),
  }));
};

const findConversation = ({ conversations }: WorkspaceState, ref: ConversationRef): ConversationState => {
  const found = conversations.get(conversationKey(ref));
  if (found !== undefined) return found;
  const own = [...conversations.values()].flatMap((one) => (one.ref.agent === ref.agent ? [`"${one.ref.name}"`] : []));
  const has = own.length === 0 ? 'none' : own.slice(0, 20).join(', ');
  throw new CloisterError('conversation_unknown', `"${ref.name}"; "${ref.agent}" has ${has}.`);
};

/** Describes who else a deletion affects. Branches are listed although they have their own copy of the entries. */
const describeReferences = (found: ConversationState, { conversations }: WorkspaceState): readonly string[] => {
  const { ref, attached, startedAt } = found;
  const speakers = listTurns(found).map(({ agent }) => agent);
  const others = [...new Set(speakers)].filter((agent) => agent !== ref.agent && !attached.includes(agent));
  const branches = [...conversations.values()].flatMap(({ ref: one, branched, deletedAt, startedAt: at }) =>
    // An older branch comes from an earlier conversation of the same name that was purged.
    deletedAt === null &&
    at >= startedAt &&
    branched?.origin &&
    conversationKey(branched.origin) === conversationKey(ref)
      ? [describeConversation(one)]
      : [],
  );
  return [
    ...(attached.length === 0 ? [] : [`attached: ${attached.join(', ')}`]),
    ...(others.length === 0 ? [] : [`took turns: ${others.join(', ')}`]),
    ...(branches.length === 0 ? [] : [`branches: ${branches.join(', ')}`]),
  ];
};
