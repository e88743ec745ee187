export { answerName, answerOf, endOf, collectPieces } from './answer.ts';
export type { ServedAnswer, AnswerEnd } from './answer.ts';
export { startOrContinue, openResults, parseTool } from './client-tools.ts';
export { splitDialog } from './dialog.ts';
export { BodyFields } from './fields.ts';
export { mayAllow } from './may-allow.ts';
export { servedAgent } from './served-agent.ts';
