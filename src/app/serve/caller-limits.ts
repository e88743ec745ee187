// What callers may use at the same time, and in a period.
import type { TokenEntry } from '#contracts';
import { Allowances } from './allowances.ts';
import { CallerClaims } from './caller-claims.ts';
import { CallerSlots } from './caller-slots.ts';
import type { AgentServicePorts } from './service-ports.ts';
import { createRunSlot } from './slot-queue.ts';
import type { RunSlot } from './slot-queue.ts';

export class CallerLimits {
  readonly allowances: Allowances;
  readonly #claims: CallerClaims;
  readonly #slots: CallerSlots;
  readonly #callerMax: number;

  constructor({ cloister, clock, slots, runningPerCaller = Infinity }: AgentServicePorts) {
    this.#claims = new CallerClaims(cloister.shared, clock);
    this.#slots = new CallerSlots(slots, this.#claims, clock);
    this.#callerMax = runningPerCaller;
    this.allowances = new Allowances(
      () => clock.now(),
      (caller, since) => cloister.runs({ caller, since }),
      this.#claims,
    );
  }

  /** Waits for the slot of a run. Throws and rejects like `SlotQueue.acquire`. */
  acquireSlot(caller: string, agent: string, entry: TokenEntry, signal?: AbortSignal): RunSlot | Promise<RunSlot> {
    const request = { agent, caller, callerMax: entry.running ?? this.#callerMax, sharedMax: entry.running };
    const acquired = this.#slots.acquire(request, signal);
    return acquired instanceof Promise
      ? acquired.then((release) => createRunSlot(this.#slots, request, release))
      : createRunSlot(this.#slots, request, acquired);
  }

  /** Resolves when other servers can see what was released so far. */
  idle(): Promise<void> {
    return this.#claims.idle();
  }
}
