// Makes the real clock, randomness, timers, network and processes throw while a seed runs, because nothing may depend on them.
//
//   sim-globals-restored. Between seeds they work as usual, because other code in this process needs them.
//
// References taken before the guard was installed are not detected. Files, workers and Node's internals are not guarded either.
// Running a seed twice shows whether anything depends on them.
import { createRequire, syncBuiltinESMExports } from 'node:module';

export class RealWorldAccess extends Error {
  override readonly name = 'RealWorldTouched';
}

export type Guard = {
  /** From now on, they throw. */
  enter(): void;
  leave(): void;
  /** Restores everything. */
  remove(): void;
  /** What was called since `enter`. */
  touched(): readonly string[];
};

const globalNames = ['setTimeout', 'setInterval', 'setImmediate', 'fetch'] as const;
const moduleNames = {
  // Must come before `node:timers`, whose functions refer to these for `promisify`.
  'node:timers/promises': ['setTimeout', 'setInterval', 'setImmediate'],
  'node:timers': ['setTimeout', 'setInterval', 'setImmediate'],
  'node:crypto': ['randomUUID', 'randomBytes', 'pseudoRandomBytes', 'randomInt', 'randomFill', 'randomFillSync'],
  'node:net': ['connect', 'createConnection', 'createServer'],
  'node:tls': ['connect'],
  'node:dgram': ['createSocket'],
  'node:http': ['request', 'get', 'createServer'],
  'node:https': ['request', 'get', 'createServer'],
  'node:http2': ['connect'],
  'node:dns': ['lookup', 'resolve'],
  'node:dns/promises': ['lookup', 'resolve'],
  'node:child_process': ['spawn', 'spawnSync', 'exec', 'execSync', 'execFile', 'execFileSync', 'fork'],
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
        throw new RealWorldAccess(`${name} was called inside the simulation.`);
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

  const require = createRequire(import.meta.url);
  for (const [module, names] of Object.entries(moduleNames)) {
    const found: Any = require(module);
    for (const name of names) replace(found, name, `${module}.${name}`);
  }
  // All ways to open a connection or start a process end here.
  replace(require('node:net').Socket.prototype, 'connect', 'node:net.Socket.connect');
  replace(require('node:child_process').ChildProcess.prototype, 'spawn', 'node:child_process.ChildProcess.spawn');
  replace(require('node:timers/promises').scheduler, 'wait', 'node:timers/promises.scheduler.wait');
  for (const name of globalNames) replace(globalThis, name);
  replace(AbortSignal, 'timeout', 'AbortSignal.timeout');
  replace(Math, 'random', 'Math.random');
  replace(performance, 'now', 'performance.now');
  replace(process.hrtime, 'bigint', 'process.hrtime.bigint');
  replace(process, 'hrtime', 'process.hrtime');
  replace(globalThis.crypto, 'randomUUID', 'crypto.randomUUID');
  replace(globalThis.crypto, 'getRandomValues', 'crypto.getRandomValues');
  undo.push(replaceDate(throwing));
  syncBuiltinESMExports();

  return {
    enter() {
      touched = [];
      inside = true;
      // Thousands of errors are thrown here, and nobody reads their stacks.
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

/** `new Date(ms)` only computes; `new Date()` reads the clock. */
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
