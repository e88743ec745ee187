// All REST routes. The path of an agent matches any single word, so the fixed paths come first.
import type { HttpRoute, AgentService } from '#contracts';
import { accountRoutes } from './account-routes.ts';
import { agentRoutes } from './agent-routes.ts';
import type { RestWorld } from './agent-routes.ts';
import { attachmentRoute } from './attachment-route.ts';
import { conversationRoutes } from './conversation-routes.ts';
import { checkpointRoutes } from './checkpoint-routes.ts';
import { liveAgentRoutes } from './live-agent-routes.ts';
import { questionRoutes } from './question-routes.ts';
import { reportRoutes } from './report-routes.ts';
import { runRoutes } from './run-routes.ts';
import { storageRoutes } from './storage-routes.ts';

export const restRoutes = (service: AgentService, world: RestWorld): readonly HttpRoute[] => [
  ...accountRoutes(service, world),
  ...runRoutes(service),
  ...storageRoutes(service),
  ...reportRoutes(service),
  attachmentRoute(service),
  ...questionRoutes(service),
  ...checkpointRoutes(service),
  ...conversationRoutes(service),
  ...liveAgentRoutes(service),
  ...agentRoutes(service, world),
];

// Names that a served agent cannot have.
//
// The path of an agent is /v1/<name>, next to the fixed paths of all protocols. An agent with the name of such a path could not be
// reached or, worse, would receive requests that clients meant for something else. The list also holds paths that clients of these
// protocols request although nothing is served there today: an agent with such a name would receive those requests, and would block
// the path for later use.

/** Paths below /v1 that have routes. */
const routed = [
  'models',
  'messages',
  'responses',
  'chat',
  'completions',
  'runs',
  'agents',
  'checkpoints',
  'questions',
  'me',
  'callers',
  'conversations',
  'dead-letters',
] as const;

/** Paths below /v1 that clients may request. */
const expected = [
  'assistants',
  'audio',
  'batches',
  'complete',
  'containers',
  'embeddings',
  'evals',
  'files',
  'fine_tuning',
  'health',
  'images',
  'mcp',
  'moderations',
  'openapi.json',
  'organization',
  'organizations',
  'realtime',
  'skills',
  'threads',
  'uploads',
  'vector_stores',
  'videos',
] as const;

export const reservedNames: readonly string[] = [...routed, ...expected];
