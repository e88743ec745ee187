// What can be wrong before any work is done: definitions, requests, configuration, the workspace.
import { entry } from './error-entry.ts';
import type { ErrorEntry } from './error-entry.ts';

export const errorsBefore = {
  agent_unknown: entry(
    'config',
    false,
    'There is no agent of that name.',
    'Check the name against the agents that were given.',
  ),
  agent_invalid: entry(
    'config',
    false,
    'An agent definition is not valid.',
    'Correct the field that the message names.',
  ),
  agent_file_invalid: entry(
    'config',
    false,
    'Agent files are not valid.',
    'Correct the lines that the message names; `cloister check` lists them all.',
  ),
  folder_taken: entry(
    'config',
    false,
    'The folder cannot be used to start in.',
    'Choose another folder, or move away what is there.',
  ),
  config_invalid: entry('config', false, 'The configuration is not valid.', 'Correct the key that the message names.'),
  env_missing: entry(
    'config',
    false,
    'An environment variable is missing.',
    'Define it in the shell or in .ai-agent.env.',
  ),
  provider_unknown: entry(
    'config',
    false,
    'No provider of that name is configured.',
    'Add it to `providers` in .ai-agent.json, or correct the name.',
  ),
  server_unknown: entry(
    'config',
    false,
    'No tool server of that name is configured.',
    'Add it to `mcpServers` in .ai-agent.json, or correct the name.',
  ),
  server_missing: entry(
    'config',
    false,
    'The command of a tool server was not found.',
    'Install it, or correct `command` in .ai-agent.json.',
  ),
  server_failed: entry(
    'network',
    true,
    'A tool server could not be reached, or ended.',
    'Check that it runs; its own words are in the detail.',
  ),
  server_tools: entry(
    'config',
    false,
    'A tool server does not offer what the agent names.',
    'Name tools that it offers; names must stay different when they are made plain.',
  ),
  goal_schema: entry(
    'schema',
    false,
    'The input does not fit the input schema of the agent.',
    'Send one JSON object that fits it.',
  ),
  name_invalid: entry(
    'config',
    false,
    'A name or id has a shape that is not allowed.',
    'Use letters, digits, dot, dash and underscore, at most 64 characters.',
  ),
  goal_empty: entry('config', false, 'The goal is empty.', 'Say what the agent should do.'),
  goal_too_large: entry(
    'config',
    false,
    'The goal is larger than a goal may be.',
    'Shorten it, or hand the bulk to a tool that can be paged.',
  ),
  module_invalid: entry(
    'config',
    false,
    'The agents module cannot be used.',
    'Its default export must be a list of agents made by defineAgent.',
  ),
  run_unknown: entry('config', false, 'There is no such run in this workspace.', 'List the runs with `cloister runs`.'),
  cell_unknown: entry(
    'config',
    false,
    'There is no such cell in that run.',
    'List the cells with `cloister show <run>`.',
  ),
  run_owned: entry('config', false, 'Another process owns this run.', 'Wait until it has ended, or stop that process.'),
  run_ended: entry('config', false, 'This run has already ended.', 'Look at it with `cloister show <run>`.'),
  budget_invalid: entry('config', false, 'A budget is not valid.', 'Give numbers, 0 or more: tokens, usd, spawns, ms.'),
  script_invalid: entry(
    'config',
    false,
    'A rehearsal script is not valid.',
    'Correct the line that the message names.',
  ),
  options_invalid: entry(
    'config',
    false,
    'An option of openCloister is not valid.',
    'Correct the option that the message names.',
  ),
  store_failed: entry(
    'config',
    false,
    'The workspace cannot be written.',
    'Check the disk: free space, permissions, and that it is a local file system.',
  ),
  store_damaged: entry(
    'config',
    false,
    'The workspace holds a record that is not what was written.',
    'Run `cloister audit <run>` to see which one; restore it from a copy.',
  ),
  store_busy: entry(
    'config',
    true,
    'The workspace is locked by another program.',
    'Try again when that program has finished.',
  ),
  model_unpriced: entry(
    'config',
    false,
    'A budget in money was set, but a model has no price.',
    'Give the model a price, or drop the money budget.',
  ),
  model_missing: entry(
    'config',
    false,
    'The agent has no model.',
    'Name one in `models` of the agent, or a default: `defaults.models` in .ai-agent.json, `models` of openCloister.',
  ),
} as const satisfies Record<string, ErrorEntry>;
