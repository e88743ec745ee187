export const forged = async (): Promise<unknown> => import('../../../src/core/crossings/crossed.ts');
