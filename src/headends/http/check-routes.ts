// Checks what routes declare, before the server answers anything.
//
//   routes-agree. No two routes answer the same request, and no header decides whether a token is needed.
import { CloisterError } from '#base';
import type { OpenRoute, PlainRoute } from '#contracts';

type Declared = PlainRoute | OpenRoute;

/** Throws `defect` for the first contradiction. */
export const checkRoutes = (routes: readonly Declared[]): void => {
  for (const route of routes) {
    const problem =
      takesProblem(route) ?? filesProblem(route) ?? (/^\/(?:health|ready)$/u.test(route.path) ? 'is taken' : null);
    if (problem !== null) throw contradiction(route, problem);
  }
  for (const same of Map.groupBy(routes, addressOf).values()) {
    const [first] = same;
    if (same.filter((route) => route.when === undefined).length > 1) throw contradiction(first!, 'has two routes');
    if (new Set(same.map(({ open = false }) => open)).size > 1)
      throw contradiction(first!, 'needs a token in one route and none in another');
  }
};

/** Paths that differ only in the names of their parameters are one path. */
const addressOf = ({ method, path }: Declared): string => `${method} ${path.replaceAll(/:[^/]+/gu, ':')}`;

const contradiction = ({ method, path }: Declared, problem: string): CloisterError =>
  new CloisterError('defect', `Route ${method} ${path} ${problem}.`);

const takesProblem = ({ method, takes = [] }: Declared): string | null => {
  if (takes.length > 0 && method !== 'POST') return 'takes media types, but has no body';
  const wrong = takes.find((type, index) => !mediaType.test(type) || takes.indexOf(type) !== index);
  return wrong === undefined ? null : `takes ${JSON.stringify(wrong)}, which is no media type, JSON, or listed twice`;
};

const mediaType = /^(?!application\/json$)[a-z]+\/[a-z0-9][a-z0-9.+-]*$/u;

const filesProblem = ({ method, files }: Declared): string | null => {
  if (files === undefined) return null;
  if (method !== 'GET') return 'answers with files, but not to GET';
  const missing = neededDirectives.filter((directive) => !files.policy.split(/; */u).includes(directive));
  if (missing.length > 0) return `has a content security policy without ${missing.join(', ')}`;
  return /^[\x20-\x7e]+$/u.test(files.policy) ? null : 'has a content security policy that is no header';
};

/** A page says what it may load; nothing else may frame it. */
const neededDirectives = ["default-src 'none'", "frame-ancestors 'none'"];
