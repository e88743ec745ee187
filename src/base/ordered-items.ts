// Items in an order, each found by its number. To add one or to replace a range takes time in proportion to what is added and
// removed, however many items there are.

type ItemNode<T> = {
  readonly id: number;
  readonly item: T;
  previous: ItemNode<T> | undefined;
  next: ItemNode<T> | undefined;
};

export class OrderedItems<T> {
  readonly #nodes = new Map<number, ItemNode<T>>();
  #first: ItemNode<T> | undefined;
  #last: ItemNode<T> | undefined;

  get size(): number {
    return this.#nodes.size;
  }

  get(id: number): T | undefined {
    return this.#nodes.get(id)?.item;
  }

  /** Adds an item at the end, or after the item with the number `after`. A number that is taken stays where it is. */
  add(id: number, item: T, after?: number): void {
    if (this.#nodes.has(id)) return;
    this.#insert(id, item, after === undefined ? this.#last : (this.#nodes.get(after) ?? this.#last));
  }

  /** Removes the items from `first` to `last` and returns them; undefined if they are not a range of this order. */
  removeRange(first: number, last: number): readonly T[] | undefined {
    const range = this.#range(first, last);
    return range?.map((node) => this.#remove(node));
  }

  /** Puts an item in the place of those from `first` to `last`, and returns these; undefined if they are not a range of this order. */
  replaceRange(first: number, last: number, [id, item]: readonly [id: number, item: T]): readonly T[] | undefined {
    const range = this.#range(first, last);
    if (range === undefined) return undefined;
    const before = range[0]!.previous;
    const removed = range.map((node) => this.#remove(node));
    if (!this.#nodes.has(id)) this.#insert(id, item, before);
    return removed;
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (let node = this.#first; node !== undefined; node = node.next) yield node.item;
  }

  #range(first: number, last: number): readonly ItemNode<T>[] | undefined {
    const end = this.#nodes.get(last);
    if (end === undefined) return undefined;
    const range: ItemNode<T>[] = [];
    for (let node = this.#nodes.get(first); node !== undefined; node = node.next) {
      range.push(node);
      if (node === end) return range;
    }
    return undefined;
  }

  /** At the beginning if there is none before it. */
  #insert(id: number, item: T, previous: ItemNode<T> | undefined): void {
    const next = previous === undefined ? this.#first : previous.next;
    const node: ItemNode<T> = { id, item, previous, next };
    this.#nodes.set(id, node);
    if (previous === undefined) this.#first = node;
    else previous.next = node;
    if (next === undefined) this.#last = node;
    else next.previous = node;
  }

  #remove({ id, item, previous, next }: ItemNode<T>): T {
    this.#nodes.delete(id);
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    return item;
  }
}
