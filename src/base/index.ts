import './node-version.ts';

export { canonicalJson, deepFreeze, defined, frozenCopy } from './json.ts';
export { jsonIn } from './json-in.ts';
export { headed, readHeaded } from './headed.ts';
export { sha256, utf8Bytes, zeroHash } from './hash.ts';
export { isoTime, weekday } from './utc.ts';
export { Semaphore } from './semaphore.ts';
export type { Json, JsonObject } from './json.ts';
export { readTeamGoal, teamGoalWords } from './team-goal.ts';
export type { TeamAsked } from './team-goal.ts';
export { nearest } from './nearest.ts';
export { isName } from './ids.ts';
export type { CellId, Hash, RunId } from './ids.ts';
export { CloisterError, errorCatalogue, publicFailure } from './errors.ts';
export type { ErrorClass, ErrorCode, Failure, PublicFailure } from './errors.ts';
export { httpStatus, shownError, shownFailure } from './http-status.ts';
export type { ShownFailure } from './http-status.ts';
export { strictJson } from './strict-json.ts';
