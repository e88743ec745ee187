// A map of what is numbered as it comes, and of which the older part may be released.
//
//   releasing-map-never-guesses. It no longer knows which numbers it had up to the highest one that was released, so it calls
//       `onReleased` when somebody needs one of those.

/** `onReleased` is called when somebody needs what was released, and does not return. */
export class ReleasingMap<V> extends Map<number, V> {
  readonly #onReleased: () => never;
  #count = 0;
  #lowest = 0;
  #highest = -1;

  constructor(onReleased: () => never) {
    super();
    this.#onReleased = onReleased;
  }

  /** How many it ever had. */
  override get size(): number {
    return super.size + this.#count;
  }

  override get(no: number): V | undefined {
    const found = super.get(no);
    if (found === undefined && this.#mayBeReleased(no)) this.#onReleased();
    return found;
  }

  override has(no: number): boolean {
    if (super.has(no)) return true;
    if (this.#mayBeReleased(no)) this.#onReleased();
    return false;
  }

  override set(no: number, value: V): this {
    if (!super.has(no) && this.#mayBeReleased(no)) this.#onReleased();
    return super.set(no, value);
  }

  /** Releases what has this number, if it is over. */
  release(no: number, isOver: (value: V) => boolean): void {
    const value = super.get(no);
    if (value === undefined || !isOver(value)) return;
    super.delete(no);
    this.#count++;
    this.#lowest = Math.min(this.#lowest, no);
    this.#highest = Math.max(this.#highest, no);
  }

  #mayBeReleased(no: number): boolean {
    return no <= this.#highest && no >= this.#lowest;
  }
}
