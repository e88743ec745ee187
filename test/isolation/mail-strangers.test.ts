// What an agent is told about others does not depend on agents that it may not message.
import { expect, test } from 'vitest';
import { shownToQuiet } from './mail-strangers.ts';

// invariants: mail-ended-only-reachable, mail-reply-reachable-state
test.each([false, true])(
  'nothing shows how many agents of others have ended, or how much others have written (after a crash: %s)',
  async (crash) => {
    const still = await shownToQuiet({}, crash);
    expect(still[1]).toContain('AGENT_ENDED');
    expect(still[3]).toContain('"status":"queued"');
    expect(still[5]).toContain('AGENT_NOT_FOUND');
    expect(await shownToQuiet({ ended: 1_005, messages: 100 }, crash)).toEqual(still);
  },
);

test.each([false, true])(
  'nothing shows what somebody outside starts under an agent that one may not message (after a crash: %s)',
  async (crash) => {
    const still = await shownToQuiet({}, crash);
    expect(await shownToQuiet({ outside: 3 }, crash)).toEqual(still);
    expect(still.at(-2)).toContain('"sub_agent_id":"late:helper"');
  },
);
