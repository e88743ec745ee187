// Servers in their own processes, so that their resource usage can be measured alone.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { UsageRequest, Ready, Usage } from './messages.ts';

export type RunningServer = {
  readonly port: number;
  readonly token: string;
  readonly path?: string;
  usage(collect?: boolean): Promise<Usage['usage']>;
  stop(): Promise<void>;
};

export const startServer = async (file: string, ...args: readonly string[]): Promise<RunningServer> => {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [...args], {
    execArgv: ['--conditions=cloister-source', '--expose-gc'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [{ ready }] = (await once(child, 'message')) as [Ready];
  return {
    ...ready,
    usage: async (collect = false) => {
      child.send({ ask: 'usage', collect } satisfies UsageRequest);
      const [{ usage }] = (await once(child, 'message')) as [Usage];
      return usage;
    },
    stop: async () => {
      child.disconnect();
      await once(child, 'exit');
    },
  };
};
