// What clients send along that has no effect here, and that is ignored if the operator says so (`--compat`).
//
//   ignored-is-named. Whatever is ignored only because of `--compat` is named in a header of the response.
//   ignored-asks-for-no-call. Tools that the client runs itself are never ignored: the client would wait for calls that never
//       come.
import { CloisterError, isObject } from '#base';
import type { Json } from '#base';
import type { ClientRules } from '#contracts';
import type { BodyFields } from './body-fields.ts';
import { operatorHints } from './client-failure.ts';

/** What a protocol can leave out of a request without changing what the rest of it asks for. */
type IgnorableFields = {
  /** False also for a value that has no effect anyway: it is not refused. */
  isField(name: string, value: Json): boolean;
  /** The type of the tools that the client runs itself; a tool without a type is one of them too. */
  readonly clientToolType: string;
};

type KeptRequest = {
  readonly body: Json | undefined;
  /** The header that names what was left out; no header if nothing was. */
  readonly headers: Readonly<Record<string, string>>;
};

/** The request without what is ignored. */
export const withoutIgnored = (
  body: Json | undefined,
  { compat }: ClientRules,
  ignorable: IgnorableFields,
): KeptRequest => {
  if (!compat || !isObject(body)) return { body, headers: {} };
  const ignored: string[] = [];
  const kept: Record<string, Json | undefined> = {};
  for (const [name, value] of Object.entries(body)) {
    if (ignorable.isField(name, value ?? null)) {
      // A client sets null for what it does not use.
      if (value !== undefined && value !== null) ignored.push(name);
    } else if (name === 'tools' && Array.isArray(value)) {
      const isKept = (tool: Json): boolean => hostedType(tool, ignorable.clientToolType) === undefined;
      kept[name] = value.filter((tool: Json) => isKept(tool));
      for (const [index, tool] of value.entries())
        if (!isKept(tool)) ignored.push(`tools[${index}] ${hostedType(tool, ignorable.clientToolType)}`);
    } else kept[name] = value;
  }
  return { body: kept, headers: ignored.length === 0 ? {} : { [ignoredHeader]: headerText(ignored) } };
};

/**
 * Throws `request_unsupported` for a tool that only its vendor runs, whether or not a client may have tools. `own`: the tools that
 * a client may have, as text.
 */
export const refuseHostedTools = (
  body: BodyFields,
  { tools: allowed }: ClientRules,
  { clientToolType, own }: { readonly clientToolType: string; readonly own: string },
): void => {
  if (!Array.isArray(body.value['tools'])) return;
  const all = body.items('tools').map((tool) => ({ tool, hosted: hostedType(tool.value, clientToolType) }));
  const first = all.find(({ hosted }) => hosted !== undefined);
  if (first?.hosted === undefined) return;
  const others = !allowed && all.some(({ hosted }) => hosted === undefined) ? ` ${operatorHints.otherTools}` : '';
  throw new CloisterError(
    'request_unsupported',
    `${first.tool.path('type')}: only ${own} are supported, not ${JSON.stringify(first.hosted.slice(0, 40))}. ${operatorHints.compat}${others}`,
  );
};

const ignoredHeader = 'x-cloister-ignored';

const hostedType = (tool: Json, clientToolType: string): string | undefined => {
  const type: Json | undefined = isObject(tool) ? tool['type'] : undefined;
  return typeof type === 'string' && type !== clientToolType ? type : undefined;
};

/** Names come from the client, so only plain characters of them are sent back, and not too many. */
const headerText = (names: readonly string[]): string =>
  names
    .map((name) => name.slice(0, 60).replace(/[^\w.[\] -]/gu, '_'))
    .join(', ')
    .slice(0, 1000);
