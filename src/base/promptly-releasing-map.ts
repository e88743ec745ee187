// A Map for thousands of short-lived entries.
//
// When a Map grows or shrinks, it allocates a new hash table. V8 keeps the old tables and their values until the next full garbage
// collection, so a large value would stay in memory long after it was deleted. Each value therefore sits in a holder object that is
// emptied when the entry is deleted.

type ValueHolder<V> = { value: V | undefined };

export class PromptlyReleasingMap<K, V extends object> {
  readonly #holders = new Map<K, ValueHolder<V>>();

  get size(): number {
    return this.#holders.size;
  }

  get(key: K): V | undefined {
    return this.#holders.get(key)?.value;
  }

  set(key: K, value: V): void {
    this.delete(key);
    this.#holders.set(key, { value });
  }

  delete(key: K): void {
    const holder = this.#holders.get(key);
    if (holder === undefined) return;
    holder.value = undefined;
    this.#holders.delete(key);
  }

  /** A snapshot, in insertion order. */
  entries(): readonly (readonly [K, V])[] {
    return [...this.#holders].map(([key, { value }]) => [key, value!]);
  }

  values(): readonly V[] {
    return [...this.#holders.values()].map(({ value }) => value!);
  }
}
