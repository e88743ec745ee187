// What only tests use of this room.
export { estimatePromptTokens } from './estimate-prompt-tokens.ts';
export { normaliseText } from './findings.ts';
export { holdRulesByVersion, tokenizerMargin } from './hold-estimate.ts';
