// The conversations of a workspace, as its book and the logs of its runs have them.
import { CloisterError } from '#base';
import type { RunId } from '#base';
import type { WorkspaceRecord, Conversation, ConversationRef, Conversations } from '#contracts';
import { checkOptionTypes, checkOptions, checkRef } from './check-options.ts';
import { conversationKey } from './workspace-state.ts';
import type { WorkspaceState, ConversationState } from './workspace-state.ts';
import { inWords } from './conversation-names.ts';
import { removeCheckpoints } from './export-checkpoint.ts';
import { exportConversation } from './export-conversation.ts';
import { updateConversationFile } from './update-conversation-file.ts';
import { readWorkspaceLog, retryOnConflict } from './conversation-ports.ts';
import { checkKnown } from './known-agents.ts';
import type { ConversationPorts } from './conversation-ports.ts';
import { RunLocks, openRuns, runStates } from './active-runs.ts';
import { summaryOf } from './conversation-summary.ts';
import { turnsOf } from './turn-chain.ts';

export class LocalConversations implements Conversations {
  readonly #keeping: ConversationPorts;

  constructor(keeping: ConversationPorts) {
    this.#keeping = keeping;
  }

  async list(options: { agent?: string; deleted?: boolean } = {}) {
    checkOptions(options, { agent: 'name', deleted: 'flag' });
    const { agent, deleted = false } = options;
    const { store } = this.#keeping;
    const state = await readWorkspaceLog(store);
    if (agent !== undefined) await checkKnown(agent, state, this.#keeping);
    const states = await runStates(store, [...state.conversations.values()].flatMap(openRuns));
    return [...state.conversations.values()]
      .filter(({ ref, deletedAt }) => (agent === undefined || ref.agent === agent) && (deleted || deletedAt === null))
      .map((one) => summaryOf(one, states))
      .sort((one, other) => other.newestAt - one.newestAt || (one.name < other.name ? -1 : 1));
  }

  async show(ref: ConversationRef): Promise<Conversation> {
    checkRef(ref);
    const { store, reader } = this.#keeping;
    const found = findIn(await readWorkspaceLog(store), ref);
    return { ...summaryOf(found, await runStates(store, openRuns(found))), entries: await reader.entries(found) };
  }

  async export(ref: ConversationRef): Promise<string | null> {
    const { files, defaultAgent } = this.#keeping;
    await this.#keeping.settled();
    const conversation = await this.show(ref);
    if (conversation.deletedAt !== null) throw new CloisterError('conversation_deleted', `${inWords(ref)}.`);
    return files === null ? null : exportConversation(conversation, files, defaultAgent);
  }

  /** Writes the file of the conversation that a run took a turn in, if that is still there. */
  async saveOf(run: RunId): Promise<void> {
    const { store, reader, files, defaultAgent } = this.#keeping;
    if (files === null) return;
    const { conversations } = await readWorkspaceLog(store);
    const found = [...conversations.values()].find(({ nodes, deletedAt }) => nodes.has(run) && deletedAt === null);
    if (found === undefined) return;
    const conversation = {
      ...summaryOf(found, await runStates(store, openRuns(found))),
      entries: await reader.entries(found),
    };
    await exportConversation(conversation, files, defaultAgent);
  }

  async attach(ref: ConversationRef, agent: string): Promise<void> {
    checkOptionTypes('agent', agent, 'name');
    this.#keeping.checkAgent(agent);
    await this.#change(ref, async ({ attached, deletedAt }) => {
      if (deletedAt !== null) throw new CloisterError('conversation_deleted', `${inWords(ref)}.`);
      return agent === ref.agent || attached.includes(agent) ? null : { type: 'attach', conversation: ref, agent };
    });
  }

  async detach(ref: ConversationRef, agent: string): Promise<void> {
    checkOptionTypes('agent', agent, 'name');
    await this.#change(ref, async ({ attached }) => {
      if (attached.includes(agent)) return { type: 'detach', conversation: ref, agent };
      const others = attached.length === 0 ? 'No agent is.' : `Attached: ${attached.join(', ')}.`;
      throw new CloisterError('agent_unknown', `"${agent}" is not attached to ${inWords(ref)}. ${others}`);
    });
  }

  async delete(ref: ConversationRef, options: { force?: boolean } = {}): Promise<void> {
    checkOptions(options, { force: 'flag' });
    const { force = false } = options;
    const held = new RunLocks(this.#keeping.store);
    try {
      await this.#change(ref, async (found, state) => {
        if (found.deletedAt !== null) return null;
        await held.hold(found, () => true);
        const others = referringTo(found, state);
        if (others.length > 0 && !force)
          throw new CloisterError('conversation_shared', `${inWords(ref)}: ${others.join('; ')}.`);
        return { type: 'delete', conversation: ref };
      });
    } finally {
      await held.release();
    }
  }

  async restore(ref: ConversationRef): Promise<void> {
    await this.#change(ref, async ({ deletedAt }) =>
      deletedAt === null ? null : { type: 'undelete', conversation: ref },
    );
  }

  /** The logs of its runs stay as long as the runs themselves; nothing of it is shown as a conversation any more. */
  async purge(ref: ConversationRef): Promise<void> {
    const { files } = this.#keeping;
    await this.#keeping.settled();
    const before = await this.#change(ref, async ({ deletedAt }) => {
      if (deletedAt !== null) return { type: 'purge', conversation: ref };
      throw new CloisterError('conversation_kept', `${inWords(ref)}.`);
    });
    if (files === null) return;
    await removeCheckpoints(
      [...before.checkpoints.values()].filter(
        ({ conversation }) => conversation !== null && conversationKey(conversation) === conversationKey(ref),
      ),
      files,
    );
  }

  /** One page, decided by what the book says; null: nothing is to be changed. Gives what the book said before. */
  async #change(
    ref: ConversationRef,
    decide: (found: ConversationState, state: WorkspaceState) => Promise<WorkspaceRecord | null>,
  ): Promise<WorkspaceState> {
    checkRef(ref);
    const { store } = this.#keeping;
    return retryOnConflict(store, async (state) => {
      const record = await decide(findIn(state, ref), state);
      if (record === null) return state;
      await store.appendRecord(record, state.page);
      await updateConversationFile(ref, this.#keeping);
      return state;
    });
  }
}

