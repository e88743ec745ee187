// One run as a page in one file: the studio's page, with everything that a server would answer about the run.
//
//   kept-run-as-served. What the file holds are the bodies of the REST API, by their paths: the page reads both in the same way. Pictures
//       of messages are among them, as text.
//   kept-run-is-data. No text of a run can end the element that holds it, or become markup or script.
//   kept-run-bounded. What is long is left out from a certain size on, and the file says what.
import { CloisterError } from '#base';
import type { Json, JsonObject } from '#base';
import type { Cloister } from '#contracts';
import type { CliServer } from '#headends/cli';
import { buildServer } from './build-server.ts';
import { packageVersion } from './package-folder.ts';
import type { Server } from './server-options.ts';
import { loadStudioPage } from './studio-page.ts';

const megabyte = 1024 * 1024;

/** In characters of JSON. */
export type PageLimits = {
  /** For everything together. */
  readonly all: number;
  /** For the explanations of all cells. */
  readonly explanations: number;
};

const defaultLimits: PageLimits = { all: 96 * megabyte, explanations: 20 * megabyte };

export const pageOfRun = async (
  cloister: Cloister,
  run: string,
  limits: PageLimits = defaultLimits,
): ReturnType<CliServer['pageOfRun']> => {
  const template = await loadTemplate();
  const server = await buildServer(cloister, {}, { operatorName: 'file', isStudio: true });
  const kept = new KeptAnswers(server, `/v1/runs/${encodeURIComponent(run)}`, limits);
  await kept.add('');
  await kept.addEvents();
  for (const path of ['/ledger', '/audit', '/windows', '/tasks', '/mail', '/messages', '/questions', '/transcript'])
    await kept.add(path);
  await kept.addPictures();
  const { cells } = kept.answers[''] as unknown as { readonly cells: readonly { readonly cell: string }[] };
  for (const { cell } of cells) await kept.add(`/explain?cell=${encodeURIComponent(cell)}`, 'explanations');
  await kept.add('/transcript?full=true');
  const { answers, leftOut } = kept;
  const data = { run, version: packageVersion(), writtenAt: Date.now(), answers, leftOut };
  const [before, after] = template;
  return { html: `${before}${scriptJson(data)}${after}`, leftOut };
};

const element = '<script type="application/json" id="kept-run">';

/** What comes before and after the run. */
const loadTemplate = async (): Promise<readonly [string, string]> => {
  const files = await loadStudioPage().catch(() => new Map<string, Uint8Array>());
  const file = files.get('file.html');
  if (file === undefined)
    throw new CloisterError(
      'options_invalid',
      'html: the page of the studio is not built. In a clone, install its tools with `npm ci`; `node tools/build-web.ts` says what is wrong.',
    );
  const text = Buffer.from(file).toString('utf8');
  const at = text.indexOf(`${element}</script>`) + element.length;
  if (at < element.length) throw new CloisterError('defect', 'The page has no place for a run.');
  return [text.slice(0, at), text.slice(at)];
};

/** JSON that is the same text in HTML and in JavaScript. */
const scriptJson = (value: Json): string =>
  JSON.stringify(value)
    .replaceAll('<', String.raw`\u003c`)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`);

type Attachment = { readonly mediaType: string; readonly sha256?: string };
type Message = { readonly attachments?: readonly Attachment[] };

const isShownPicture = ({ mediaType, sha256 }: Attachment): boolean =>
  sha256 !== undefined && /^image\/(?:png|jpeg|gif|webp)$/u.test(mediaType);

/** Collects answers of the server until there are too many. */
class KeptAnswers {
  readonly answers: Record<string, Json> = {};
  readonly leftOut: string[] = [];
  readonly #server: Server;
  readonly #path: string;
  readonly #left: { all: number; explanations: number };

  constructor(server: Server, path: string, limits: PageLimits) {
    this.#server = server;
    this.#path = path;
    this.#left = { ...limits };
  }

  async add(path: string, kind: keyof PageLimits = 'all'): Promise<void> {
    if (this.#left[kind] <= 0) return void this.leftOut.push(path);
    const text = await (await this.#get(path)).text();
    if (!this.#take(text.length, kind)) return void this.leftOut.push(path);
    this.answers[path] = JSON.parse(text) as JsonObject;
  }

  /** Pictures that came with messages, which the page shows; of other files it shows the name. */
  async addPictures(): Promise<void> {
    const { messages = [] } = (this.answers['/messages'] ?? {}) as unknown as {
      readonly messages?: readonly Message[];
    };
    const shown = messages.flatMap(({ attachments = [] }) => attachments).filter(isShownPicture);
    for (const sha256 of new Set(shown.map((one) => one.sha256!))) {
      const path = `/attachments/${encodeURIComponent(sha256)}`;
      const base64 = Buffer.from(await (await this.#get(path, '*/*')).arrayBuffer()).toString('base64');
      if (this.#take(base64.length, 'all')) this.answers[path] = { base64 };
      else this.leftOut.push(path);
    }
  }

  /** With contents; without them if they are too long. Read as a stream, because pages would read the whole log each time. */
  async addEvents(): Promise<void> {
    for (const query of ['?details=true', '']) {
      const events = await this.#readEvents(query);
      if (events !== null) {
        this.answers['/events'] = { events, next: null };
        return;
      }
      this.leftOut.push(`/events${query}`);
    }
    throw new CloisterError(
      'options_invalid',
      'html: the run is too long for one file. Look at it with `cloister studio`.',
    );
  }

  /** Null: they are too long. */
  async #readEvents(query: string): Promise<Json[] | null> {
    const { body } = await this.#get(`/events${query}`, 'text/event-stream');
    const events: Json[] = [];
    let [length, rest] = [0, ''];
    for await (const part of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      length += part.length;
      if (length > this.#left.all) return null;
      const blocks = (rest + part).split('\n\n');
      rest = blocks.pop() ?? '';
      events.push(...blocks.flatMap(recordedEvent));
    }
    this.#take(length, 'all');
    return events;
  }

  #take(length: number, kind: keyof PageLimits): boolean {
    if (length > this.#left[kind] || length > this.#left.all) return false;
    this.#left.all -= length;
    if (kind !== 'all') this.#left[kind] -= length;
    return true;
  }

  async #get(path: string, accept = 'application/json'): Promise<Response> {
    const response = await this.#server.fetch(
      new Request(`http://127.0.0.1${this.#path}${path}`, {
        headers: { authorization: `Bearer ${this.#server.token ?? ''}`, accept },
      }),
    );
    if (response.ok) return response;
    const { error } = (await response.json()) as { readonly error: { readonly message: string } };
    throw new CloisterError('options_invalid', `html: ${path === '' ? '' : `${path}: `}${error.message}`);
  }
}

/** An event with an id is recorded; others are pieces of text, and the outcome. */
const recordedEvent = (block: string): readonly Json[] => {
  const fields = new Map(block.split('\n').map((line) => [line.split(':', 1)[0]!, line.slice(line.indexOf(':') + 1)]));
  const data = fields.get('data');
  return fields.has('id') && data !== undefined ? [JSON.parse(data) as Json] : [];
};
