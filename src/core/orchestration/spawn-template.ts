// An agent that a model describes in its call: checked like a file, with no more than its parent has.
//
//   S1. It names tools of its parent, and nothing else of the operator's: models, servers and variables are its parent's.
//   S2. What its model writes is text: names of files or variables in it are not looked up.
import { CloisterError, isName } from '#base';
import type { JsonObject } from '#base';
import type { Agent, AgentOptions, GrantName, SpawnRules } from '#contracts';
import { isReserved } from './check-mail-options.ts';
import { agentFrom } from './define-agent.ts';
import { mailToolError } from './mail-tool-replies.ts';
import type { MailToolReply } from './mail-tool-replies.ts';

const promptBytesMax = 32_000;

export const agentFromTemplate = (
  name: string,
  template: JsonObject,
  parent: Agent,
  rules: SpawnRules,
): { readonly agent: Agent } | { readonly told: MailToolReply } => {
  const wrong = wrongTemplate(name, template, parent, rules);
  if (wrong !== null) return { told: wrong };
  try {
    return { agent: agentFrom(optionsOf(name, template, parent), parent.file) };
  } catch (error) {
    const why = error instanceof CloisterError ? (error.failure.detail ?? '') : '';
    return { told: mailToolError('SPAWN_FAILED', `The template cannot be used. ${why}`.trim(), 'Correct it.') };
  }
};

const wrongTemplate = (
  name: string,
  template: JsonObject,
  parent: Agent,
  { templates }: SpawnRules,
): MailToolReply | null => {
  if (templates === null)
    return mailToolError(
      'NOT_ALLOWED',
      'You may not describe agents of your own.',
      'Start one of those that you may start.',
    );
  if (!isName(name) || isReserved(name) || [...parent.spawnable, parent].some((agent) => agent.name === name))
    return mailToolError(
      'NOT_ALLOWED',
      'agent_id: a new name, of letters, digits, dot, dash and underscore.',
      'Choose another one.',
    );
  if (promptOf(template).length > promptBytesMax)
    return mailToolError('NOT_ALLOWED', `template.prompt: at most ${promptBytesMax} characters.`, 'Say less.');
  const tool = toolsOf(template).find((one) => !templates.tools.includes(one));
  return tool === undefined
    ? null
    : mailToolError(
        'NOT_ALLOWED',
        `template.tools: ${JSON.stringify(tool.slice(0, 80))} is not yours to give.`,
        `You may give: ${templates.tools.join(', ') || 'none'}.`,
      );
};

const promptOf = ({ prompt }: JsonObject): string => (typeof prompt === 'string' ? prompt : '');

const toolsOf = (template: JsonObject): readonly string[] =>
  Array.isArray(template['tools']) ? template['tools'].filter((tool) => typeof tool === 'string') : [];

/** Its models, limits, budget and settings are its parent's; it talks to its parent and to nobody else. */
const optionsOf = (name: string, template: JsonObject, parent: Agent): AgentOptions => {
  const named = toolsOf(template);
  const { description } = template;
  return {
    name,
    description:
      typeof description === 'string' && description.trim() !== '' ? description : `Started by ${parent.name}.`,
    prompt: promptOf(template),
    models: parent.models,
    tools: [...parent.tools.filter((tool) => named.includes(tool.name)), ...namedAmong(parent, named)],
    limits: parent.limits,
    budget: parent.budget,
    settings: parent.settings,
    caching: parent.caching,
    grants: templateGrants.filter((grant) => parent.grants.includes(grant)),
    messages: ['parent'],
  };
};

const templateGrants: readonly GrantName[] = ['goal', 'result', 'note'];

const namedAmong = ({ builtins, servers }: Agent, named: readonly string[]): readonly string[] =>
  [...builtins, ...servers].filter((tool) => named.includes(tool));
