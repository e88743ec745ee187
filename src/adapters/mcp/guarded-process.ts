// A server's process, which ends with us.
//
//   P1. Its environment is what the config gives it, to the letter; nothing of ours is inherited.
//   P2. It and all that it starts are one process group. A watcher in that group holds one end of a socket and we the
//       other: when ours is closed, by us or by our death, the watcher kills the group, itself included.
//   P3. The watcher lives until then, so the group's number cannot come to mean another group.
//
// What leaves the group on purpose (`setsid`) is beyond reach.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { CloisterError } from '#base';
import { findCommand } from './find-command.ts';
import { closeMs, graceMs } from './limits.ts';
import type { StdioServer } from './server.ts';
import { keepTail } from './stderr-tail.ts';
import { settledWithin } from './timeouts.ts';

/** How a process ended, and its last words. */
export type ProcessExit = { readonly code: number | null; readonly signal: string | null; readonly said: string };

export type GuardedProcess = {
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Resolves when it has ended and all that it wrote was read. */
  readonly ended: Promise<ProcessExit>;
  /** Lets it end by itself for a moment, asks it for another, then ends it with all that it started. Never rejects. */
  stop(): Promise<void>;
};

export const startProcess = async (server: StdioServer): Promise<GuardedProcess> => {
  const child = process.platform === 'win32' ? startPlain(server) : await startGuarded(server);
  const { stdin, stdout, stderr } = child;
  if (stdin === null || stdout === null || stderr === null) throw new CloisterError('defect', 'A pipe is missing.');
  const said = keepTail(stderr);
  const release = guardOf(child);
  const ended = endOf(child, release, said);
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
  await started(child, server);
  return { stdin, stdout, ended, stop: async () => (stopped ??= stop()) };
};

/**
 * The watcher is a grandchild, so that the server finds no child that it did not start, and keeps no copy of the
 * server's pipes. `env` takes out what shells add.
 */
const script = `( ( trap '' HUP INT TERM; read -r line; kill -KILL -$$ ) <&3 >/dev/null 2>&1 3<&- & ); exec 3<&-; exec "$@"`;

/** Variables that shells set by themselves. They are no secrets, so they may be on a command line for a moment. */
const shellsOwn = ['PWD', 'OLDPWD', 'SHLVL', '_'];

const startGuarded = async (server: StdioServer): Promise<ChildProcess> => {
  const { name, args, cwd, env } = server;
  const odd = Object.keys(env).find((key) => !/^[A-Za-z_]\w*$/u.test(key));
  if (odd !== undefined)
    throw new CloisterError(
      'config_invalid',
      `mcpServers.${name}.env: "${odd}" cannot be the name of a variable; use letters, digits and underscore.`,
    );
  const command = await findCommand(server);
  // `env` would take it for a variable.
  if (command.includes('='))
    throw new CloisterError('config_invalid', `mcpServers.${name}.command: its path may not have an equals sign.`);
  const exact = [
    ...shellsOwn.filter((key) => !Object.hasOwn(env, key)).flatMap((key) => ['-u', key]),
    ...shellsOwn.filter((key) => Object.hasOwn(env, key)).map((key) => `${key}=${env[key]}`),
  ];
  return spawn('/bin/sh', ['-c', script, 'sh', '/usr/bin/env', ...exact, command, ...args], {
    cwd,
    // probe: server-environment
    env: { ...env },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  });
};

const startPlain = ({ command, args, cwd, env }: StdioServer): ChildProcess =>
  spawn(command, args, { cwd, env: { ...env }, stdio: ['pipe', 'pipe', 'pipe'], windowsHide: true });

/** Lets go of the group: the watcher then kills it. */
const guardOf = (child: ChildProcess): (() => void) => {
  const guard = child.stdio[3];
  if (!(guard instanceof Socket)) return () => void child.kill('SIGKILL');
  guard.on('error', () => undefined);
  // Its end tells that the watcher is gone, and so the group: `close` of the child waits for that too.
  guard.resume();
  return () => void guard.end();
};

const endOf = async (child: ChildProcess, release: () => void, said: () => string): Promise<ProcessExit> => {
  const { promise: exited, resolve: exit } = Promise.withResolvers<Omit<ProcessExit, 'said'>>();
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  child.once('exit', (code, signal) => exit({ code, signal }));
  child.once('error', () => exit({ code: null, signal: null }));
  child.once('close', () => close());
  const how = await exited;
  release();
  // Whoever left the group may hold the pipes for ever.
  await settledWithin(closeMs, closed);
  for (const pipe of child.stdio) pipe?.destroy();
  return { ...how, said: said() };
};

const started = async (child: ChildProcess, { name, command }: StdioServer): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  child.once('spawn', resolve);
  child.once('error', (error: NodeJS.ErrnoException) =>
    reject(
      error.code === 'ENOENT'
        ? new CloisterError('server_missing', `Server "${name}" is started by "${command}", which was not found.`)
        : new CloisterError('server_failed', `Server "${name}" could not be started: ${error.message}.`),
    ),
  );
  await promise;
};
