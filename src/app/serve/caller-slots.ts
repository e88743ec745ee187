// Slots of callers whose token limits how many runs they may have, on all servers of a workspace together.
//
//   slots-over-servers. Such a run holds a slot of this server and one of its caller's, which all servers count. If its caller has none
//       left, it waits in the queue of this server, and looks again and again whether another server has released one.
import type { Clock } from '#contracts';
import type { CallerClaims, ReleaseClaim } from './caller-claims.ts';
import type { ReleaseSlot, SlotQueue, SlotRequest } from './slot-queue.ts';

/** `sharedMax`: how many slots the caller may have on all servers. */
type CallerSlotRequest = SlotRequest & { readonly sharedMax?: number | undefined };

export class CallerSlots {
  readonly #queue: SlotQueue;
  readonly #claims: Pick<CallerClaims, 'claim'>;
  readonly #clock: Pick<Clock, 'timer'>;

  constructor(queue: SlotQueue, claims: Pick<CallerClaims, 'claim'>, clock: Pick<Clock, 'timer'>) {
    this.#queue = queue;
    this.#claims = claims;
    this.#clock = clock;
  }

  /** Like `SlotQueue.acquire`. */
  acquire(request: CallerSlotRequest, signal?: AbortSignal, isAdmitted = false): ReleaseSlot | Promise<ReleaseSlot> {
    const acquired = this.#queue.acquire(request, signal, isAdmitted);
    return request.sharedMax === undefined
      ? acquired
      : this.#acquireShared(request, request.sharedMax, acquired, signal);
  }

  /** Immediately, beyond the limits if necessary. */
  reacquire(request: CallerSlotRequest): ReleaseSlot {
    const release = this.#queue.reacquire(request);
    if (request.sharedMax === undefined) return release;
    const claimed = this.#claims.claim(request.caller, () => 'slot').catch(() => null);
    return () => {
      void claimed.then((releaseClaim) => releaseClaim?.());
      release();
    };
  }

  async #acquireShared(
    request: CallerSlotRequest,
    sharedMax: number,
    first: ReleaseSlot | Promise<ReleaseSlot>,
    signal: AbortSignal | undefined,
  ): Promise<ReleaseSlot> {
    const { caller } = request;
    const tryClaim = (): Promise<ReleaseClaim | null> =>
      this.#claims.claim(/* probe: shared-slots-of-caller */ caller, ({ slots }) =>
        slots < sharedMax ? 'slot' : undefined,
      );
    for (let acquired = first; ; acquired = this.#queue.acquireFirst(request, signal)) {
      const release = await acquired;
      try {
        const releaseClaim = await tryClaim();
        if (releaseClaim !== null)
          return () => {
            releaseClaim();
            release();
          };
      } catch (error) {
        release();
        throw error;
      }
      // Others of this server may have the slot meanwhile.
      this.#queue.block(caller);
      release();
      this.#clock.timer(lookMs, () => this.#queue.unblock(caller));
    }
  }
}

/** How soon a slot that another server has released is noticed. */
const lookMs = 100;
