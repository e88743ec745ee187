export { checkTopology } from './topology.ts';
export { frontmatterShape, modelSettingsShape, frontmatterSchema, outputDefault } from './frontmatter-shape.ts';
export { capViolations, spawnCapsDefault, withCaps } from './mail-keys.ts';
export { effectiveLimits, lowerLimits, lowestLimits, resolveLimits } from './limits.ts';
export type { CellLimits } from './limits.ts';
export { limitSpellings } from './limit-shapes.ts';
export { parseDuration } from './duration.ts';
export { isTopic } from './topic.ts';
export { parseSkillFile } from './parse-skill-file.ts';
export { foreignAgentText, foreignDisplayName, isForeignAgent, readForeignAgent } from './foreign-agent.ts';
export { importAgentFile } from './import-agent-file.ts';
export { parseAgentFile } from './parse-agent-file.ts';
export type { ParsedFile } from './parse-agent-file.ts';
export { mergeDefaults, parseDefaults } from './parse-frontmatter.ts';
export { frontmatterTemplate } from './template.ts';
export { hasUsualAddress } from './builtin-providers.ts';
export { requiredVariables, listVariables } from './config-fields.ts';
export { missingVariablesMessage, overlayFor, fillProvider, fillServer, fillSlack, readRunEnv } from './overlay.ts';
export {
  operatorKeyText,
  operatorKeyVariable,
  operatorSecrets,
  storeAddress,
  storePassword,
  storePasswordVariable,
  storeSecrets,
} from './operator-secret.ts';
export { Redactors } from './redactors.ts';
export { collectSecrets } from './redact-secrets.ts';
export type { Secrets } from './redact-secrets.ts';
export { slackAppNeeds, slackManifest } from './slack-app.ts';
export { strongParts } from './secret-strength.ts';
export { resolveConfig } from './resolve-config.ts';
export type { SourcedConfig, ResolvedConfig } from './resolve-config.ts';
export { teamShape } from './team-shape.ts';
export { memberName, parseTeamFile } from './team-file.ts';
export type { ParsedTeam, TeamFile } from './team-file.ts';
export { parseTasksFile } from './team-tasks.ts';
