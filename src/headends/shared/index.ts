export { answerName, answerFromOutcome, awaitAnswerEnd, collectPieces } from './answer.ts';
export type { AnswerEnd } from './answer.ts';
export { clientError, clientFailure, httpStatus } from './client-failure.ts';
export { startOrContinue, separateResults, parseTool } from './client-tools.ts';
export { answerAsCall, callArguments, refuseTwoFormats, requestArguments } from './forced-tool.ts';
export { splitDialog } from './dialog.ts';
export { BodyFields } from './body-fields.ts';
export { operatorHints } from './operator-hints.ts';
