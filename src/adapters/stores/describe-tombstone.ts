// Says for people what became of a run that was deleted.
import type { Tombstone } from '#contracts';

export const describeTombstone = ({ run, deletedAt, by, archive }: Tombstone): string => {
  const when = new Date(deletedAt).toISOString();
  const how = archive === undefined ? 'deleted' : 'archived';
  return `Run ${run} was ${how} on ${when} by ${by}.${archive === undefined ? '' : ` Its archive is ${archive.file}.`}`;
};
