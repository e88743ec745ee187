// The server is away: when the page tries again.
import { useClock } from './clock.ts';

export const RetryNotice = ({ at }: { readonly at: number }) => {
  const seconds = Math.max(0, Math.ceil((at - useClock()) / 1000));
  return (
    <div class="notice">
      The server does not answer. The run goes on; trying again{seconds === 0 ? '.' : ` in ${seconds} s.`}
    </div>
  );
};
