// What the tokens of a server allow, and how much of it is used.
//
//   account-of-caller. A caller is told about its own token; the operator, about all of them.
import { callerNameOf, stdioCaller, tokenSees } from '#contracts';
import type { Caller, CallerAccount, CallerAccounts, ListedCaller, TokenEntry } from '#contracts';
import type { Allowances } from './allowances.ts';
import type { ActiveRun } from './served-run.ts';
import type { TokenRegistry } from './token-registry.ts';

type AccountPorts = {
  readonly tokens: Pick<TokenRegistry, 'entry' | 'entries' | 'requireEntry'>;
  readonly allowances: Pick<Allowances, 'usage'>;
  /** The runs that are running on this server. */
  readonly live: () => readonly Pick<ActiveRun, 'caller'>[];
};

export class LocalCallerAccounts implements CallerAccounts {
  readonly #ports: AccountPorts;

  constructor(ports: AccountPorts) {
    this.#ports = ports;
  }

  async own(caller: Caller): Promise<CallerAccount> {
    return this.#account(this.#ports.tokens.requireEntry(caller));
  }

  async all(caller: Caller): Promise<readonly ListedCaller[] | undefined> {
    const { tokens } = this.#ports;
    // probe: accounts-operator
    if (tokens.requireEntry(caller).operator !== true) return undefined;
    const entries = tokens.entries().filter(({ name }) => name !== stdioCaller);
    return Promise.all(entries.map((entry) => this.#listed(entry)));
  }

  async #account(entry: TokenEntry): Promise<CallerAccount> {
    const { name, operator = false, may, budget = null } = entry;
    return {
      name,
      operator,
      sees: tokenSees(entry),
      watchOnly: may !== undefined,
      budget,
      allowance: await this.#ports.allowances.usage(entry),
    };
  }

  async #listed(entry: TokenEntry): Promise<ListedCaller> {
    const { agents = null, requestsPerMinute = null, running = null, may = null, answers = [], expiresAt } = entry;
    const name = callerNameOf(entry);
    return {
      ...(await this.#account(entry)),
      agents,
      requestsPerMinute,
      running,
      runningNow: this.#ports.live().filter(({ caller }) => caller.name === name).length,
      may,
      answers,
      expiresAt: expiresAt ?? null,
    };
  }
}
