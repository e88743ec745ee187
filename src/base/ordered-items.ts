// Items in an order, each found by its number. To add one or to replace a range takes time in proportion to what is added and
// removed, however many items there are.

type Place<T> = { readonly id: number; readonly item: T; previous: Place<T> | undefined; next: Place<T> | undefined };

export class OrderedItems<T> {
  readonly #places = new Map<number, Place<T>>();
  #first: Place<T> | undefined;
  #last: Place<T> | undefined;

  get size(): number {
    return this.#places.size;
  }

  get(id: number): T | undefined {
    return this.#places.get(id)?.item;
  }

  /** Adds an item at the end, or after the item with the number `after`. A number that is taken stays where it is. */
  add(id: number, item: T, after?: number): void {
    if (this.#places.has(id)) return;
    this.#insert(id, item, after === undefined ? this.#last : (this.#places.get(after) ?? this.#last));
  }

  /** Removes the items from `first` to `last` and returns them; undefined if they are not a range of this order. */
  removeRange(first: number, last: number): readonly T[] | undefined {
    const range = this.#range(first, last);
    return range?.map((place) => this.#remove(place));
  }

  /** Puts an item in the place of those from `first` to `last`, and returns these; undefined if they are not a range of this order. */
  replaceRange(first: number, last: number, [id, item]: readonly [id: number, item: T]): readonly T[] | undefined {
    const range = this.#range(first, last);
    if (range === undefined) return undefined;
    const before = range[0]!.previous;
    const removed = range.map((place) => this.#remove(place));
    if (!this.#places.has(id)) this.#insert(id, item, before);
    return removed;
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (let place = this.#first; place !== undefined; place = place.next) yield place.item;
  }

  #range(first: number, last: number): readonly Place<T>[] | undefined {
    const end = this.#places.get(last);
    if (end === undefined) return undefined;
    const range: Place<T>[] = [];
    for (let place = this.#places.get(first); place !== undefined; place = place.next) {
      range.push(place);
      if (place === end) return range;
    }
    return undefined;
  }

  /** At the beginning if there is none before it. */
  #insert(id: number, item: T, previous: Place<T> | undefined): void {
    const next = previous === undefined ? this.#first : previous.next;
    const place: Place<T> = { id, item, previous, next };
    this.#places.set(id, place);
    if (previous === undefined) this.#first = place;
    else previous.next = place;
    if (next === undefined) this.#last = place;
    else next.previous = place;
  }

  #remove({ id, item, previous, next }: Place<T>): T {
    this.#places.delete(id);
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    return item;
  }
}
