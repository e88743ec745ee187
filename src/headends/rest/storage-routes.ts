// What callers do with their recorded runs, and operators with those of all.
import { omitUndefined } from '#base';
import { about, boolean, listOf, object, openObject, string } from '#base/shapes';
import type { AdmittedRequest, AgentService, DeletionReport, HttpRoute } from '#contracts';
import { fileReply, jsonReply, restRoute } from './described-route.ts';
import { errorShape } from './reply-shapes.ts';

const whyShape = about(string(), 'A reason, kept in the record of the deletion.');

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
    why: whyShape,
  },
);

const forOperators = 'Only for operators; for every other token there is nothing here.';

const forgetQuery = object(
  {},
  {
    dryRun: about(boolean(), 'Only says what would be deleted.', { default: false }),
    force: about(boolean(), 'Also runs that have not ended.', { default: false }),
    why: whyShape,
  },
);

const texts = listOf(string());

const deletionShape = openObject({
  deleted: about(texts, 'The ids of the runs.'),
  conversations: about(listOf(openObject({ agent: string(), name: string() })), 'Those that are gone as a whole.'),
  archives: about(texts, 'The names of archives that are gone.'),
  otherFiles: about(texts, 'Files that may hold the same text, and that were not touched.'),
});

const keptReply = jsonReply('A run has not ended, or something else holds the same text.', errorShape);

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
  ...archiveRoutes(service),
  ...forgetRoutes(service),
];

const archiveRoutes = (service: AgentService): readonly HttpRoute[] => [
  restRoute({
    method: 'GET',
    path: '/v1/runs/:run/export',
    id: 'exportRun',
    tag: 'runs',
    summary: 'Download a run as one compressed file',
    description: `The file that \`cloister runs import\` takes, and that \`show\`, \`audit\`, \`explain\` and \`replay\` read. ${forOperators}`,
    replies: { 200: fileReply('The archive.') },
    files: { policy: "default-src 'none'; frame-ancestors 'none'; sandbox" },
    find: ofOperator(service),
    answer: async ({ params: { run = '' } }, { found }) => {
      const bytes = await found.export(run);
      const download = { name: `${run}.cloister.gz` };
      return { file: { type: 'application/gzip', bytes, cache: 'none', download } };
    },
  }),
  restRoute({
    method: 'POST',
    path: '/v1/runs/:run/archive',
    id: 'archiveRun',
    tag: 'runs',
    summary: 'Move a run into a file in the folder `archive` of the workspace',
    description: forOperators,
    query: object({}, { why: whyShape }),
    replies: { 200: jsonReply('It is in its archive.', deletionShape), 409: keptReply },
    find: ofOperator(service),
    answer: async ({ params }, { query, found }) => deletionReply(await found.archive(params['run'] ?? '', query)),
  }),
  restRoute({
    method: 'POST',
    path: '/v1/runs/:run/restore',
    id: 'restoreRun',
    tag: 'runs',
    summary: 'Bring an archived run back',
    description: forOperators,
    replies: { 200: jsonReply('It is back, and its archive is gone.', openObject({ restored: string() })) },
    find: ofOperator(service),
    answer: async ({ params }, { found }) => {
      const { run = '' } = params;
      await found.restore(run);
      return { status: 200, body: { restored: run } };
    },
  }),
];

const forgetRoutes = (service: AgentService): readonly HttpRoute[] => [
  restRoute({
    method: 'DELETE',
    path: '/v1/callers/:caller',
    id: 'forgetCaller',
    tag: 'server',
    summary: 'Delete everything of a caller: runs, conversations, checkpoints, archives, and what holds the same text',
    description: `Its token stays valid until you remove it. ${forOperators}`,
    query: forgetQuery,
    replies: { 200: jsonReply('It is gone.', deletionShape), 409: keptReply },
    find: ofOperator(service),
    answer: async ({ params }, { query, found }) =>
      deletionReply(await found.forget(params['caller'] ?? '', null, omitUndefined(query))),
  }),
  restRoute({
    method: 'DELETE',
    path: '/v1/callers/:caller/conversations/:agent/:name',
    id: 'forgetConversation',
    tag: 'server',
    summary: 'Delete a conversation of a caller with all of its runs, and what holds the same text',
    description: forOperators,
    query: forgetQuery,
    replies: { 200: jsonReply('It is gone.', deletionShape), 409: keptReply },
    find: ofOperator(service),
    answer: async ({ params: { caller = '', agent = '', name = '' } }, { query, found }) =>
      deletionReply(await found.forget(caller, { agent, name }, omitUndefined(query))),
  }),
];

const ofOperator = (service: AgentService) => (call: AdmittedRequest) => service.storage.asOperator(call.caller);

/** Numbers and names: nothing of what was deleted. */
const deletionReply = ({ tombstones, conversations, archives, otherFiles }: DeletionReport) => ({
  status: 200,
  body: {
    deleted: tombstones.map(({ run }) => run),
    conversations: conversations.map(({ agent, name }) => ({ agent, name })),
    archives: [...archives],
    otherFiles: [...otherFiles],
  },
});
