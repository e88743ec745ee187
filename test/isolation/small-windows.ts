// Pairs of runs in which windows are small, so that what a cell is shown depends on estimates, on what was dropped, and on what
// its caller shares with it.
import { buildAgent } from '#core/orchestration';
import { checkIsolation } from '#testkit';
import type { IsolationReport } from '#testkit';

const look = {
  name: 'look',
  description: 'Looks.',
  inputSchema: { type: 'object', properties: { text: { type: 'string', minLength: 300, maxLength: 900 } } },
  execute: () => 'Nothing.',
} as const;

const define = (name: string, more: object) =>
  buildAgent(
    { name, description: `Does what ${name} does.`, prompt: `You are ${name}.`, tools: [look], ...more },
    null,
  );

const limits = (contextTokensMax: number) => ({ contextTokensMax, maxOutputTokens: 100 });
const deep = define('deep', { limits: limits(900), share: ['context'] });
const child = define('child', { limits: limits(900), share: ['context'], agents: [deep] });
const other = define('other', { limits: limits(700) });
const lead = define('lead', { limits: limits(700), agents: [child, other] });

export const compareSmallWindows = (pairs: number, seed: number): Promise<IsolationReport> =>
  checkIsolation({ agent: lead }, { pairs, seed });
