// What callers do with their recorded runs.
//
//   deletion-by-caller. A caller deletes its own runs only, and neither sees nor touches what others have made of them.
import { omitUndefined } from '#base';
import type { RunId } from '#base';
import type { Caller, CallerDeletion, CallerRun, CallerStorage, Cloister } from '#contracts';
import { ownerOf } from './caller-runs.ts';
import type { TokenRegistry } from './token-registry.ts';

type CallerStoragePorts = {
  readonly cloister: Pick<Cloister, 'storage'>;
  readonly tokens: Pick<TokenRegistry, 'actingEntry'>;
  readonly find: (caller: Caller, run: string) => Promise<CallerRun>;
};

export class LocalCallerStorage implements CallerStorage<Caller> {
  readonly #ports: CallerStoragePorts;

  constructor(ports: CallerStoragePorts) {
    this.#ports = ports;
  }

  async delete(caller: Caller, run: string, options: CallerDeletion): Promise<readonly RunId[]> {
    const { cloister, tokens, find } = this.#ports;
    tokens.actingEntry(caller);
    const { summary } = await find(caller, run);
    const { tombstones } = await cloister.storage.delete(
      { runs: [summary.run] },
      { ...omitUndefined({ ...options, caller: ownerOf(caller) }), by: caller.name },
    );
    return tombstones.map((one) => one.run);
  }
}
