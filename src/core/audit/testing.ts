// What only tests use of this room.
export { auditInMemory } from './audit-run.ts';
