import './node-version.ts';

export { PromptlyReleasingMap } from './promptly-releasing-map.ts';
export { OrderedItems } from './ordered-items.ts';
export { MergedSpans } from './merged-spans.ts';
export type { TimeSpan } from './merged-spans.ts';
export { canonicalJson, deepFreeze, omitUndefined, isExactJson, isObject, isSameJson } from './json.ts';
export { bothSchemas, embedSchema, refersToRoot } from './embed-schema.ts';
export { extractJson, readJsonAnswer, findJsonAnswer } from './json-answer.ts';
export { encodeMessage } from './encode-message.ts';
export { fromRecords } from './from-records.ts';
export { sha256, utf8Bytes, zeroHash } from './hash.ts';
export { isoTime, weekday } from './format-utc.ts';
export { Semaphore } from './semaphore.ts';
export { StreamedText } from './streamed-text.ts';
export type { Json, JsonObject } from './json.ts';
export { readTeamGoal, describeTeamGoal } from './team-goal.ts';
export type { TeamGoalInfo } from './team-goal.ts';
export { graphLayers, listEdges } from './graph-layers.ts';
export type { GraphEdge } from './graph-layers.ts';
export { countPages, countPixels, hasSignature } from './file-facts.ts';
export { nearestName } from './nearest-name.ts';
export { agentNamed, unknownNameText, unknownAgentError } from './unknown-agent.ts';
export { agentNameFromPath, isAgentPath, isName, toAgentName, toPlainName } from './ids.ts';
export type { CellId, Hash, RunId } from './ids.ts';
export {
  CloisterError,
  errorCatalogue,
  errorText1,
  limitBehind,
  limitNames,
  limitSentence,
  isDetailOfAnswer,
  publicFailure,
  recordedFailure,
} from './errors/index.ts';
export type { ErrorClass, ErrorCode, Failure, LimitName, PublicFailure } from './errors/index.ts';
export { parseStrictJson } from './strict-json.ts';
export type { StrictJson } from './strict-json.ts';
export { checkRecordFormat, readRecordedBy, recordFormatProblem, recordFormats } from './record-format.ts';
export type { RecordedBy } from './record-format.ts';
export { readLibrarySchema } from './standard-schema.ts';
export type { StandardSchema } from './standard-schema.ts';
export { unknownKind } from './unknown-kind.ts';
export { bufferedBytesMax } from './buffered-bytes.ts';
export { escapeHidden, unifyLineBreaks } from './visible-text.ts';
