// Conversations, checkpoints and autosave on one store.
import type { RunId } from '#base';
import type { Agent, Checkpoints, Clock, ConversationRef, Conversations, Ids, Store } from '#contracts';
import { Autosave } from './autosave.ts';
import { beginTurn } from './begin-turn.ts';
import type { TurnRequest, StartedTurn } from './begin-turn.ts';
import { EntryReader } from './entry-reader.ts';
import { checkMayResumeRun } from './build-history.ts';
import { readWorkspaceState } from './conversation-ports.ts';
import type { ContinueRun, ConversationPorts } from './conversation-ports.ts';
import { defaultConversationSettings } from './conversation-settings.ts';
import type { ConversationSettings } from './conversation-settings.ts';
import { LocalCheckpoints } from './local-checkpoints.ts';
import { LocalConversations } from './local-conversations.ts';
import { RunCopies } from './run-copies.ts';
import { checkIdle, runStates } from './active-runs.ts';
import { listTurns } from './entries.ts';
import { conversationKey } from './workspace-state.ts';

type ConversationServicePorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly settings: ConversationSettings | undefined;
  readonly continueRun: ContinueRun;
  agent(name: string): Agent | undefined;
  agentNames(): readonly string[];
  checkAgent(name: string): void;
  redact(text: string): string;
  durable(run: RunId): Promise<void>;
};

export class ConversationService {
  readonly conversations: Conversations;
  readonly checkpoints: Checkpoints;
  readonly autosave: Autosave;
  /** What conversations and checkpoints hold of runs. */
  readonly copies: RunCopies;
  readonly #ports: ConversationPorts;

  constructor({ settings = defaultConversationSettings, continueRun, ...ports }: ConversationServicePorts) {
    const { autosaveMs, ...storage } = settings;
    const settled = (): Promise<void> => this.autosave.settled();
    this.#ports = { ...ports, ...storage, reader: new EntryReader(ports.store), settled };
    const checkpoints = new LocalCheckpoints(this.#ports, continueRun);
    this.checkpoints = checkpoints;
    const conversations = new LocalConversations(this.#ports);
    this.conversations = conversations;
    this.copies = new RunCopies(this.#ports);
    this.autosave = new Autosave({
      clock: ports.clock,
      everyMs: autosaveMs,
      save: async (run) => {
        await checkpoints.save(run);
        await conversations.saveForRun(run);
      },
    });
  }

  beginTurn(request: TurnRequest): Promise<StartedTurn> {
    return beginTurn(request, this.#ports);
  }

  /** The run of the agent's newest turn, if it is a long-lived session that no process runs and that has not ended. */
  async findInterruptedSession(agent: string, conversation: ConversationRef): Promise<RunId | null> {
    const { store } = this.#ports;
    const found = (await readWorkspaceState(store)).conversations.get(conversationKey(conversation));
    const turn = found && listTurns(found).findLast((one) => one.agent === agent);
    if (found === undefined || turn === undefined || turn.frames !== null || found.deletedAt !== null) return null;
    const { run } = turn;
    if ((await runStates(store, [run])).get(run)?.state !== 'interrupted') return null;
    const [first] = await store.read(run);
    return first?.record.type === 'open' && first.record.birth.spawned !== undefined ? run : null;
  }

  /** Whether a resumed run belongs to a conversation. Throws if its agent may not continue in it now. */
  async checkResumed(run: RunId): Promise<boolean> {
    const { store } = this.#ports;
    for (const conversation of (await readWorkspaceState(store)).conversations.values()) {
      const node = conversation.nodes.get(run);
      if (node === undefined) continue;
      checkMayResumeRun(conversation, node, this.#ports.agent(node.agent));
      await checkIdle(store, conversation, (one) => one.run !== run && one.agent === node.agent);
      return true;
    }
    return false;
  }
}
