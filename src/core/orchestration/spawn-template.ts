// An agent that a model defines inline in its call. It is checked like a file and has no more than its parent.
//
//   template-parent-tools. A template can only name tools of its parent. Models, servers and variables come from the parent.
//   template-plain-prompt. Files and variables named in the prompt are not looked up.
//   template-inherits-marks. What a person must allow of its parent's tools, a person must allow of the template's. It asks nobody
//       itself: only a file or code may say that an agent asks.
//   template-says-model. A template says that a model wrote its prompt, so that no other cell gets it as system text.
import { CloisterError, isName } from '#base';
import type { JsonObject } from '#base';
import type { Agent, AgentOptions, GrantName, SpawnRules } from '#contracts';
import { mailToolError } from '#core/bus';
import type { MailToolReply } from '#core/bus';
import { isReserved } from './check-mail-options.ts';
import { buildAgent, completeDefinition } from './define-agent.ts';

const promptBytesMax = 32_000;

export const agentFromTemplate = (
  name: string,
  template: JsonObject,
  parent: Agent,
  rules: SpawnRules,
): { readonly agent: Agent } | { readonly reply: MailToolReply } => {
  const problem = templateProblem(name, template, parent, rules);
  if (problem !== null) return { reply: problem };
  try {
    const operator = { approve: parent.permissions.approve };
    const agent = buildAgent(templateOptions(name, template, parent), parent.file, operator);
    return { agent: completeDefinition({ ...agent, promptBy: 'model' }) };
  } catch (error) {
    const why = error instanceof CloisterError ? (error.failure.detail ?? '') : '';
    return { reply: mailToolError('SPAWN_FAILED', `The template is invalid. ${why}`.trim(), 'Correct it.') };
  }
};

const templateProblem = (
  name: string,
  template: JsonObject,
  parent: Agent,
  { templates }: SpawnRules,
): MailToolReply | null => {
  if (templates === null)
    return mailToolError(
      'NOT_ALLOWED',
      'You cannot define agents inline.',
      'Start one of the agents available to you.',
    );
  if (!isName(name) || isReserved(name) || [...parent.children.spawnable, parent].some((agent) => agent.name === name))
    return mailToolError(
      'NOT_ALLOWED',
      'agent_id must be a new name of letters, digits, dots, dashes and underscores.',
      'Choose another one.',
    );
  if (promptOf(template).length > promptBytesMax)
    return mailToolError('NOT_ALLOWED', `template.prompt: at most ${promptBytesMax} characters.`, 'Shorten it.');
  const tool = toolsOf(template).find((one) => !templates.tools.includes(one));
  return tool === undefined
    ? null
    : mailToolError(
        'NOT_ALLOWED',
        `template.tools: ${JSON.stringify(tool.slice(0, 80))} is not a tool you can pass on.`,
        `You can pass on: ${templates.tools.join(', ') || 'none'}.`,
      );
};

const promptOf = ({ prompt }: JsonObject): string => (typeof prompt === 'string' ? prompt : '');

const toolsOf = (template: JsonObject): readonly string[] =>
  Array.isArray(template['tools']) ? template['tools'].filter((tool) => typeof tool === 'string') : [];

/** Models, limits, budget and settings come from the parent, and it can only message its parent. */
const templateOptions = (name: string, template: JsonObject, parent: Agent): AgentOptions => {
  const toolNames = toolsOf(template);
  const { description } = template;
  return {
    name,
    description:
      typeof description === 'string' && description.trim() !== '' ? description : `Started by ${parent.name}.`,
    prompt: promptOf(template),
    models: parent.resources.models,
    tools: [...parent.resources.tools.filter((tool) => toolNames.includes(tool.name)), ...keepNamed(parent, toolNames)],
    limits: parent.caps.limits,
    budget: parent.caps.budget,
    settings: parent.resources.settings,
    caching: parent.resources.caching,
    grants: templateGrants.filter((grant) => parent.permissions.grants.includes(grant)),
    messages: ['parent'],
  };
};

const templateGrants: readonly GrantName[] = ['goal', 'result', 'note'];

const keepNamed = ({ resources: { builtins, servers } }: Agent, toolNames: readonly string[]): readonly string[] =>
  [...builtins, ...servers].filter((tool) => toolNames.includes(tool));