const findIn = ({ conversations }: WorkspaceState, ref: ConversationRef): ConversationState => {
  const found = conversations.get(conversationKey(ref));
  if (found !== undefined) return found;
  const own = [...conversations.values()].flatMap((one) => (one.ref.agent === ref.agent ? [`"${one.ref.name}"`] : []));
  const has = own.length === 0 ? 'none' : own.slice(0, 20).join(', ');
  throw new CloisterError('conversation_unknown', `"${ref.name}"; "${ref.agent}" has ${has}.`);
};

/** Who else a deletion concerns, in words. A branch has its own copy of what was said; it is named all the same. */
const referringTo = (found: ConversationState, { conversations }: WorkspaceState): readonly string[] => {
  const { ref, attached, startedAt } = found;
  const spoke = turnsOf(found).map(({ agent }) => agent);
  const others = [...new Set(spoke)].filter((agent) => agent !== ref.agent && !attached.includes(agent));
  const branches = [...conversations.values()].flatMap(({ ref: one, branched, deletedAt, startedAt: at }) =>
    // One of an earlier conversation of that name, purged since, is none of this.
    deletedAt === null &&
    at >= startedAt &&
    branched?.origin &&
    conversationKey(branched.origin) === conversationKey(ref)
      ? [inWords(one)]
      : [],
  );
  return [
    ...(attached.length === 0 ? [] : [`attached: ${attached.join(', ')}`]),
    ...(others.length === 0 ? [] : [`took turns: ${others.join(', ')}`]),
    ...(branches.length === 0 ? [] : [`branches: ${branches.join(', ')}`]),
  ];
};
