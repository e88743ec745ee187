// Translates failures of PostgreSQL into errors of the catalogue.
import { CloisterError } from '#base';
import type { PostgresAddress } from './postgres-address.ts';

type DatabaseError = Error & { readonly code?: string };

/** The connection is gone, or the server is going down or coming up: it can be asked again later. */
export const isOutage = (error: unknown): boolean => {
  const { code, message } = error as DatabaseError;
  if (typeof code === 'string' && /^(?:08|57P0[123])/u.test(code)) return true;
  if (typeof code === 'string' && /^E[A-Z]+$/u.test(code)) return true;
  return (
    code === undefined &&
    /connection (?:terminated|timeout|ended)|timeout (?:expired|exceeded)|not queryable/iu.test(message)
  );
};

/** Two transactions got in each other's way, and one of them was undone: it can be tried again at once. */
export const isConflict = (error: unknown): boolean =>
  ['40001', '40P01', '55P03'].includes((error as DatabaseError).code ?? '');

export const postgresError = (
  error: unknown,
  { shown, user, schema, database }: PostgresAddress,
  code: 'store_failed' | 'store_unreadable' = 'store_failed',
): CloisterError => {
  if (error instanceof CloisterError) return error;
  const { code: state = '', message } = error as DatabaseError;
  const of = (kind: 'store_failed' | 'store_unreachable' | 'store_schema' | 'store_unreadable', text: string) =>
    new CloisterError(kind, `${shown}: ${text}`, { cause: error });
  switch (state) {
    case '28P01':
    case '28000':
      return of('store_unreachable', `the server refuses user ${user}: ${message}`);
    case '3D000':
      return of('store_unreachable', `the server has no database ${database}.`);
    case '53300':
      return of('store_unreachable', `the server has no connection left: ${message}`);
    case '42501':
      return of(code, `user ${user} lacks a right: ${message}`);
    case '25006':
      return of(
        'store_failed',
        'the server only reads (it is a replica, or its disk is full). Use the address of the primary.',
      );
    case '53100':
      return of('store_failed', 'the disk of the server is full.');
    case '3F000':
    case '42P01':
    case '42883':
    case '42703':
      return of('store_schema', `schema ${schema}: ${message}`);
  }
  if (isOutage(error)) return of('store_unreachable', outageText(error as DatabaseError));
  if (/password/iu.test(message) && state === '') return of('store_unreachable', passwordText);
  if (/certificate|tls|ssl/iu.test(`${state} ${message}`)) return of('store_unreachable', `TLS: ${message}`);
  return of(code, message);
};

const passwordText = 'the server asks for a password. Set CLOISTER_STORE_PASSWORD.';

/** Several addresses of one name fail together, and then the failure has no text of its own. */
const outageText = (error: DatabaseError): string => {
  const causes = (error as { readonly errors?: readonly Error[] }).errors ?? [];
  return causes[0]?.message ?? (error.message === '' ? String(error.code) : error.message);
};
