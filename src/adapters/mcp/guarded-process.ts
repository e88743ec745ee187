// A server process that ends when this process ends.
//
//   mcp-process-environment. Its environment is exactly what the config specifies; nothing is inherited from this process.
//   mcp-process-group-dies. It and everything it starts form one process group. A watcher in that group holds one end of a
//       socket and this process the other: when our end closes, deliberately or because we died, the watcher kills the group,
//       itself included.
//
// The watcher runs until then, so the group id cannot be reused for another group. Processes that deliberately leave the group (`setsid`) are out of reach.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { CloisterError } from '#base';
import { findCommand } from './find-command.ts';
import { closeMs, graceMs, stderrCharsMax } from './limits.ts';
import { settledWithin } from './timeouts.ts';
import type { StdioServer } from './server.ts';

/** How a process ended, and the end of its stderr. */
export type ProcessExit = { readonly code: number | null; readonly signal: string | null; readonly stderr: string };

type GuardedProcess = {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves when it has ended and all of its output was read. */
  readonly ended: Promise<ProcessExit>;
  /** Gives it a moment to exit, then sends SIGTERM, then kills it with everything it started. Never rejects. */
  stop(): Promise<void>;
};

export const startProcess = async (server: StdioServer): Promise<GuardedProcess> => {
  const child = process.platform === 'win32' ? startPlain(server) : await startGuarded(server);
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null) throw new CloisterError('defect', 'A pipe is missing.');
  const stderrTail = collectStderrTail(stderr);
  const release = takeGuard(child);
  const ended = waitForExit(child, release, stderrTail);
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    stdin.end();
    await settledWithin(graceMs, ended);
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await settledWithin(graceMs, ended);
    release();
    await settledWithin(closeMs, ended);
  };
  stdin.on('error', () => undefined);
  stdout.on('error', () => undefined);
  await waitForSpawn(child, server);
  return { stdin, stdout, ended, stop: async () => (stopped ??= stop()) };
};

/**
 * The watcher is a grandchild, so that the server has no child that it did not start, and it keeps no copy of the server's
 * pipes. `env` removes the variables that shells add.
 */
const script = `( ( trap '' HUP INT TERM; read -r line; kill -KILL -$$ ) <&3 >/dev/null 2>&1 3<&- & ); exec 3<&-; exec "$@"`;

/** Variables that shells set themselves. They are not secret, so they may briefly appear on a command line. */
const shellVariables = ['PWD', 'OLDPWD', 'SHLVL', '_'];

const startGuarded = async (server: StdioServer): Promise<ChildProcess> => {
  const { name, args, cwd, env } = server;
  const invalidName = Object.keys(env).find((key) => !/^[A-Za-z_]\w*$/u.test(key));
  if (invalidName !== undefined)
    throw new CloisterError(
      'config_invalid',
      `mcpServers.${name}.env: "${invalidName}" is not a valid variable name; use letters, digits and underscores.`,
    );
  const command = await findCommand(server);
  // `env` would treat it as a variable assignment.
  if (command.includes('='))
    throw new CloisterError('config_invalid', `mcpServers.${name}.command: the path must not contain an equals sign.`);
  const envArgs = [
    ...shellVariables.filter((key) => !Object.hasOwn(env, key)).flatMap((key) => ['-u', key]),
    ...shellVariables.filter((key) => Object.hasOwn(env, key)).map((key) => `${key}=${env[key]}`),
  ];
  return spawn('/bin/sh', ['-c', script, 'sh', '/usr/bin/env', ...envArgs, command, ...args], {
    cwd,
    // probe: server-environment
    env: { ...env },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
};

const startPlain = ({ command, args, cwd, env }: StdioServer): ChildProcess =>
  spawn(command, args, { cwd, env: { ...env }, stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true });

/** Returns a function that releases the group, whereupon the watcher kills it. */
const takeGuard = (child: ChildProcess): (() => void) => {
  const guard = child.stdio[3];
  if (!(guard instanceof Socket)) return () => void child.kill('SIGKILL');
  guard.on('error', () => undefined);
  // Its end means that the watcher, and so the group, is gone; the child's `close` event waits for that too.
  guard.resume();
  return () => void guard.end();
};

const waitForExit = async (
  child: ChildProcess,
  release: () => void,
  stderrTail: () => string,
): Promise<ProcessExit> => {
  const { promise: exited, resolve: exit } = Promise.withResolvers<Omit<ProcessExit, 'stderr'>>();
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  child.once('exit', (code, signal) => exit({ code, signal }));
  child.once('error', () => exit({ code: null, signal: null }));
  child.once('close', () => close());
  const outcome = await exited;
  release();
  // A process that left the group may hold the pipes forever.
  await settledWithin(closeMs, closed);
  for (const pipe of child.stdio) pipe?.destroy();
  return { ...outcome, stderr: stderrTail() };
};

const waitForSpawn = async (child: ChildProcess, { name, command }: StdioServer): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  child.once('spawn', resolve);
  child.once('error', (error: NodeJS.ErrnoException) =>
    reject(
      error.code === 'ENOENT'
        ? new CloisterError('server_missing', `Server "${name}": the command "${command}" was not found.`)
        : new CloisterError('server_failed', `Server "${name}" could not be started: ${error.message}.`),
    ),
  );
  await promise;
};

// The end of a process's stderr: everything is read, little is kept.
/** A character takes at most four bytes. */
const bytesMax = 4 * stderrCharsMax;

const collectStderrTail = (stderr: Readable): (() => string) => {
  let tail: Buffer = Buffer.alloc(0);
  let isTruncated = false;
  stderr.on('error', () => undefined);
  stderr.on('data', (chunk: Buffer) => {
    isTruncated ||= tail.length + chunk.length > bytesMax;
    tail = Buffer.concat([tail, chunk.subarray(-bytesMax)]).subarray(-bytesMax);
  });
  return () => {
    const chars = [...stripVTControlCharacters(tail.toString())];
    const kept = chars.slice(-stderrCharsMax).join('').toWellFormed();
    return (isTruncated || chars.length > stderrCharsMax ? withoutFirstWord(kept) : kept).trim();
  };
};

/** The first word may be the end of a longer one, such as a secret that could no longer be recognised. */
const withoutFirstWord = (text: string): string => {
  const at = text.search(/\s/u);
  return at < 0 ? '' : text.slice(at);
};
