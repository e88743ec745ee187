// Tells the address of a PostgreSQL database from a folder. Loads nothing else.

export const isPostgresUrl = (text: string): boolean => /^postgres(?:ql)?:/u.test(text);
