export type {
  Agent,
  AgentOptions,
  AgentDefinition,
  InputFormat,
  Limits,
  OutputFormat,
  ModelSettings,
  SpawnOptions,
  ToolSchema,
} from './agent.ts';
export type {
  AgentFile,
  AgentReference,
  InvalidAgentFile,
  CheckReport,
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
  TopologySpawns,
  Warning,
  WorstCase,
  YamlDocument,
} from './agent-file.ts';
export type {
  Amounts,
  Budget,
  Figures,
  ModelFigures,
  Spent,
  SpentTokens,
  Stalls,
  ToolFigures,
  Traffic,
} from './amounts.ts';
export type {
  ConfigLayer,
  ModelFacts,
  Overlay,
  ProviderConfig,
  ProviderType,
  ResolvedProvider,
  ResolvedServer,
  ServerConfig,
} from './config.ts';
export type {
  WorkspaceEntry,
  WorkspaceRecord,
  Checkpoint,
  CheckpointDiff,
  Conversation,
  ConversationRef,
  ConversationSummary,
  Entry,
  History,
  HistoryEntry,
  Retention,
  RunEnd,
} from './conversation.ts';
export type {
  Crossed,
  Crossing,
  CrossingKind,
  CrossingEnd,
  Grant,
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
  CellContext,
  ChildOperation,
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
export type { DurableEvent, LiveEvent, RunEvent } from './event.ts';
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
export type { Amendment, ForkOrigin, RunStartInfo } from './fork.ts';
export type { Birth, CellStalls, CrossingContent, FrameAttachment, Frame, FrameRecord } from './frame.ts';
export type { Checkpoints, Conversations } from './conversations.ts';
export type {
  DeadLetter,
  DeadReason,
  Mail,
  MailReport,
  MailState,
  ReceiveResult,
  RoutedMessages,
  SpawnIdentity,
  SpawnRules,
  TopicRules,
  MailFilter,
} from './mail.ts';
export type { ProtocolEvent, SpawnRequest, SpawnResult } from './protocol.ts';
export type { Answer, LiveAgent, RouteChoice, RunSession, MessageTarget, TeamSession } from './run-session.ts';
export type { Cost, Model, Price, ModelReply, ReplyPart, Usage } from './model.ts';
export type {
  AuditProblem,
  AuditReport,
  CellReport,
  CellWindow,
  Cloister,
  DeadLetters,
  ExplainedSegment,
  Explanation,
  ResidentOptions,
  RunOptions,
  RunReport,
  TasksOptions,
  TeamRunOptions,
  TurnOptions,
  TrailStep,
  WindowChange,
  WindowPart,
  StallReport,
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
export type { ChildResultRef, Envelope, Outcome, RunOutcome, Status } from './session.ts';
export type {
  DependencyHead,
  MemoryScope,
  Task,
  TaskCondition,
  TaskReason,
  TaskReport,
  TaskSpec,
  TaskStatus,
  TeamGoal,
  TeamMessage,
  TeamPart,
  TeamRules,
} from './team.ts';
export type { TeamOptions } from './team-options.ts';
export type { RunLog, RunSummary, Store, RunQuery, CellFolder, CellFolders } from './store.ts';
export type {
  BuiltinTool,
  ListedTools,
  MailTool,
  RetrySafety,
  StoredOutput,
  ToolDefinition,
  ToolOutput,
  ToolSource,
  ToolResultValue,
} from './tool.ts';
export type { Clock, SessionResources, Ids, Redact, SourceUse, StallMeter, CancelTimer, Validate } from './world.ts';
export type {
  AdmittedRequest,
  ClientFailure,
  ErrorFormatter,
  HttpRoute,
  RouteReply,
  ServedSocket,
  ServerEvent,
  SocketRoute,
  PlainRoute,
} from './route.ts';
export type {
  AnswerPiece,
  AgentRequest,
  Caller,
  ClientToolResults,
  CallResult,
  ClientCall,
  ClientRules,
  ClientTool,
  CallerRun,
  OutgoingMessage,
  ClientToolPause,
  ServedRun,
  AgentService,
  RequestState,
} from './agent-service.ts';
export type { DialogMessage } from './dialog-message.ts';
