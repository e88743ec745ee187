// A request over its own connection: the server could close a kept-alive one just when it is reused.
import { request as requestOver } from 'node:http';

export const overSocket = async (request: Request): Promise<Response> => {
  const body = await request.text();
  const { url, method, signal } = request;
  const headers = Object.fromEntries(request.headers);
  return new Promise((resolve, reject) => {
    const outgoing = requestOver(url, { method, headers, signal, agent: false }, (incoming) => {
      const parts: Buffer[] = [];
      incoming.on('data', (part: Buffer) => parts.push(part));
      incoming.on('error', reject);
      incoming.on('end', () =>
        resolve(
          new Response(Buffer.concat(parts), { status: incoming.statusCode ?? 0, headers: textOnly(incoming.headers) }),
        ),
      );
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
};

const textOnly = (headers: NodeJS.Dict<string | string[]>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
