// Agents from files: found, read, checked and built, with their models and tools. What only some commands need is loaded lazily
// by its own file: `registry.ts`, `check-agents.ts`, `init-folder.ts`, `import-agents.ts`, `agent-help.ts` and `load-tasks.ts`.
export type { AgentResources } from './resources-from-code.ts';
export { findSlackConfig, readSlackConfig } from './check-slack.ts';
export { Configs } from './configs.ts';
export { findAgent, suggestAgent } from './read-agent-files.ts';
export { isModule, isTeamFile, pathKind } from './find-files.ts';
export { displayPath } from './launch-environment.ts';
export type { LaunchEnvironment } from './launch-environment.ts';
export { loadSkills } from './load-skills.ts';
export { formatProblem, problemsError } from './problems.ts';
export type { Registry } from './registry.ts';
export { findRequiredConfig, providerName } from './required-config.ts';
export type { RequiredConfig } from './required-config.ts';
export { needsConfig, notLookedUp, resourcesFromCode, withChildren } from './resources-from-code.ts';
