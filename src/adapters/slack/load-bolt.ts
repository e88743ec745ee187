// Slack's SDK, an optional package that is loaded only when it is needed.
import type * as boltModule from '@slack/bolt';
import { CloisterError } from '#base';

/** What is used of it. */
export type Bolt = Pick<typeof boltModule, 'LogLevel' | 'SocketModeReceiver' | 'webApi'>;

/** `load`: for tests. Throws `slack_failed`. */
export const loadBolt = async (load = (): Promise<Bolt> => import('@slack/bolt')): Promise<Bolt> => {
  try {
    return await load();
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND';
    throw new CloisterError(
      'slack_failed',
      isMissing
        ? 'The package @slack/bolt is not installed. Run `npm install @slack/bolt` in this project.'
        : `The package @slack/bolt cannot be loaded: ${String(error)}`,
      { cause: error },
    );
  }
};

/** Nothing of the SDK is printed: its messages name channels and people, and failures are reported by whoever calls it. */
export const silentLogger = ({ LogLevel }: Bolt) => ({
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  setLevel: () => undefined,
  getLevel: () => LogLevel.ERROR,
  setName: () => undefined,
});
