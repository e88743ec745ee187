export type { AgentData, AgentInput, AgentShortForms, AgentTeam, Duration, LimitOptions } from './agent.ts';
export type { Agent, AgentOptions, AgentDefinition, Limits, OutputFormat, ModelSettings } from './agent.ts';
export type { SpawnOptions, AgentCaps, InputFormat, AgentNeeds, AgentPermissions, AgentSignature } from './agent.ts';
export { approvalRulesShape, markNamePattern } from './approval-rules.ts';
export type { CellWindow, WindowChange, WindowPart } from './cell-window.ts';
export type { Skill, SkillDigest } from './skill.ts';
export type {
  AgentFile,
  AgentReference,
  InvalidAgentFile,
  CheckReport,
  ToolNames,
  EffectiveLimits,
  FileSpawns,
  Frontmatter,
  ParseYaml,
  Problem,
  AgentReach,
  SpawnCaps,
  SpawnReach,
  Topology,
  TopologyAgent,
  TopologyMail,
  TopologyNode,
  Warning,
  WorstCase,
  YamlDocument,
} from './agent-file.ts';
export type { InitReport, TemplateSummary } from './init-report.ts';
export type { ImportedFile, ImportNote, ImportReport } from './import-report.ts';
export type { Amounts, Budget, Figures, ModelFigures, Spent, SpentTokens } from './amounts.ts';
export { budgetOfRoot, type Stalls, type ToolFigures, type Traffic } from './amounts.ts';
export type { ConfigLayer, ModelFacts, Overlay, ProviderConfig, ProviderType, ResolvedProvider } from './config.ts';
export type { ResolvedServer, ServerConfig } from './config.ts';
export type {
  WorkspaceEntry,
  WorkspaceRecord,
  Checkpoint,
  CheckpointDiff,
  CheckpointReport,
  Conversation,
  ConversationRef,
  ConversationSummary,
  ConversationTurn,
  ConversationTurns,
  Entry,
  History,
  HistoryEntry,
  EarlierCall,
  InheritedFile,
  InheritedFiles,
  InheritedOutput,
  TurnRef,
  Retention,
  RunEnd,
} from './conversation.ts';
export type {
  CellLedger,
  Crossed,
  CrossingContent,
  Crossing,
  CrossingKind,
  CrossingEnd,
  GrantName,
  Label,
  LedgerEntry,
  LedgerLink,
  RefusalReason,
  CrossingRefusal,
  SharedMessage,
  ShareName,
} from './crossing.ts';
export type {
  BeginOperation,
  ChildGift,
  AskOperation,
  ChildOperation,
  ChildRequest,
  OwnOperation,
  Operation,
  PendingOperation,
  PostOperation,
  ReceiveOperation,
  Settlement,
  SleepOperation,
  StepOperation,
  StepContext,
  OperationValue,
} from './engine.ts';
export { describeCause, failureAsSeen, isMessageError, outcomeAsSeen, type Cause } from './cause.ts';
export type { Transcript, TranscriptCell, TranscriptEntry, TranscriptOptions, TranscriptResult } from './transcript.ts';
export type { DurableEvent, EventDetails, EventError, LiveEvent, RunEvent, SaidPart, ShownPart } from './event.ts';
export type {
  CellDiff,
  CellSide,
  ForkOptions,
  ReplayDifference,
  ReplayReport,
  RunDiff,
  VerifyDifference,
  VerifyReport,
} from './replay-and-verify.ts';
export type { Amendment, RunStartInfo } from './fork.ts';
export type {
  BeginKind,
  Birth,
  CellStalls,
  Frame,
  FrameRecord,
  FrameSource,
  PassedOverModel,
  RecordOf,
  RecordType,
} from './frame.ts';
export type { CellPort, ReceivedContent, WindowView, SpawnedChild } from './cell-port.ts';
export type { Checkpoints, Conversations } from './conversations.ts';
export type {
  ChainRead,
  DeadLetter,
  DeadReason,
  Mail,
  MailReport,
  MailState,
  PostRequest,
  ReceiveResult,
  RoutedMessages,
  SpawnIdentity,
  SpawnRules,
  TopicRules,
  ReceiveRequest,
} from './mail.ts';
export type { ApprovalMark, ApprovalMarks, ApprovalRule } from './approval.ts';
export { answerRight, operatorRight, type AnswerOptions, type AnswerReceipt } from './answer.ts';
export type { AnswerContent, AnswerRight, AnswerState, Question, QuestionAnswer, WaitingCall } from './question.ts';
export type { QuestionQuery, QuestionReport, QuestionResult, Ruling } from './question.ts';
export { questionId, readQuestionId } from './question.ts';
export type { ProtocolEvent } from './protocol.ts';
export { canBeSignalled } from './run-command.ts';
export type {
  MessageTarget,
  OutsideSpawn,
  RouteChoice,
  RunCommand,
  RunCommandName,
  RunCommandResults,
  RunCommandTable,
  StartedAgent,
} from './run-command.ts';
export type { RestingSource, RunListener, RunPorts, RunResources, SessionWorld, SharedRunPorts } from './run-ports.ts';
export type { AdmitWork, AgentMessage, Answer, LiveAgent, RunSession, TeamSession } from './run-session.ts';
export type { FollowedRun } from './run-session.ts';
export type { Cost, Model, ModelSummary, Price, ModelReply, ReplyPart, Usage } from './model.ts';
export type {
  CellReport,
  Cloister,
  RunArchive,
  RunStarter,
  DeadLetters,
  ExplainedSegment,
  Explanation,
  ObserveOptions,
  ResidentOptions,
  RunOptions,
  RunReport,
  TasksOptions,
  TeamRunOptions,
  TurnOptions,
  TrailStep,
  StallReport,
  SignalReceipt,
} from './runtime.ts';
export type {
  Attempt,
  Category,
  Origin,
  PromptPart,
  RuleName,
  Segment,
  SegmentRecord,
  Source,
  ViewChange,
  WindowLimit,
} from './segment.ts';
export type { ChildResultRef, Envelope, Outcome, RunOutcome, SpawnedOutcome, Status } from './session.ts';
export type { DrawableTask, DependencyHead, MemoryScope, Task, TaskCondition, TaskReason, TaskReport } from './team.ts';
export type { TaskSpec, TaskStatus, TeamGoal, TeamMessage, TeamPart, TeamRules } from './team.ts';
export type { TeamOptions } from './team-options.ts';
export type { AuditProblem, AuditReport, WorkspaceAudit } from './audit.ts';
export type { Leftover, RebuildOptions, RebuildReport, RunDeletion, SpaceReport } from './store-life-cycle.ts';
export type { StoreLifeCycle } from './store-life-cycle.ts';
export type {
  DeletionReport,
  ExpiryOptions,
  RunCopy,
  RunDeletionOptions,
  RunSelection,
  RunStorage,
  SealProblem,
  SealReport,
} from './run-storage.ts';
export type { KeepLimits, KeepRules } from './keep-rules.ts';
export type { ArchiveRef, ImportRecord, Tombstone } from './tombstone.ts';
export type { LogPage, MigrationReport, RunLog, RunSummary, Signal, Store, RunQuery } from './store.ts';
export type { CellFolder, CellFolders, LiveChannel, SharedState, SharedValue } from './store.ts';
export type {
  AgentTool,
  AiTool,
  AiTools,
  BuiltinTool,
  CallableTool,
  GivenTools,
  ListedTools,
  MailTool,
  NamedSource,
  IndeterminatePolicy,
  RetrySafety,
  StoredOutput,
  ToolDefinition,
  ToolItem,
  ToolOptions,
  ToolSchema,
  ToolOutput,
  ToolSource,
  ToolResultValue,
} from './tool.ts';
export type { ArgsOf, InputOf, JsonSchema, ParsedOf, Schema } from './schema.ts';
export type {
  CheckSteps,
  Clock,
  SessionResources,
  Ids,
  Redact,
  SourceUse,
  StallMeter,
  CancelTimer,
  Validate,
} from './world.ts';
export type {
  AdmittedRequest,
  ClientFailure,
  ErrorFormatter,
  HttpRoute,
  OpenRoute,
  RouteFile,
  RouteReply,
  ServedSocket,
  ServerEvent,
  SocketRoute,
  PlainRoute,
} from './route.ts';
export { readsAllRuns } from './agent-service.ts';
export type { CallerConversation, CallerConversationReport, CallerConversations } from './agent-service.ts';
export type { CallerDeletion, CallerStorage, OperatorStorage } from './caller-storage.ts';
export type { Inbox, InboxItem, OpenQueue } from './inbox.ts';
export type { AgentFacts, AgentTopology, TopologyCheck, TopologyEdge } from './agent-service.ts';
export type { ListedRun, RunListQuery, RunLogFacts, RunPage } from './agent-service.ts';
export type { AllowanceUse, CallerAccount, CallerAccounts, FollowOptions, ListedCaller } from './agent-service.ts';
export type { AgentRequest, AgentService, AnswerPiece, AnswerSending, BranchRequest, Caller } from './agent-service.ts';
export type { CallerCheckpoint, CallerCheckpoints, CallerQuestion, CallerQuestions } from './agent-service.ts';
export type { CallerReceipt, CallerRun, CallerRunReports, CallResult } from './agent-service.ts';
export type { CheckpointContinuation, ClientCall, ClientRules, ClientTool, ClientToolPause } from './agent-service.ts';
export type {
  ClientToolResults,
  EventPage,
  ForkRequest,
  RequestState,
  RunMessage,
  ServedRun,
} from './agent-service.ts';
export { callerConversationName, callerNameCharsMax, callerPrefix, type CallerTurn } from './caller-conversation.ts';
export { describeAttachment, type Attachment, type StoredAttachment } from './attachment.ts';
export type { DialogMessage, StoredDialogMessage } from './dialog-message.ts';
export { agentNameShape, answerFormatShape, attachmentShape, budgetShape, budgetUnits } from './shapes.ts';
export { parseSlackCaller, slackAgents, slackCallerName, slackConfigShape, type SlackConfig } from './slack-config.ts';
export type { SlackAck, SlackApi, SlackDelivery, SlackFile, SlackReceiver, SlackReply } from './slack-api.ts';
export type { SlackAppNeeds } from './slack-app-needs.ts';
export { dialogMessageShape, nameExpected, priceShape, sentMessageShape, spawnCapsShape } from './shapes.ts';
export { expandableText, expiryRulesShape, keepRulesShape, textRule } from './shapes.ts';
export {
  attachmentsIn,
  decodeAttachment,
  decodeDependency,
  decodeEnvelope,
  goalAttachments,
  decodeHistory,
  decodeInheritedFiles,
  decodeMail,
  decodeRoutedMessages,
  decodeTeamGoal,
} from './crossing-content.ts';
export type { Dependency } from './crossing-content.ts';
export { modelAliasShape, modelNameShape, vendorList, type VendorType } from './vendors.ts';
export { callerNameOf, seesCauses, seesLevels, seesShape } from './token.ts';
export { stdioCaller, studioCaller, tokenNameShape, tokenSees, tokenShape } from './token.ts';
export type { AllowanceSpec, Sees, TokenEntry } from './token.ts';
export { keyedRunId } from './keyed-run.ts';
export type { RequestedRunOptions, RunDriver } from './runtime.ts';
export type { DriveOptions, UndrivenRun } from './run-driver.ts';
export type { DriveEnd, EngineWorker, RunCall, RunEngine, RunRest, StopWork } from './run-engine.ts';
export { startSpecShape, type StartSpec } from './start-spec.ts';
