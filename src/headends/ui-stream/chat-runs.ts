// Which run is the newest of which chat. A front end that comes back for a stream names its chat, and nothing else.
//
//   chats-of-caller. What one caller does makes nobody else's chats forgotten, and the chats of a caller take a limited amount of memory.
import type { RunId } from '#base';
import type { Caller } from '#contracts';

/** The chats of a caller that were used longest ago are forgotten: nothing can be resumed in them then. */
const chatsMax = 10_000;

/** No front end needs longer ids. */
export const chatIdCharsMax = 256;

export class ChatRuns {
  /** By the name of the caller. */
  readonly #runs = new Map<string, Map<string, RunId>>();

  note({ name }: Caller, agent: string, chat: string, run: RunId): void {
    const own = this.#runs.get(name) ?? new Map<string, RunId>();
    this.#runs.set(name, own);
    const key = keyOf(agent, chat);
    own.delete(key);
    own.set(key, run);
    const [oldest] = own.size > chatsMax ? own.keys() : [];
    if (oldest !== undefined) own.delete(oldest);
  }

  find({ name }: Caller, agent: string, chat: string): RunId | undefined {
    // probe: chat-of-caller
    return this.#runs.get(name)?.get(keyOf(agent, chat));
  }
}

const keyOf = (agent: string, chat: string): string => JSON.stringify([agent, chat]);
