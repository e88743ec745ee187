// Pairs of runs of teams that work through graphs, in all the ways that there are: one member and several, with and without a
// coordinator, those who write to each other and those who may not, results of dependencies only and of all.
import type { Agent, AgentOptions, TeamOptions, ToolDefinition } from '#contracts';
import { agentFrom, defineTeam } from '#core/orchestration';
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
  agentFrom({ name, description: `Does what ${name} does.`, prompt: `You do what ${name} does.`, ...more }, null);

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

/** Of each team a quarter of the pairs; up to the first that differs. */
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
