// What a caller does with its recorded runs.
import { about, boolean, listOf, object, openObject, string } from '#base/shapes';
import type { AgentService, HttpRoute } from '#contracts';
import { jsonReply, restRoute } from './described-route.ts';
import { errorShape } from './reply-shapes.ts';

const deleteQuery = object(
  {},
  {
    withLater: about(
      boolean(),
      'Also deletes what holds the same text: later turns, branches, forks, checkpoints that you asked for.',
      { default: false },
    ),
    force: about(boolean(), 'Although it has not ended, or others of your runs hold the same text.', {
      default: false,
    }),
    why: about(string(), 'A reason, kept in the record of the deletion.'),
  },
);

export const storageRoutes = (service: AgentService): readonly HttpRoute[] => [
  restRoute({
    method: 'DELETE',
    path: '/v1/runs/:run',
    id: 'deleteRun',
    tag: 'runs',
    summary: 'Delete a run for good: its records, files and messages',
    description:
      'What is left is a record that says which run was deleted, when and by whom. An Idempotency-Key of the run is refused from then on.',
    query: deleteQuery,
    replies: {
      200: jsonReply('It is gone.', openObject({ deleted: listOf(string()) })),
      409: jsonReply('The run has not ended, or others of your runs hold the same text.', errorShape),
    },
    answer: async (call, { query }) => ({
      status: 200,
      body: { deleted: await service.storage.delete(call.caller, call.params['run'] ?? '', query) },
    }),
  }),
];
