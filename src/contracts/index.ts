export type {
  Agent,
  AgentOptions,
  Definition,
  InputFormat,
  Limits,
  OutputFormat,
  Settings,
  SpawnOptions,
  ToolSchema,
} from './agent.ts';
export type {
  AgentFile,
  AgentReference,
  BrokenFile,
  CheckReport,
  FileSpawns,
  Frontmatter,
  ParseYaml,
  Problem,
  Reach,
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
export type { Amounts, Budget, Figures, ModelFigures, Spent, SpentTokens, ToolFigures, Traffic } from './amounts.ts';
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
  BookPage,
  BookRecord,
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
  End,
  Grant,
  GrantName,
  Label,
  LedgerEntry,
  Link,
  RefusalReason,
  Refused,
  SharedMessage,
  ShareName,
} from './crossing.ts';
export type {
  CellContext,
  ChildOperation,
  Operation,
  Pending,
  PostOperation,
  ReceiveOperation,
  Settled,
  SleepOperation,
  StepOperation,
  StepWorld,
  ValueOf,
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
} from './checks.ts';
export type { Amendment, ForkOrigin, StartedWith } from './fork.ts';
export type { Birth, CrossedContent, Fact, Frame, FrameRecord } from './frame.ts';
export type { Checkpoints, Conversations } from './keeping.ts';
export type {
  DeadLetter,
  DeadReason,
  Mail,
  MailReport,
  MailState,
  ReceivedValue,
  Routed,
  SpawnedAs,
  SpawnRules,
  TopicRules,
  Wanted,
} from './mail.ts';
export type { ProtocolEvent, SpawnRequest, SpawnResult } from './protocol.ts';
export type { Answer, LivingAgent, RouteChoice, RunSession, Sending, TeamSession } from './run-session.ts';
export type { Cost, Model, Price, Reply, ReplyPart, Usage } from './model.ts';
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
export type { ChildValue, Envelope, Outcome, RunOutcome, Status } from './session.ts';
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
export type { RunLog, RunSummary, Store, WhichRuns, Workspace, Workspaces } from './store.ts';
export type {
  BuiltinTool,
  ListedTools,
  MailTool,
  Repeat,
  StoredOutput,
  ToolDefinition,
  ToolOutput,
  ToolSource,
  ToolValue,
} from './tool.ts';
export type { Clock, Equipment, Ids, Redact, SourceUse, Stop, Validate } from './world.ts';
export type {
  Call,
  ErrorForm,
  Route,
  RouteReply,
  ServedSocket,
  ServerEvent,
  SocketRoute,
  UndescribedRoute,
} from './route.ts';
export type {
  AnswerPiece,
  Asked,
  Caller,
  Brought,
  CallResult,
  ClientCall,
  ClientRules,
  ClientTool,
  FoundRun,
  Letter,
  Pause,
  ServedRun,
  Serving,
  ToldPart,
} from './serving.ts';
export type { Said } from './said.ts';
