// Runs that continue from the log of another one of their caller: resumed, forked, or tried again.
import type { Caller, CallerRun, ForkRequest, ServedRun } from '#contracts';
import { checkMayFork, continuedRequest, planFork, planResume, retryTurn } from './start-run.ts';
import type { StartRun } from './start-run.ts';
import type { TokenRegistry } from './token-registry.ts';

type ContinuationPorts = {
  readonly tokens: Pick<TokenRegistry, 'actingEntry' | 'entry'>;
  /** Rejects with `run_unknown`. */
  readonly find: (caller: Caller, run: string) => Promise<CallerRun>;
  readonly start: StartRun;
};

export class CallerContinuations {
  readonly #ports: ContinuationPorts;

  constructor(ports: ContinuationPorts) {
    this.#ports = ports;
  }

  /**
   * In whose name, slots and allowance a run continues: those of the caller that it belongs to, also if the operator asks for it. Whoever
   * follows it then is shown what that caller is shown.
   */
  actorFor(caller: Caller, { summary: { caller: owner } }: Pick<CallerRun, 'summary'>): Caller {
    const isOwn = owner === null || owner === caller.name;
    return isOwn || this.#ports.tokens.entry({ name: owner }) === undefined ? caller : { name: owner };
  }

  async resume(caller: Caller, run: string, signal?: AbortSignal, detached = false): Promise<ServedRun> {
    this.#ports.tokens.actingEntry(caller);
    const found = await this.#ports.find(caller, run);
    const { request, ...kind } = planResume(found);
    return this.#ports.start(this.actorFor(caller, found), request, signal, { ...kind, detached });
  }

  async fork(caller: Caller, run: string, fork: ForkRequest, signal?: AbortSignal): Promise<ServedRun> {
    const entry = this.#ports.tokens.actingEntry(caller);
    checkMayFork(caller, fork);
    const { request, ...kind } = await planFork(await this.#ports.find(caller, run), fork, entry);
    return this.#ports.start(caller, request, signal, kind);
  }

  async retry(caller: Caller, run: string, signal?: AbortSignal): Promise<ServedRun> {
    this.#ports.tokens.actingEntry(caller);
    const found = await this.#ports.find(caller, run);
    if ((await found.conversation()) === null) {
      const [root] = (await found.report()).cells;
      return this.fork(caller, run, { at: root?.cell ?? '' }, signal);
    }
    const actor = this.actorFor(caller, found);
    // What its caller may use, whoever asks for it: it is that caller's slot and allowance.
    const { budget: budgetMax = {} } = this.#ports.tokens.actingEntry(actor);
    return this.#ports.start(actor, continuedRequest(found), signal, { resume: retryTurn(found, budgetMax) });
  }
}
