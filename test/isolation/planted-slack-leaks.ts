// Leaks between the people of one channel in Slack: each an edit that lets something of one of them show to another.
import type { Edit } from '../planted/plant.ts';

export type SlackLeak = { readonly name: string; readonly edits: readonly Edit[] };

const leak = (name: string, probe: string, put: string): SlackLeak => ({ name, edits: [{ probe, put }] });

export const slackLeaks: readonly SlackLeak[] = [
  leak(
    'a button is looked up among the runs of everybody',
    'slack-button-run',
    'const $(declarations.0.id) = await this.#service.runs({ ...caller, operator: true } as any, { most: pageSize, before });',
  ),
  leak(
    'a question is looked up among those of everybody',
    'slack-button-question',
    'const $(declarations.0.id) = await this.#service.questions.list({ ...caller, operator: true } as any);',
  ),
  leak(
    'all people of a workspace are one caller',
    'slack-caller',
    "const $(declarations.0.id) = ((given) => (team: string, _user: string) => given(team, 'U1'))($(declarations.0.init));",
  ),
  leak(
    'that nobody answers in a channel is told once for all people',
    'slack-refused-once',
    'const $(declarations.0.id) = request.channel;',
  ),
  leak('a thread belongs to whoever writes in it', 'slack-thread-owner', 'const $(declarations.0.id) = user;'),
];
