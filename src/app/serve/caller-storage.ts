// What callers do with their recorded runs.
//
//   deletion-by-caller. A caller deletes its own runs only, and neither sees nor touches what others have made of them.
//   storage-of-operators. Archives, and everything of a caller, are for operators; for anybody else there is no such thing.
//   deletion-keeps-allowance. What counts for the caller's allowance now stays: the sum is read from the runs.
import { CloisterError, omitUndefined } from '#base';
import type { RunId } from '#base';
import { callerPrefix } from '#contracts';
import type { Caller, CallerDeletion, CallerRun, CallerStorage, Cloister, OperatorStorage } from '#contracts';
import type { Allowances } from './allowances.ts';
import { ownerOf } from './caller-runs.ts';
import type { TokenRegistry } from './token-registry.ts';

type CallerStoragePorts = {
  readonly cloister: Pick<Cloister, 'storage'>;
  readonly tokens: Pick<TokenRegistry, 'actingEntry' | 'requireEntry'>;
  readonly allowances: Pick<Allowances, 'period'>;
  readonly find: (caller: Caller, run: string) => Promise<CallerRun>;
};

export class LocalCallerStorage implements CallerStorage<Caller> {
  readonly #ports: CallerStoragePorts;

  constructor(ports: CallerStoragePorts) {
    this.#ports = ports;
  }

  async delete(caller: Caller, run: string, options: CallerDeletion): Promise<readonly RunId[]> {
    const { cloister, tokens, allowances, find } = this.#ports;
    const period = allowances.period(tokens.actingEntry(caller));
    const { summary } = await find(caller, run);
    const remove = (more: { readonly dryRun: boolean }) =>
      cloister.storage.delete(
        { runs: [summary.run] },
        { ...omitUndefined({ ...options, caller: ownerOf(caller) }), by: caller.name, ...more },
      );
    if (period !== null) {
      const { tombstones } = await remove({ dryRun: true });
      const counted = tombstones.find(({ startedAt }) => (startedAt ?? Infinity) >= period.since);
      if (counted !== undefined)
        throw new CloisterError(
          'run_kept',
          `Run ${counted.run} counts for your allowance until ${dateText(period.until)}.`,
        );
    }
    const { tombstones } = await remove({ dryRun: false });
    return tombstones.map((one) => one.run);
  }

  asOperator(caller: Caller): OperatorStorage {
    const { cloister, tokens } = this.#ports;
    // probe: storage-of-operators
    if (tokens.requireEntry(caller).operator !== true) throw new CloisterError('route_unknown');
    const { storage } = cloister;
    const by = caller.name;
    const acting = (): typeof storage => {
      tokens.actingEntry(caller);
      return storage;
    };
    return {
      export: (run) => storage.export(run),
      archive: async (run, options) => acting().archive([run], { by, ...omitUndefined(options) }),
      restore: async (run) => acting().restore(run, { by }),
      forget: async (whose, conversation, options) => {
        const name = conversation === null ? '' : callerPrefix(whose) + conversation.name;
        const selection = conversation === null ? { caller: whose } : { conversation: { ...conversation, name } };
        return acting().delete(selection, { by, withLater: true, ...omitUndefined(options) });
      },
    };
  }
}

const dateText = (at: number): string => new Date(at).toISOString();
