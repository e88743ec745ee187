// Pairs of runs of teams that work through graphs, in all variants: one member or several, with or without a coordinator,
// members that may or may not message each other, results of dependencies only or of all tasks.
import type { Agent, AgentOptions, TeamOptions, ToolDefinition } from '#contracts';
import { buildAgent, defineTeam } from '#core/orchestration';
import { checkIsolation } from '#testkit';
import type { IsolationReport } from '#testkit';

const look: ToolDefinition = {
  name: 'look',
  description: 'Looks.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  repeat: 'free',
  execute: () => 'Nothing.',
};

const member = (name: string, more: Partial<AgentOptions> = {}): Agent =>
  buildAgent({ name, description: `Does what ${name} does.`, prompt: `You do what ${name} does.`, ...more }, null);

const writer = member('ann', { tools: ['send_message', look] });
const helped = member('ben', { tools: ['write_file', 'read_file'], agents: [member('helper')] });
const plain = member('cleo', { tools: ['send_message'] });
const filing = member('eve', { tools: ['write_file', 'read_file'] });
const exact = member('dan', {
  tools: ['send_message'],
  output: { format: 'json' },
  limits: { max_tokens_per_step: 50 },
});
const coordinator = member('lead');

const rules: readonly TeamOptions[] = [
  { name: 'talking', agents: [writer, helped, plain], coordinator, messages: true },
  { name: 'alone', agents: [plain], retries: 2, backOffMs: 5 },
  {
    name: 'wide',
    agents: [writer, filing, plain, exact],
    coordinator,
    planMayAskForAll: true,
    capacity: { ann: 1, eve: 2 },
    messages: { ann: ['cleo', 'dan'], dan: ['ann'] },
  },
  { name: 'open', agents: [writer, exact], memoryScope: 'all', messages: true },
];

const teams = rules.map((options) => defineTeam(options));

/** A quarter of the pairs for each team; stops at the first difference. */
export const comparePairs = async (
  pairs: number,
  seed: number,
  recordsEvery = 1,
): Promise<readonly IsolationReport[]> => {
  const reports: IsolationReport[] = [];
  for (const agent of teams) {
    const report = await checkIsolation({ agent }, { pairs: pairs / teams.length, seed, recordsEvery });
    reports.push(report);
    if (report.differences.length > 0) break;
  }
  return reports;
};
