// The report. Its parts are long enough to fill a window.

const findings = [
  'The harbour was built in 1871.',
  'Half of the ships carried grain.',
  'The lighthouse burned twice.',
  'A storm took the eastern pier.',
  'The railway brought the coal.',
  'Today there are sailing boats.',
];

const chapter = (number) =>
  Array.from({ length: 60 }, (_, line) => `Line ${line + 1} of part ${number}: figures, dates, names of ships.`).join(
    '\n',
  );

export default [
  {
    name: 'part',
    description: 'Return one part of the report, 1 to 6.',
    inputSchema: {
      type: 'object',
      properties: { number: { type: 'integer', minimum: 1, maximum: findings.length } },
      required: ['number'],
      additionalProperties: false,
    },
    repeat: 'free',
    execute: ({ number }) => `Finding of part ${number}: ${findings[number - 1]}\n${chapter(number)}`,
  },
];
