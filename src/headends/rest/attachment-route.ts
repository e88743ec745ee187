// Downloads a file that came with a message of a run.
import { CloisterError, sha256 } from '#base';
import type { AdmittedRequest, AgentService, HttpRoute, RouteReply } from '#contracts';
import { fileReply, restRoute } from './described-route.ts';
import { requireRun } from './run-routes.ts';

export const attachmentRoute = (service: AgentService): HttpRoute =>
  restRoute({
    method: 'GET',
    path: '/v1/runs/:run/attachments/:sha256',
    id: 'readAttachment',
    tag: 'runs',
    summary: 'Download a file that came with a message of a run',
    description: 'With its recorded media type. `GET /v1/runs/{run}/messages` lists the files. HEAD is answered, too.',
    replies: {
      200: fileReply('The bytes of the file.'),
      304: { description: 'The file is the one that `if-none-match` names.' },
    },
    // Whoever shows it anyway shows it without scripts, forms or the origin of this server.
    files: { policy: "default-src 'none'; frame-ancestors 'none'; sandbox" },
    answer: (call) => readAttachment(service, call),
  });

const readAttachment = async (service: AgentService, call: AdmittedRequest): Promise<RouteReply> => {
  const found = await requireRun(service, call);
  const hash = call.params['sha256'] ?? '';
  const stored = (await found.dialog())
    .flatMap(({ attachments = [] }) => attachments)
    .find((one) => ('text' in one ? sha256(one.text) : one.sha256) === hash);
  if (stored === undefined) throw new CloisterError('attachment_unknown');
  const [file] = await found.attachments([stored]);
  const { mediaType, name, data } = file!;
  return {
    file: {
      type: 'text' in stored ? `${mediaType}; charset=utf-8` : mediaType,
      bytes: typeof data === 'string' ? Buffer.from(data, 'base64') : data,
      hash,
      cache: 'revalidate',
      download: name === undefined ? {} : { name },
    },
  };
};
