// A Map for what comes and goes by the thousand.
//
// A Map that grows full makes itself a new table, and V8 keeps the old ones, with all that was in them, until the next full collection.
// What is large would get old that way, although it was taken out long ago. So each value is in a box, which is emptied when it goes.

type Box<V> = { value: V | undefined };

export class PromptlyReleasingMap<K, V extends object> {
  readonly #boxes = new Map<K, Box<V>>();

  get size(): number {
    return this.#boxes.size;
  }

  get(key: K): V | undefined {
    return this.#boxes.get(key)?.value;
  }

  set(key: K, value: V): void {
    this.delete(key);
    this.#boxes.set(key, { value });
  }

  delete(key: K): void {
    const box = this.#boxes.get(key);
    if (box === undefined) return;
    box.value = undefined;
    this.#boxes.delete(key);
  }

  /** In the order in which they came, as they are now. */
  entries(): readonly (readonly [K, V])[] {
    return [...this.#boxes].map(([key, { value }]) => [key, value!]);
  }

  values(): readonly V[] {
    return [...this.#boxes.values()].map(({ value }) => value!);
  }
}
