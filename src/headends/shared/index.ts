export { answerName, answerOf, endOf, collectPieces } from './answer.ts';
export type { ServedAnswer, AnswerEnd } from './answer.ts';
export { clientError, clientFailure, httpStatus } from './client-failure.ts';
export { startOrContinue, openResults, parseTool } from './client-tools.ts';
export { splitDialog } from './dialog.ts';
export { BodyFields } from './body-fields.ts';
export { mayAllow } from './operator-hint.ts';
export { servedAgent } from './served-agent.ts';
