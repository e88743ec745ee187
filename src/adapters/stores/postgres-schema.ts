// The tables of a store in PostgreSQL, and what turns those of an earlier version into them.
// What comes from outside is stored as JSON text, because text of PostgreSQL cannot hold every character.
import { zeroHash } from '#base';
import { postgresFunctions } from './postgres-functions.ts';

/** The version of the tables. Each run says the format of its own records. */
export const schemaVersion = 1;

// `frames` is the truth. A row of `runs` has the end of its log and who owns it, and changes with each group of records: it finds room on
// its page. `instances` are processes with their leases, and `batches` what each of them has written last. What a build does not know,
// such as a function of a later version, it does not call.
const tables = `
  CREATE TABLE meta(key text PRIMARY KEY, value text NOT NULL);
  CREATE TABLE runs(
    run text COLLATE "C" PRIMARY KEY, place bigint, agent text, goal text, started_at bigint, ended_at bigint, status text,
    cells integer NOT NULL DEFAULT 0, frames integer NOT NULL DEFAULT 0, head text NOT NULL DEFAULT '${zeroHash}',
    caller text, spent text, format integer, build text, owner text, epoch bigint NOT NULL DEFAULT 0
  ) WITH (fillfactor = 70);
  CREATE INDEX runs_by_place ON runs(place) WHERE place IS NOT NULL;
  CREATE INDEX runs_of_caller ON runs(caller, place) WHERE caller IS NOT NULL;
  CREATE INDEX open_runs ON runs(place) WHERE ended_at IS NULL AND place IS NOT NULL;
  CREATE INDEX runs_of_owner ON runs(owner) WHERE owner IS NOT NULL;
  CREATE TABLE frames(run text COLLATE "C", no integer, body text NOT NULL, hash text NOT NULL, PRIMARY KEY (run, no));
  CREATE TABLE forks(run text COLLATE "C", no integer, PRIMARY KEY (run, no));
  CREATE TABLE blobs(ref text COLLATE "C" PRIMARY KEY, bytes bytea NOT NULL);
  CREATE TABLE loose_blobs(ref text COLLATE "C" PRIMARY KEY);
  CREATE TABLE book(no integer PRIMARY KEY, body text NOT NULL, hash text NOT NULL);
  CREATE TABLE deleted(run text COLLATE "C" PRIMARY KEY, no integer NOT NULL, pending text);
  CREATE TABLE signals(
    no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run text COLLATE "C" NOT NULL, id text NOT NULL, sender text NOT NULL,
    at bigint NOT NULL, body text NOT NULL, UNIQUE (run, id)
  );
  CREATE TABLE shared(key text PRIMARY KEY, value text, version bigint NOT NULL);
  CREATE TABLE instances(
    instance text PRIMARY KEY, pid integer NOT NULL, host text NOT NULL, started text NOT NULL, since bigint NOT NULL,
    lease_ms integer NOT NULL, lapses_at timestamptz NOT NULL, lapses integer NOT NULL DEFAULT 0
  ) WITH (fillfactor = 50);
  CREATE TABLE batches(instance text PRIMARY KEY, batch bigint NOT NULL, ack text) WITH (fillfactor = 50);
  CREATE SEQUENCE epochs;
  CREATE SEQUENCE places INCREMENT BY 65536;
`;

/** The statements that lead from one version to the next. `0`: there is nothing yet. */
export const schemaSteps = (schema: string): readonly string[] => [tables + postgresFunctions(schema)];

/** The channel on which the processes of a store tell each other what is new. */
export const channelOf = (schema: string): string => `cloister_${schema}`;
