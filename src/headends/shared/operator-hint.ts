/** Said where the operator could allow what was refused, and nowhere else. */
export const mayAllow = {
  system: 'The operator can allow it with --allow-system.',
  tools: 'The operator can allow them with --allow-tools.',
} as const;
