// Conversations, checkpoints and what saves them, over one store.
import type { RunId } from '#base';
import type { Agent, Checkpoints, Clock, Conversations, Ids, Store } from '#contracts';
import { Autosave } from './autosave.ts';
import { beginTurn } from './begin-turn.ts';
import type { AskedTurn, BegunTurn } from './begin-turn.ts';
import { EntryReader } from './entry-reader.ts';
import { checkMayResume } from './history-for.ts';
import { readBook } from './keeping.ts';
import type { GoingOn, Keeping } from './keeping.ts';
import { keptDefault } from './kept-with.ts';
import type { KeptWith } from './kept-with.ts';
import { LocalCheckpoints } from './local-checkpoints.ts';
import { LocalConversations } from './local-conversations.ts';
import { checkIdle } from './running.ts';

export type KeeperPorts = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly kept: KeptWith | undefined;
  readonly goingOn: GoingOn;
  agent(name: string): Agent | undefined;
  agentNames(): readonly string[];
  checkAgent(name: string): void;
  redact(text: string): string;
  durable(run: RunId): Promise<void>;
};

export class Keeper {
  readonly conversations: Conversations;
  readonly checkpoints: Checkpoints;
  readonly autosave: Autosave;
  readonly #keeping: Keeping;

  constructor({ kept = keptDefault, goingOn, ...ports }: KeeperPorts) {
    const { autosaveMs, ...how } = kept;
    const settled = (): Promise<void> => this.autosave.settled();
    this.#keeping = { ...ports, ...how, reader: new EntryReader(ports.store), settled };
    const checkpoints = new LocalCheckpoints(this.#keeping, goingOn);
    this.checkpoints = checkpoints;
    const conversations = new LocalConversations(this.#keeping);
    this.conversations = conversations;
    this.autosave = new Autosave({
      clock: ports.clock,
      everyMs: autosaveMs,
      save: async (run) => {
        await checkpoints.save(run);
        await conversations.saveOf(run);
      },
    });
  }

  beginTurn(asked: AskedTurn): Promise<BegunTurn> {
    return beginTurn(asked, this.#keeping);
  }

  /** Whether a run that is taken up again is one of a conversation. Throws why its agent may not go on in it now. */
  async checkResumed(run: RunId): Promise<boolean> {
    const { store } = this.#keeping;
    for (const conversation of (await readBook(store)).conversations.values()) {
      const node = conversation.nodes.get(run);
      if (node === undefined) continue;
      checkMayResume(conversation, node, this.#keeping.agent(node.agent));
      await checkIdle(store, conversation, (one) => one.run !== run && one.agent === node.agent);
      return true;
    }
    return false;
  }
}
