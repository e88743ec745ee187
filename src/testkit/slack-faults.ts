// Which calls of the web API fail, and how.
import { FaultChooser } from './choose-fault.ts';
import type { FaultPlan } from './choose-fault.ts';

/** How one call of Slack's web API fails. */
export type SlackFault =
  /** An HTTP status from 400 to 599; nothing happens. */
  | number
  /** The connection is cut before the call arrives. */
  | 'network'
  /** No response until the caller gives up; nothing happens. */
  | 'hang'
  /** It happens, but the connection is cut before the response. */
  | 'lost'
  /** It happens, but the response never arrives. */
  | 'lost in silence'
  /** Slack closed the stream before this call of it. */
  | 'close stream'
  /** Too many calls: status 429 with `Retry-After`, in whole seconds. */
  | { readonly retryAfterMs: number }
  /** Slack refuses with this error code. */
  | { readonly error: string }
  /** It happens, and the response comes this much later. */
  | { readonly slowMs: number };

/** Which calls fail: those of one method, of one channel or within a time; by number, at random, or all. */
export type SlackFaultRule = Omit<FaultPlan<SlackFault>, 'clock'> & {
  /** `chat.update`, or `chat.*` for all that begin so. Default: all. */
  readonly method?: string;
  readonly channel?: string;
  /** Epoch milliseconds of the clock: an outage from here … */
  readonly fromMs?: number;
  /** … to here. */
  readonly untilMs?: number;
  /** Every such call fails in this way. */
  readonly always?: SlackFault;
};

export class SlackFaultRules {
  readonly #rules = new Set<ActiveRule>();

  /** Returns a function that ends the rule. */
  add({ always, ...rule }: SlackFaultRule): () => void {
    const plan = always === undefined ? rule : { ...rule, kinds: [always], percent: 100 };
    const active = { rule, chooser: new FaultChooser<SlackFault>(plan, knownFaults) };
    this.#rules.add(active);
    return () => void this.#rules.delete(active);
  }

  /** The first rule that has a fault for this call decides. Each rule counts the calls that it is for. */
  next(call: {
    readonly method: string;
    readonly channel: string | undefined;
    readonly at: number;
  }): SlackFault | undefined {
    for (const { rule, chooser } of this.#rules) {
      if (!isFor(rule, call)) continue;
      const fault = chooser.next();
      if (fault !== undefined) return fault;
    }
    return undefined;
  }
}

type ActiveRule = { readonly rule: SlackFaultRule; readonly chooser: FaultChooser<SlackFault> };

const isFor = (
  { method = '*', channel, fromMs = -Infinity, untilMs = Infinity }: SlackFaultRule,
  call: { readonly method: string; readonly channel: string | undefined; readonly at: number },
): boolean => {
  const isMethod = method.endsWith('*') ? call.method.startsWith(method.slice(0, -1)) : call.method === method;
  return isMethod && (channel === undefined || call.channel === channel) && call.at >= fromMs && call.at < untilMs;
};

const knownFaults = {
  names: ['network', 'hang', 'lost', 'lost in silence', 'close stream'],
  others: {
    text: '{ retryAfterMs }, { error }',
    matches: (fault: object): boolean =>
      ('retryAfterMs' in fault && typeof fault.retryAfterMs === 'number' && fault.retryAfterMs >= 0) ||
      ('error' in fault && typeof fault.error === 'string'),
  },
};
