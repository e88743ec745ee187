/** Of the client that the server's word is checked for, and of whoever reads all runs. */
export const [clientToken, operatorToken] = ['client'.padEnd(40, 'x'), 'overseer'.padEnd(40, 'x')];
