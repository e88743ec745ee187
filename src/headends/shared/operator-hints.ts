/** Added to a refusal that the operator could lift, and to no other. */
export const operatorHints = {
  system: 'The operator can allow it with --allow-system.',
  tools: 'The operator can allow them with --allow-tools.',
} as const;
