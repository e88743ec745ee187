// Servers in processes of their own, so that what they use is theirs alone.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Ask, Ready, Usage } from './messages.ts';

export type Started = {
  readonly port: number;
  readonly token: string;
  readonly path?: string;
  usage(collect?: boolean): Promise<Usage['usage']>;
  stop(): Promise<void>;
};

export const start = async (file: string, ...args: readonly string[]): Promise<Started> => {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [...args], {
    execArgv: ['--conditions=cloister-source', '--expose-gc'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const [{ ready }] = (await once(child, 'message')) as [Ready];
  return {
    ...ready,
    usage: async (collect = false) => {
      child.send({ ask: 'usage', collect } satisfies Ask);
      const [{ usage }] = (await once(child, 'message')) as [Usage];
      return usage;
    },
    stop: async () => {
      child.disconnect();
      await once(child, 'exit');
    },
  };
};
