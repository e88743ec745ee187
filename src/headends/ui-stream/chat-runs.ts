// Which run is the newest of which chat. A front end that comes back for a stream names its chat, and nothing else.
import type { RunId } from '#base';
import type { Caller } from '#contracts';

/** The chats that were used longest ago are forgotten: nothing can be resumed in them then. */
const chatsMax = 10_000;

export class ChatRuns {
  readonly #runs = new Map<string, RunId>();

  note(caller: Caller, agent: string, chat: string, run: RunId): void {
    const key = keyOf(caller, agent, chat);
    this.#runs.delete(key);
    this.#runs.set(key, run);
    const [oldest] = this.#runs.size > chatsMax ? this.#runs.keys() : [];
    if (oldest !== undefined) this.#runs.delete(oldest);
  }

  find(caller: Caller, agent: string, chat: string): RunId | undefined {
    return this.#runs.get(keyOf(caller, agent, chat));
  }
}

const keyOf = ({ name }: Caller, agent: string, chat: string): string => JSON.stringify([name, agent, chat]);
