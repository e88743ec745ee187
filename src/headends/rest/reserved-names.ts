// Names that no agent may be served by.
//
// An agent's address is /v1/<name>, and beside it lie the addresses of all protocols, each a fixed word. An agent of such a
// name could not be reached, or, worse, would be asked by clients that mean something else. The list also holds words that
// clients of these protocols ask for though nothing answers there today: an agent that takes such a name would be asked by
// them, and would be in the way of whatever comes to that address later.

/** Addresses below /v1 that routes have. */
const routed = ['models', 'messages', 'responses', 'chat', 'completions', 'runs'] as const;

/** What clients may look for there. */
const expected = [
  'agents',
  'assistants',
  'audio',
  'batches',
  'complete',
  'containers',
  'conversations',
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
