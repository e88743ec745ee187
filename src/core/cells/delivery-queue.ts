// What waits to be handed to the cells of a run. No session is woken inside the call of another: the call returns first, and then
// everyone is served, in the order of the frames that concern them.
type Servable = { serve(): void };

export class DeliveryQueue {
  #waiting: Servable[] = [];

  /** One promise for all that is added before it is their turn. */
  add(one: Servable): void {
    if (this.#waiting.push(one) === 1) void Promise.resolve().then(() => this.drain());
  }

  /** Serves everyone, including those who are added meanwhile. For what happens outside of all sessions. */
  drain(): void {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      for (const one of batch) one.serve();
    }
  }
}
