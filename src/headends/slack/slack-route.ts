// Which agent answers where.
import type { SlackConfig } from '#contracts';

/** Where an agent answers, and how. Direct messages have no `when`. */
type SlackRoute = Exclude<NonNullable<SlackConfig['channels']>[string], 'refuse'>;

/** Undefined: nobody answers there. */
export const findRoute = (
  { channels = {}, dm }: Pick<SlackConfig, 'channels' | 'dm'>,
  channel: string,
): SlackRoute | undefined => {
  // Ids of direct messages begin with D.
  const found = channel.startsWith('D') ? dm : Object.hasOwn(channels, channel) ? channels[channel] : channels['*'];
  return found === undefined || found === 'refuse' ? undefined : found;
};
