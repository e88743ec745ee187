// While a seed runs, the real clock, randomness, timers and network throw: nothing that happens may depend on them.
//
//   R1. Between seeds they work as ever: whoever else lives in this process needs them.
import { createRequire, syncBuiltinESMExports } from 'node:module';

export class RealWorldTouched extends Error {
  override readonly name = 'RealWorldTouched';
}

export type Guard = {
  /** From here on they throw. */
  enter(): void;
  leave(): void;
  /** Puts everything back. */
  remove(): void;
  /** What was touched since `enter`. */
  touched(): readonly string[];
};

const globalNames = ['setTimeout', 'setInterval', 'setImmediate', 'fetch'] as const;
const moduleNames = {
  'node:crypto': ['randomUUID', 'randomBytes', 'randomInt', 'randomFillSync'],
  'node:timers': ['setTimeout', 'setInterval', 'setImmediate'],
} as const;

// eslint-disable-next-line typescript/no-explicit-any
type Any = any;

export const guardGlobals = (): Guard => {
  const { stackTraceLimit } = Error;
  let inside = false;
  let touched: string[] = [];
  const undo: (() => void)[] = [];

  const throwing = (name: string, real: Any): Any => {
    const guarded = function (this: unknown, ...args: unknown[]): unknown {
      if (inside) {
        touched.push(name);
        throw new RealWorldTouched(`${name} was called inside the simulation.`);
      }
      return Reflect.apply(real, this, args);
    };
    return Object.assign(guarded, real);
  };
  const replace = (owner: Any, key: string, name = key): void => {
    const own = Object.getOwnPropertyDescriptor(owner, key);
    Object.defineProperty(owner, key, { value: throwing(name, owner[key]), writable: true, configurable: true });
    undo.push(() => void (own === undefined ? delete owner[key] : Object.defineProperty(owner, key, own)));
  };

  for (const name of globalNames) replace(globalThis, name);
  replace(Math, 'random', 'Math.random');
  replace(performance, 'now', 'performance.now');
  replace(process.hrtime, 'bigint', 'process.hrtime.bigint');
  replace(process, 'hrtime', 'process.hrtime');
  replace(globalThis.crypto, 'randomUUID', 'crypto.randomUUID');
  replace(globalThis.crypto, 'getRandomValues', 'crypto.getRandomValues');
  const require = createRequire(import.meta.url);
  for (const [module, names] of Object.entries(moduleNames)) {
    const found: Any = require(module);
    for (const name of names) replace(found, name, `${module}.${name}`);
  }
  undo.push(replaceDate(throwing));
  syncBuiltinESMExports();

  return {
    enter() {
      touched = [];
      inside = true;
      // Errors are thrown by the thousand here, and nobody reads where.
      Error.stackTraceLimit = 0;
    },
    leave() {
      inside = false;
      Error.stackTraceLimit = stackTraceLimit;
    },
    remove() {
      inside = false;
      Error.stackTraceLimit = stackTraceLimit;
      for (const one of undo.toReversed()) one();
      syncBuiltinESMExports();
    },
    touched: () => touched,
  };
};

/** `new Date(ms)` is arithmetic; without a time it is a look at the clock. */
const replaceDate = (throwing: (name: string, real: Any) => Any): (() => void) => {
  const RealDate = Date;
  const now = throwing('Date.now', RealDate.now);
  const look = throwing('new Date', () => undefined);
  globalThis.Date = new Proxy(RealDate, {
    get: (target, key, receiver) => (key === 'now' ? now : Reflect.get(target, key, receiver)),
    construct: (target, args: Any[], newTarget) => {
      if (args.length === 0) look();
      return Reflect.construct(target, args, newTarget) as Date;
    },
    apply: (target, self, args: Any[]) => {
      look();
      return Reflect.apply(target, self, args) as string;
    },
  });
  return () => void (globalThis.Date = RealDate);
};
