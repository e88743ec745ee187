export {
  answerName,
  answerFromOutcome,
  awaitAnswerEnd,
  collectPieces,
  answerAsCall,
  callArguments,
  causesField,
  causesFieldSchema,
  refuseTwoFormats,
  shownPiece,
  requestArguments,
} from './answer.ts';
export type { AnswerEnd } from './answer.ts';
export {
  causesText,
  clientError,
  clientFailure,
  httpStatus,
  RunFailedError,
  operatorHints,
  failureWithAdvice,
} from './client-failure.ts';
export { clientTools, startOrContinue, separateResults, parseTool, splitDialog } from './client-tools.ts';
export type { PastCall } from './client-tools.ts';
export { requestFromDialog } from './client-dialog.ts';
export type { ClientDialog, ClientTurn, DialogRequest } from './client-dialog.ts';
export { fileFromUrl, omittedFileText } from './attached-file.ts';
export { checkKey, keyedMessageId, refuseKey, requestKey } from './request-key.ts';
export { BodyFields } from './body-fields.ts';
export { withoutIgnored, refuseHostedTools } from './ignored-fields.ts';
export { followActivity } from './follow-activity.ts';
export { RunActivityFold } from './run-activity-fold.ts';
export type { ActivityEnd, FollowActivity } from './follow-activity.ts';
export type { QuestionCall, ModelUsage, RunActivity } from './run-activity.ts';
export { readPosition, withPosition } from './told-position.ts';
export { allowedSystem } from './client-system.ts';
export { answerAndFollow, findAsked, isClientCall } from './answer-questions.ts';
export type { ReturnedAnswer } from './answer-questions.ts';
export { leaveQueueOnDisconnect } from './leave-queue.ts';
